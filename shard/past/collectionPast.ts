/** Searches of one collection as it was: which state is meant, where it is, and what it is called in the answer. */
import type { AsOf, CollectionConfig, SearchCall, SearchResult } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { CollectionState } from '../collection/collectionState.js';
import type { Journal } from '../collection/journal.js';
import type { Pace } from '../graph/pace.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { moved } from '../moving.js';
import type { Found } from '../search/found.js';
import type { LogPlace } from './checkLog.js';
import { HeldPast } from './heldPast.js';
import type { PastAnswer, PastOptions } from './messages.js';
import type { Opening } from './opening.js';
import type { PastMetrics } from './pastMetrics.js';
import { emptyState, NO_REQUESTS, PastState } from './pastState.js';
import type { PastThread } from './pastThread.js';
import { searchState } from './searchState.js';
import type { SavedSnapshot, SnapshotPlace } from './snapshots.js';

/** Each change since costs a look. */
const HASHED_BEHIND_MAX = 100_000;

export interface PastServices {
  readonly pasts: PastThread;
  readonly memory: VectorMemory;
  readonly metrics: PastMetrics;
  readonly clock: Clock;
}

export interface PastSearch {
  readonly call: SearchCall;
  readonly asOf: AsOf;
  /** Components. */
  readonly query: Int32Array;
  readonly deadlineMs: number;
  readonly pace: () => Pace;
}

export interface PastFound {
  readonly found: Found;
  readonly asOf: NonNullable<SearchResult['asOf']>;
}

export class CollectionPast {
  readonly #opening: Opening;
  readonly #held: HeldPast;

  constructor(
    config: CollectionConfig,
    log: EventLog,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly services: PastServices,
    place?: SnapshotPlace,
  ) {
    this.#opening = services.pasts.open(config, log, place);
    this.#held = new HeldPast(state, journal.history);
  }

  /** Always exact. Throws `validation_error` where the log is not so long, and what `PastThread.search` throws. */
  async search(wanted: PastSearch): Promise<PastFound> {
    const logIndex = this.#sequenceOf(wanted.asOf);
    const { found, timeMs, stateHash } = await this.#search(logIndex, wanted);
    return { found, asOf: { logIndex, timeMs, stateHash } };
  }

  /** The state hash after event `sequence`, where it can be told and costs little. */
  async hashAt(sequence: number, pace: Pace): Promise<string | undefined> {
    const { journal, state } = this;
    const behind = journal.sequence - sequence;
    if (sequence === 0 || behind < 0 || behind > HASHED_BEHIND_MAX) return undefined;
    if (journal.isAt(sequence)) return toHex(journal.stateHash());
    return state.lifetimes.tellsHash(sequence) ? this.#held.hashOf(sequence, pace) : undefined;
  }

  /** As `PastThread.snapshot`. */
  snapshot(upTo: number): Promise<SavedSnapshot | undefined> {
    return this.services.pasts.snapshot(this.#opening, upTo);
  }

  /** As `PastThread.check`. */
  check(from: LogPlace, upTo: LogPlace, onReached: (reached: LogPlace) => void): Promise<boolean> {
    return this.services.pasts.check(this.#opening, from, upTo, onReached);
  }

  /** What waits ends; the collection is about to be closed. Resolves when its log is not read any more. */
  close(): Promise<void> {
    return this.services.pasts.close(this.#opening, moved());
  }

  #sequenceOf(asOf: AsOf): number {
    if ('timeMs' in asOf) return this.journal.sequenceAt(asOf.timeMs);
    const { sequence } = this.journal;
    if (asOf.logIndex > sequence)
      throw new VouchError(
        'validation_error',
        `as_of_log_index is ${asOf.logIndex}, and the collection has ${sequence} events`,
      );
    return asOf.logIndex;
  }

  async #search(sequence: number, wanted: PastSearch): Promise<PastAnswer> {
    const { query, deadlineMs, pace, asOf } = wanted;
    const { k, filter, decay, text, graph } = wanted.call;
    const options = { k, filter, decay, text, graph, agedToMs: 'timeMs' in asOf ? asOf.timeMs : undefined };
    if (sequence === 0) return this.#searchEmpty(query, options, pace);
    const { metrics, pasts, clock } = this.services;
    const current = await this.#searchCurrent(sequence, query, options, pace);
    if (current !== undefined) {
      metrics.measured({ what: 'searched', from: 'current' });
      return current;
    }
    const held = await this.#held.search(sequence, query, options, pace);
    if (held !== undefined) {
      metrics.measured({ what: 'searched', from: 'memory' });
      return held;
    }
    return pasts.search(this.#opening, { sequence, remainingMs: deadlineMs - clock.nowMs(), query, options });
  }

  async #searchEmpty(query: Int32Array, options: PastOptions, pace: () => Pace): Promise<PastAnswer> {
    const { memory, clock } = this.services;
    const past = new PastState(this.#opening, emptyState(this.#opening, memory, NO_REQUESTS), clock);
    const found = await searchState(past.state, null, query, options, pace);
    return { found, timeMs: null, stateHash: toHex(past.hash()) };
  }

  /**
   * The state meant is the one that is there: no other is needed. Undefined where it is not, and where a write came in
   * between while the search gave way. A plain scan sees its rows as they were at the call, so no write can matter to it.
   */
  async #searchCurrent(
    sequence: number,
    query: Int32Array,
    options: PastOptions,
    pace: () => Pace,
  ): Promise<PastAnswer | undefined> {
    const { journal, state } = this;
    if (!journal.isAt(sequence)) return undefined;
    const { timeMs } = journal;
    const stateHash = toHex(journal.stateHash());
    const found = await searchState(state, timeMs, query, options, pace);
    const { filter, decay, text, graph } = options;
    const isPlain = filter === undefined && decay === undefined && text === undefined && graph === undefined;
    return isPlain || journal.isAt(sequence) ? { found, timeMs, stateHash } : undefined;
  }
}
