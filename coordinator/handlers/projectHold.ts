/**
 * The write lock of a project: every collection's owner lets writes wait while it is held.
 *
 *   free ──take()──▶ held (renewed on a timer) ──release()──▶ free
 *
 * It is made of one hold for each collection, all with one token. A coordinator that dies holds nothing for longer than
 * `holdMs`: the owners go on by themselves.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf, VouchError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { Rounds } from '../../shared/rounds.js';
import { severalAtOnce } from '../../shared/severalAtOnce.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Backend, Collection } from '../backend.js';

export interface HoldTimes {
  /** How long a hold lasts that is not renewed. */
  readonly holdMs: number;
  /** Several times within `holdMs`: one renewal that is lost must not end it. */
  readonly renewEveryMs: number;
}

export const HOLD_TIMES: HoldTimes = { holdMs: 6_000, renewEveryMs: 1_500 };

const CALLS_AT_ONCE = 64;

export class ProjectHold {
  /** All that may be held, those among them too of which the outcome is not known. */
  readonly #asked: Collection[] = [];
  readonly #held: Collection[] = [];
  readonly #renewal: Rounds;

  constructor(
    private readonly backend: Backend,
    private readonly token: string,
    private readonly requestId: string,
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly times: HoldTimes = HOLD_TIMES,
  ) {
    this.#renewal = new Rounds(() => this.#renew(), times.renewEveryMs);
  }

  /**
   * Once. Resolves to the collections that are held: all but those that were deleted meanwhile. Throws `conflict` where
   * somebody else holds the project, and what else the owners throw; `release` is due in any case.
   */
  async take(collections: readonly Collection[], envelope: Envelope): Promise<readonly Collection[]> {
    const [oldest, ...others] = [...collections].sort((a, b) => a.id - b.id);
    if (oldest === undefined) return [];
    this.#renewal.start();
    // Of two that begin at the same time one gets the oldest collection, and the other nothing at all.
    await this.#hold(oldest, envelope);
    await severalAtOnce(others, CALLS_AT_ONCE, (collection) => this.#hold(collection, envelope));
    return this.#held;
  }

  /** Never throws: what cannot be released ends by itself. */
  async release(): Promise<void> {
    // A renewal under way must not come after the release.
    await this.#renewal.stop();
    const { token } = this;
    const envelope = this.#within(this.times.holdMs);
    await severalAtOnce(this.#asked, CALLS_AT_ONCE, (collection) =>
      this.backend.call(collection, { op: 'release', token }, envelope),
    ).catch((error: unknown) =>
      this.#warn(error, 'a collection could not be released; its writes go on by themselves'),
    );
  }

  async #hold(collection: Collection, envelope: Envelope): Promise<void> {
    this.#asked.push(collection);
    try {
      await this.#ask(collection, envelope);
      this.#held.push(collection);
    } catch (error) {
      if (!(error instanceof VouchError && error.code === 'collection_not_found')) throw error;
    }
  }

  /** A write that slips in where a hold has lapsed does no harm: indexes take in what is written while they are built. */
  async #renew(): Promise<void> {
    const envelope = this.#within(this.times.renewEveryMs);
    await severalAtOnce(this.#held, CALLS_AT_ONCE, (collection) => this.#ask(collection, envelope)).catch(
      (error: unknown) => this.#warn(error, 'a hold was not renewed; the next round tries again'),
    );
  }

  #ask(collection: Collection, envelope: Envelope): Promise<null> {
    return this.backend.call(collection, { op: 'hold', token: this.token, holdMs: this.times.holdMs }, envelope);
  }

  #within(ms: number): Envelope {
    return { requestId: this.requestId, deadlineMs: this.clock.nowMs() + ms };
  }

  #warn(error: unknown, what: string): void {
    this.logger.warn({ requestId: this.requestId, error: messageOf(error) }, what);
  }
}
