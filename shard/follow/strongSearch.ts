/**
 * A strong search at a follower. It must see everything that was answered before it arrived, and no event that a later
 * search at the owner might not see.
 *
 * ```text
 * Arrives ──▶ asks the owner ──▶ waits for that event ──▶ its turn ──▶ searches ──▶ seen by the owner too? ──▶ answered
 *                  │                     │                                           │         └─no─▶ asks again
 *                  └─────────────────────┴──── not the owner, not in time ───────────┴──▶ moved: ask the owner.
 * ```
 *
 * 1. The owner answers under its lease and its epoch, after the search arrived. So no later write was answered, and no
 *    later state shown.
 * 2. A follower may have applied a frame that the owner has committed and not applied. An answer with such events waits
 *    until the owner shows them. Otherwise the owner could answer the next search, and see less.
 * 3. The follower serves with the owner's index. An index that was dropped, or has other parameters, must not answer.
 *    Two builds of one index may find different candidates; exact search has one result, bit for bit.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors/errors.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { IndexSpec } from '../../shared/model/indexSpec.js';
import type { ReadCall, SearchBatchCall, SearchCall, ShownState } from '../../shared/protocol/calls.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { moved } from '../../shared/transport/transportErrors.js';
import { type CallAdmission, type ReadTarget, takesTurns } from '../capacity/admission.js';
import type { Collection } from '../collection/collection.js';
import type { ReadIndex } from './readIndex.js';

/** Longest time that an answer waits for the owner to apply the follower's events. */
const CONFIRM_MS = 500;
const CONFIRM_AGAIN_MS = 2;

interface StrongSearchServices {
  readonly readIndex: Pick<ReadIndex, 'of'>;
  readonly admission: Pick<CallAdmission, 'inTurn'>;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** The copy of a follower, for a strong search. */
export interface FollowedCopy {
  readonly config: ReadTarget;
  readonly owner: string;
  /** Undefined while it does not follow. */
  readonly collection: Collection | undefined;
  /** Resolves to whether the event is applied. Waits only for a moment. */
  reached(sequence: number): Promise<boolean>;
}

/** A copy that has everything that a search must see. */
interface UpToDate {
  readonly collection: Collection;
  /** Index that the owner serves with. */
  readonly index: IndexSpec;
}

export class StrongSearch {
  /** Greatest sequence that an owner is known to show. */
  #shown = 0;
  /** Callbacks that end the waits of searches. */
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly copy: FollowedCopy,
    private readonly services: StrongSearchServices,
  ) {}

  /**
   * Runs a search. Throws `moved` if only the owner can answer. An error of the search itself is valid like an answer.
   */
  async run(call: ReadCall, envelope: Envelope): Promise<unknown> {
    if (call.op !== 'search' && call.op !== 'searchBatch') throw moved();
    const { metrics } = this.services;
    try {
      const upToDate = await this.#upToDate();
      const found = await this.#search(upToDate, call, envelope).finally(() => this.#confirm(upToDate.collection));
      metrics.count('vouch_follower_searches_total', { consistency: 'strong', outcome: 'answered' });
      return found;
    } catch (error) {
      metrics.count('vouch_follower_searches_total', { consistency: 'strong', outcome: 'forwarded' });
      throw error;
    }
  }

  /** Answers waiting searches as moved, so that a stop of the follower does not wait for them. */
  stop(): void {
    for (const end of this.#waiting) end();
  }

  /** Resolves when the copy has everything that the owner showed after the call. */
  async #upToDate(): Promise<UpToDate> {
    const { metrics, clock } = this.services;
    const cameMs = clock.monotonicMs();
    const { sequence, index } = await this.#askOwner();
    const { collection } = this.copy;
    if (collection === undefined) throw moved();
    const isReached = collection.journal.seenSequence >= sequence || (await this.#wait(this.copy.reached(sequence)));
    if (!isReached) throw moved();
    metrics.observe('vouch_read_index_seconds', (clock.monotonicMs() - cameMs) / 1000);
    return { collection, index };
  }

  /** Searches. It takes its turn only now, so that searches that wait for an owner delay no others. */
  async #search(
    { collection, index }: UpToDate,
    call: SearchCall | SearchBatchCall,
    envelope: Envelope,
  ): Promise<unknown> {
    const { admission, clock } = this.services;
    if (clock.nowMs() > envelope.deadlineMs) throw unavailable('the deadline passed before the search could start');
    const search = (): Promise<unknown> => {
      if (this.copy.collection !== collection) throw moved();
      if (!isDeepStrictEqual(collection.index.servingSpec, index)) throw moved();
      return collection.run(call, envelope);
    };
    return takesTurns(call) ? admission.inTurn(this.copy.config, search) : search();
  }

  /** Resolves when the owner shows everything that `collection` does. */
  async #confirm(collection: Collection): Promise<void> {
    const { clock } = this.services;
    const seen = collection.journal.seenSequence;
    const giveUpMs = clock.monotonicMs() + CONFIRM_MS;
    for (;;) {
      if (this.copy.collection !== collection || clock.monotonicMs() > giveUpMs) throw moved();
      if (this.#shown >= seen) return;
      const { sequence } = await this.#askOwner();
      if (sequence < seen) await delay(CONFIRM_AGAIN_MS);
    }
  }

  async #askOwner(): Promise<ShownState> {
    const { config, owner } = this.copy;
    const shown = await this.#wait(this.services.readIndex.of(config.id, owner).catch(() => null));
    if (shown === null) throw moved();
    this.#shown = Math.max(this.#shown, shown.sequence);
    return shown;
  }

  #wait<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = (): void => reject(moved());
      this.#waiting.add(end);
      void work.then(resolve, reject).finally(() => this.#waiting.delete(end));
    });
  }
}
