/** Searches of past states of one collection: finds the state that is meant, and where it is. */
import type { Clock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { AsOf, SearchResult } from '../../shared/protocol/calls.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import { moved } from '../../shared/transport/transportErrors.js';
import type { CallAdmission } from '../capacity/admission.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import type { FoundFields } from '../search/found.js';
import { isPlain, type SearchOptions } from '../search/search.js';
import type { LogPlace } from '../snapshot/checkLog.js';
import type { Opening } from '../snapshot/opening.js';
import type { SavedSnapshot, SnapshotPlace } from '../snapshot/savedSnapshots.js';
import type { CollectionState } from '../state/collectionState.js';
import type { Journal } from '../state/journal.js';
import { emptyHashes } from '../state/replay.js';
import type { AsOfThread } from './asOfThread.js';
import { emptyState, NO_REQUESTS } from './historicalState.js';
import { InMemoryView } from './inMemoryView.js';
import type { AsOfAnswer, AsOfOptions } from './messages.js';
import { searchState } from './searchState.js';

/** The most changes since an event that its state hash is computed from; each costs a look. */
const HASHED_BEHIND_MAX = 100_000;

interface AsOfServices {
  readonly admission: Pick<CallAdmission, 'inTurn'>;
  readonly pasts: AsOfThread;
  readonly memory: VectorMemory;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

interface AsOfSearch {
  readonly call: SearchOptions;
  readonly asOf: AsOf;
  /** Components; undefined: the vector of the record `like`. */
  readonly query: Int32Array | undefined;
  readonly deadlineMs: number;
  readonly slice: () => Slice;
  /** Whether the call already has its turn among the reads of the shard. */
  readonly hasTurn: boolean;
}

interface AsOfFound {
  readonly found: FoundFields;
  readonly asOf: NonNullable<SearchResult['asOf']>;
}

export class CollectionAsOf {
  readonly #opening: Opening;
  readonly #memoryView: InMemoryView;
  #closing: Promise<void> | undefined;

  constructor(
    config: CollectionConfig,
    log: EventLog,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly services: AsOfServices,
    place?: SnapshotPlace,
  ) {
    this.#opening = services.pasts.open(config, log, place);
    this.#memoryView = new InMemoryView(state, journal.history);
  }

  /** Always exact. Throws `validation_error` where the log is shorter, and what the cache of states throws. */
  async search(wanted: AsOfSearch): Promise<AsOfFound> {
    const logIndex = this.sequenceOf(wanted.asOf);
    const { found, timeMs, stateHash } = await this.#search(logIndex, wanted);
    return { found, asOf: { logIndex, timeMs, stateHash } };
  }

  /** The state hash after event `sequence`; undefined where memory does not tell it, or it costs much. */
  async hashAt(sequence: number, slice: Slice): Promise<string | undefined> {
    const { journal, state } = this;
    const behind = journal.sequence - sequence;
    if (sequence === 0 || behind < 0 || behind > HASHED_BEHIND_MAX) return undefined;
    if (journal.isAt(sequence)) return toHex(journal.stateHash());
    return state.versions.tellsHash(sequence) ? this.#memoryView.hashOf(sequence, slice) : undefined;
  }

  /** Writes a snapshot, see `HistoricalStateCache.snapshot`. The collection was opened with a place for snapshots. */
  snapshot(upTo: number): Promise<SavedSnapshot | undefined> {
    return this.services.pasts.ask(this.#opening, { op: 'snapshot', upTo });
  }

  /** Checks the log, see `checkLog`, at a pace that gives way to calls. */
  check(from: LogPlace, upTo: LogPlace, onReached: (reached: LogPlace) => void): Promise<boolean> {
    return this.services.pasts.ask(this.#opening, { op: 'check', from, upTo }, onReached);
  }

  /** Ends what waits, before the collection is closed. Resolves when its log is not read any more. */
  close(): Promise<void> {
    this.#closing ??= this.services.pasts.close(this.#opening, moved());
    return this.#closing;
  }

  /** The number of events of the state. Throws `validation_error` where the log is shorter. */
  sequenceOf(asOf: AsOf): number {
    if ('timeMs' in asOf) return this.journal.sequenceAt(asOf.timeMs);
    const { sequence } = this.journal;
    if (asOf.logIndex > sequence)
      throw new VouchError(
        'validation_error',
        `as_of_log_index is ${asOf.logIndex}, and the collection has ${sequence} events`,
      );
    return asOf.logIndex;
  }

  async #search(sequence: number, wanted: AsOfSearch): Promise<AsOfAnswer> {
    const { query, deadlineMs, slice, asOf } = wanted;
    // Named one by one: the call may hold the bytes of its message.
    const { k, filter, decay, text, graph, like, scoreMost, group, fields, maxBytes } = wanted.call;
    const named = { k, filter, decay, text, graph, like, scoreMost, group, fields, maxBytes };
    const options = { ...named, agedToMs: 'timeMs' in asOf ? asOf.timeMs : undefined };
    const { admission, pasts, clock } = this.services;
    const here = (): Promise<AsOfAnswer | undefined> => this.#searchHere(sequence, query, options, slice);
    const found = await (wanted.hasTurn ? here() : admission.inTurn(this.#opening.config, here));
    if (found !== undefined) return found;
    const remainingMs = deadlineMs - clock.nowMs();
    // A copy: a view would take the bytes of its whole message to the other thread.
    return pasts.ask(this.#opening, { op: 'search', sequence, remainingMs, query: query?.slice(), options });
  }

  /** Searches in this thread. Undefined if memory does not hold the state. */
  async #searchHere(
    sequence: number,
    query: Int32Array | undefined,
    options: AsOfOptions,
    slice: () => Slice,
  ): Promise<AsOfAnswer | undefined> {
    if (sequence === 0) return this.#searchEmpty(query, options, slice);
    const { metrics } = this.services;
    const current = await this.#searchCurrent(sequence, query, options, slice);
    if (current !== undefined) {
      metrics.count('vouch_as_of_searches_total', { from: 'current' });
      return current;
    }
    const fromMemory = await this.#memoryView.search(sequence, query, options, slice);
    if (fromMemory !== undefined) metrics.count('vouch_as_of_searches_total', { from: 'memory' });
    return fromMemory;
  }

  async #searchEmpty(query: Int32Array | undefined, options: AsOfOptions, slice: () => Slice): Promise<AsOfAnswer> {
    const { state } = emptyState(this.#opening, this.services.memory, NO_REQUESTS);
    const found = await searchState(state, null, query, options, slice);
    return { found, timeMs: null, stateHash: toHex(emptyHashes(this.#opening.config, state).stateHash) };
  }

  /**
   * Searches the present state. Undefined where another state is meant, and where a write came in while the search gave
   * way. A plain scan sees its rows as they were at the call, so no write can matter to it.
   */
  async #searchCurrent(
    sequence: number,
    query: Int32Array | undefined,
    options: AsOfOptions,
    slice: () => Slice,
  ): Promise<AsOfAnswer | undefined> {
    const { journal, state } = this;
    if (!journal.isAt(sequence)) return undefined;
    const { timeMs } = journal;
    const stateHash = toHex(journal.stateHash());
    const found = await searchState(state, timeMs, query, options, slice);
    return (query !== undefined && isPlain(options)) || journal.isAt(sequence)
      ? { found, timeMs, stateHash }
      : undefined;
  }
}
