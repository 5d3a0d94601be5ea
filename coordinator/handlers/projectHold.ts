/**
 * The write lock of a project. While it is taken, the owners of its collections make writes wait.
 *
 * ```text
 * free ──take()──▶ taken (renewed on a timer) ──release()──▶ free
 * ```
 *
 * It consists of a hold for each collection, all with one token. If the coordinator dies, each hold ends by itself after
 * `holdMs`.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Collection } from '../cluster/catalog/collection.js';
import { isDeletion } from '../cluster/catalog/deleted.js';
import type { Backend } from '../cluster/clusterBackend.js';

export interface HoldTimes {
  /** Life of a hold without a renewal. */
  readonly holdMs: number;
  /** Interval of renewals. There are several within `holdMs`: a single lost renewal must not end the hold. */
  readonly renewEveryMs: number;
}

export const HOLD_TIMES: HoldTimes = { holdMs: 6_000, renewEveryMs: 1_500 };

const CONCURRENT_CALLS = 64;

/** `token`: names the hold at the owners. */
interface HoldNames {
  readonly token: string;
  readonly requestId: string;
}

export class ProjectHold {
  /** Every collection that may have the hold, also if the outcome is unknown. */
  readonly #asked: Collection[] = [];
  readonly #onHold: Collection[] = [];
  readonly #renewal: PeriodicTask;

  constructor(
    private readonly backend: Backend,
    private readonly services: { readonly clock: Clock; readonly logger: Logger },
    private readonly names: HoldNames,
    private readonly times: HoldTimes = HOLD_TIMES,
  ) {
    this.#renewal = new PeriodicTask(() => this.#renew(), times.renewEveryMs);
  }

  /**
   * Takes the hold of every collection; may be called once. Resolves to these collections, without those deleted meanwhile.
   * Throws `conflict` if another hold has the project, and other errors of owners. `release` must follow in any case.
   */
  async take(collections: readonly Collection[], envelope: Envelope): Promise<readonly Collection[]> {
    const [oldest, ...others] = [...collections].sort((a, b) => a.id - b.id);
    if (oldest === undefined) return [];
    this.#renewal.start();
    // The oldest collection first: of two concurrent holds only one gets it, and the other stops there.
    await this.#hold(oldest, envelope);
    await mapConcurrent(others, CONCURRENT_CALLS, (collection) => this.#hold(collection, envelope));
    return this.#onHold;
  }

  /** Never throws: a hold that cannot be released ends by itself. */
  async release(): Promise<void> {
    // A renewal must not come after the release.
    await this.#renewal.stop();
    const { token } = this.names;
    const envelope = this.#within(this.times.holdMs);
    await mapConcurrent(this.#asked, CONCURRENT_CALLS, (collection) =>
      this.backend.call(collection, { op: 'release', token }, envelope),
    ).catch((error: unknown) => this.#warn(error, 'a hold was not released; it ends by itself'));
  }

  async #hold(collection: Collection, envelope: Envelope): Promise<void> {
    this.#asked.push(collection);
    try {
      await this.#ask(collection, envelope);
      this.#onHold.push(collection);
    } catch (error) {
      if (!isDeletion(error)) throw error;
    }
  }

  /** Renews all holds. A lapsed hold does no harm: an index also takes in records written during its build. */
  async #renew(): Promise<void> {
    const envelope = this.#within(this.times.renewEveryMs);
    await mapConcurrent(this.#onHold, CONCURRENT_CALLS, (collection) => this.#ask(collection, envelope)).catch(
      (error: unknown) => this.#warn(error, 'a hold was not renewed; the next renewal tries again'),
    );
  }

  #ask(collection: Collection, envelope: Envelope): Promise<null> {
    return this.backend.call(collection, { op: 'hold', token: this.names.token, holdMs: this.times.holdMs }, envelope);
  }

  #within(ms: number): Envelope {
    return { requestId: this.names.requestId, deadlineMs: this.services.clock.nowMs() + ms };
  }

  #warn(error: unknown, what: string): void {
    this.services.logger.warn({ requestId: this.names.requestId, error: messageOf(error) }, what);
  }
}
