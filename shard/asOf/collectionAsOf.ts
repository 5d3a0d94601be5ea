/** Searches past states of one collection: finds the requested state, and chooses where to search it. */
import type { Clock } from '../../shared/clock.js';
import { counted } from '../../shared/errors/counted.js';
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
import type { KeySource } from '../vault/contentKeys.js';
import type { AsOfThread } from './asOfThread.js';
import { emptyState, NO_REQUESTS } from './historicalState.js';
import { InMemoryView } from './inMemoryView.js';
import type { AsOfAnswer, AsOfOptions } from './messages.js';
import { searchState } from './searchState.js';

/** Largest number of changes since an event for which its state hash is computed in memory. Each costs a look. */
const HASHED_BEHIND_MAX = 100_000;

interface AsOfServices {
  readonly admission: Pick<CallAdmission, 'inTurn'>;
  readonly pasts: AsOfThread;
  readonly memory: VectorMemory;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

interface AsOfCollection {
  readonly config: CollectionConfig;
  readonly log: EventLog;
  readonly state: CollectionState;
  readonly journal: Journal;
}

interface AsOfSearch {
  readonly call: SearchOptions;
  readonly asOf: AsOf;
  /** Components; undefined for the vector of the record `like`. */
  readonly query: Int32Array | undefined;
  readonly deadlineMs: number;
  readonly slice: () => Slice;
  /** Whether the call already has its turn among the shard's reads. */
  readonly hasTurn: boolean;
}

interface AsOfFound {
  readonly found: FoundFields;
  readonly asOf: NonNullable<SearchResult['asOf']>;
}

export class CollectionAsOf {
  #opening: Opening;
  /** Ends of openings whose states had contents that are erased. */
  readonly #forgetting = new Set<Promise<void>>();
  readonly #memoryView: InMemoryView;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly collection: AsOfCollection,
    private readonly services: AsOfServices,
    private readonly place?: SnapshotPlace,
    /** Keys of the contents. */
    private readonly keys?: KeySource,
  ) {
    const { state, journal } = collection;
    this.#opening = this.#open();
    this.#memoryView = new InMemoryView(state, journal.history);
  }

  /**
   * Searches a past state exactly. Throws `validation_error` if the log is shorter, and errors of the cache of states.
   */
  async search(wanted: AsOfSearch): Promise<AsOfFound> {
    const logIndex = this.sequenceOf(wanted.asOf);
    const { found, timeMs, stateHash, erased } = await this.#search(logIndex, wanted);
    return { found, asOf: { logIndex, timeMs, stateHash, erased } };
  }

  /** Returns the state hash after event `sequence`; undefined if memory does not have it, or if it would cost much. */
  async hashAt(sequence: number, slice: Slice): Promise<string | undefined> {
    const { journal, state } = this.collection;
    const behind = journal.sequence - sequence;
    if (sequence === 0 || behind < 0 || behind > HASHED_BEHIND_MAX) return undefined;
    if (journal.isAt(sequence)) return toHex(journal.stateHash());
    return state.versions.knowsHash(sequence) ? this.#memoryView.hashOf(sequence, slice) : undefined;
  }

  /** Writes a snapshot; see `HistoricalStateCache.snapshot`. The collection must have a place for snapshots. */
  snapshot(upTo: number): Promise<SavedSnapshot | undefined> {
    return this.services.pasts.ask(this.#opening, { op: 'snapshot', upTo });
  }

  /** Checks the log; see `checkLog`. Yields to calls. */
  check(from: LogPlace, upTo: LogPlace, onReached: (reached: LogPlace) => void): Promise<boolean> {
    return this.services.pasts.ask(this.#opening, { op: 'check', from, upTo }, onReached);
  }

  /** Drops all past states, since some have contents that are erased now. Their searches are repeated by the callers. */
  forget(): void {
    if (this.#closing !== undefined) return;
    const forgetting = this.services.pasts
      .close(this.#opening, moved())
      .finally(() => this.#forgetting.delete(forgetting));
    this.#forgetting.add(forgetting);
    this.#opening = this.#open();
  }

  /** Resolves when the states that `forget` dropped are gone. */
  async forgotten(): Promise<void> {
    await Promise.all(this.#forgetting);
  }

  #open(): Opening {
    const { config, log } = this.collection;
    return this.services.pasts.open(config, log, { place: this.place, keys: this.keys });
  }

  /** Ends waiting requests, before the collection is closed. Resolves when its log is no longer read. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#forgetting, this.services.pasts.close(this.#opening, moved())]).then(
      () => undefined,
    );
    return this.#closing;
  }

  /** Returns the number of events of the state. Throws `validation_error` if the log is shorter. */
  sequenceOf(asOf: AsOf): number {
    if ('timeMs' in asOf) return this.collection.journal.sequenceAt(asOf.timeMs);
    const { sequence } = this.collection.journal;
    if (asOf.logIndex > sequence)
      throw new VouchError(
        'validation_error',
        `as_of_log_index is ${asOf.logIndex}, and the collection has ${counted(sequence, 'event')}`,
      );
    return asOf.logIndex;
  }

  async #search(sequence: number, wanted: AsOfSearch): Promise<AsOfAnswer> {
    const { query, deadlineMs, slice, asOf } = wanted;
    // Copy field by field, since the call may reference the bytes of its message.
    const { k, filter, decay, text, graph, like, scoreMost, group, fields, maxBytes, diversity } = wanted.call;
    const named = { k, filter, decay, text, graph, like, scoreMost, group, fields, maxBytes, diversity };
    const options = { ...named, agedToMs: 'timeMs' in asOf ? asOf.timeMs : undefined };
    const { admission, pasts, clock } = this.services;
    const here = (): Promise<AsOfAnswer | undefined> => this.#searchHere(sequence, query, options, slice);
    const found = await (wanted.hasTurn ? here() : admission.inTurn(this.#opening.config, here));
    if (found !== undefined) return found;
    const remainingMs = deadlineMs - clock.nowMs();
    // Copy the query: a view would send the bytes of its whole message to the other thread.
    return pasts.ask(this.#opening, { op: 'search', sequence, remainingMs, query: query?.slice(), options });
  }

  /** Searches in this thread. Returns undefined if the state is not in memory. */
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
    const found = await searchState({ state, timeMs: null }, query, options, slice);
    const stateHash = toHex(emptyHashes(this.#opening.config, state).stateHash);
    return { found, timeMs: null, stateHash, erased: 0 };
  }

  /**
   * Searches the present state. Returns undefined if another state is requested, or if a write happened during a pause
   * of the search. A plain scan sees its rows as of the call, so writes do not matter to it.
   */
  async #searchCurrent(
    sequence: number,
    query: Int32Array | undefined,
    options: AsOfOptions,
    slice: () => Slice,
  ): Promise<AsOfAnswer | undefined> {
    const { journal, state } = this.collection;
    if (!journal.isAt(sequence)) return undefined;
    const { timeMs } = journal;
    const stateHash = toHex(journal.stateHash());
    const found = await searchState({ state, timeMs }, query, options, slice);
    return (query !== undefined && isPlain(options)) || journal.isAt(sequence)
      ? { found, timeMs, stateHash, erased: state.encrypted.lostCount }
      : undefined;
  }
}
