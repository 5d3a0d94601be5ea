/** Heartbeat of a coordinator for the others: an entry among the leases, which expires unless it is renewed. */
import { type Bucket, entriesOf } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';
import { messageOf } from '../../../shared/errors/errors.js';
import type { Logger } from '../../../shared/logger.js';
import { type CoordinatorPresence, PRESENCE_PREFIX } from '../../../shared/registry/leases.js';
import { PeriodicTask } from '../../../shared/scheduling/periodicTask.js';

/** Interval of renewals, two per lease. */
const RENEW_EVERY_MS = 1_000;

export class Presence {
  readonly #renewals = new PeriodicTask(() => this.#renew(), RENEW_EVERY_MS);

  constructor(
    private readonly leases: Bucket,
    private readonly content: CoordinatorPresence,
    private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    await this.#renew();
    this.#renewals.start();
  }

  async stop(): Promise<void> {
    await this.#renewals.stop();
    await this.leases.delete(this.#key).catch(() => undefined);
  }

  get #key(): string {
    return PRESENCE_PREFIX + this.content.holder;
  }

  async #renew(): Promise<void> {
    try {
      await this.leases.put(this.#key, { ...this.content });
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'cannot write the heartbeat of this coordinator');
    }
  }
}

export interface LeaseHolders {
  readonly leases: readonly { readonly name: string; readonly holder: string }[];
  readonly coordinators: readonly {
    readonly name: string;
    readonly url: string;
    readonly version: string;
    readonly uptimeSecs: number;
  }[];
}

/** The holders of the leases, and the live coordinators. */
export async function leaseHolders(leases: Bucket, clock: Clock): Promise<LeaseHolders> {
  const entries = (await entriesOf(leases)).sort((a, b) => (a.key < b.key ? -1 : 1));
  const values = entries.map(({ key, value }) => ({ key, value: value as unknown as Partial<CoordinatorPresence> }));
  return {
    leases: values
      .filter(({ key }) => !key.startsWith(PRESENCE_PREFIX))
      .map(({ key, value }) => ({ name: key, holder: value.holder ?? '' })),
    coordinators: values
      .filter(({ key }) => key.startsWith(PRESENCE_PREFIX))
      .map(({ value: { name = '', url = '', version = '', startedAtMs = 0 } }) => ({
        ...{ name, url, version },
        uptimeSecs: Math.max(0, Math.floor((clock.nowMs() - startedAtMs) / 1000)),
      })),
  };
}
