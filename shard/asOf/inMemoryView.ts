/**
 * Past states that are still in memory. Each slot knows its birth and death, and no part of the state that the search
 * needs has been lost. Results are exact, and bit for bit those of the rebuilt state.
 */
import { LRUCache } from 'lru-cache';
import { toHex } from '../../shared/hashing/hash.js';
import { type Filter, readsTexts } from '../../shared/model/filter.js';
import { inSlices, type Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import { type StateSummary, stateHash } from '../audit/stateHash.js';
import { SlotSet } from '../kernel/slotSet.js';
import { RecordFilter } from '../metadata/recordFilter.js';
import type { Searched } from '../search/search.js';
import type { CollectionState } from '../state/collectionState.js';
import type { LogHistory } from '../state/logHistory.js';
import type { SearchedParts } from '../state/versionVisibility.js';
import type { AsOfAnswer, AsOfOptions } from './messages.js';
import { searchAsOf } from './searchState.js';

/** State hashes that are cached for repeated requests. */
const HASHES_KEPT = 64;
/** Tombstones between two looks at the clock, if no metadata is read. */
const TOMBSTONES_PER_LOOK = 64;

export class InMemoryView {
  /** State hash by sequence. */
  readonly #hashes = new LRUCache<number, string>({ max: HASHES_KEPT });

  constructor(
    private readonly state: CollectionState,
    private readonly history: LogHistory,
  ) {}

  /**
   * Searches the state after `sequence` events. They are applied, and at least 1. Returns undefined if the state is not
   * in memory, or was lost during the search.
   */
  async search(
    sequence: number,
    query: Int32Array | undefined,
    options: AsOfOptions,
    slice: () => Slice,
  ): Promise<AsOfAnswer | undefined> {
    const { vectors, versions } = this.state;
    const named = namedIn(options);
    if (!versions.holds(sequence, named) || !this.#mayKnow(options.like, sequence)) return undefined;
    const scan = vectors.beginScan();
    try {
      const resting = slice();
      const stateHash = await this.hashOf(sequence, resting);
      const rows = await this.#rowsAt(sequence, options.filter, resting);
      // From here on no row is lost, since the scan keeps them, and texts are those of the call. The graph may change,
      // and so may metadata that groups and fields are read from. A deleted record has no external id.
      if (!versions.holds(sequence, named) || !this.#mayKnow(options.like, sequence)) return undefined;
      const timeMs = versions.timeAt(sequence);
      const found = await searchAsOf({ searched: searchedAmong(this.state, rows), timeMs }, query, options, slice);
      const answer = { found, timeMs, stateHash, erased: this.state.encrypted.lostCount };
      const isReadLate = options.group !== undefined || options.fields !== undefined;
      if (!named.graph && !isReadLate && !this.state.externalIds.isUsed) return answer;
      return versions.holds(sequence, { filter: isReadLate, text: false, graph: named.graph }) ? answer : undefined;
    } finally {
      vectors.endScan(scan);
    }
  }

  /**
   * Returns the hash of the state after `sequence` events. They are applied, and at least 1; `versions` must still have
   * the hash. Looks once at each record that was changed or deleted since.
   */
  async hashOf(sequence: number, slice: Slice): Promise<string> {
    const hash = this.#hashes.get(sequence) ?? toHex(stateHash(await this.#summaryOf(sequence, slice)));
    this.#hashes.set(sequence, hash);
    return hash;
  }

  /** Whether the named record, if any, certainly lived at that time: it is live now, and was inserted before. */
  #mayKnow(like: AsOfOptions['like'], sequence: number): boolean {
    if (like === undefined) return true;
    const { versions, externalIds } = this.state;
    const recordId = externalIds.named(like);
    if (recordId === undefined) return false;
    return this.state.liveSlotOf(recordId) !== undefined && recordId <= versions.recordsAt(sequence);
  }

  async #summaryOf(sequence: number, slice: Slice): Promise<StateSummary> {
    const { tree, graph, versions } = this.state;
    const { configHash } = this.history;
    // Read the root before a pause: a write of the graph may drop it.
    const graphRoot = graph.rootAt(sequence);
    const stateRoot = await inSlices(tree.pastRoot(versions.recordsAt(sequence), sequence), slice);
    const chainHead = this.history.tree.chainHead(sequence);
    return { configHash, stateRoot, graphRoot, chainHead, sequence, timeMs: versions.timeAt(sequence) };
  }

  /**
   * Returns the rows of the records that lived after `sequence` events and match the filter. These are live rows that
   * had been inserted then, and rows that were tombstoned since.
   *
   * Writes may happen in a pause. A row that is inserted is too young. One that is tombstoned is found in the last
   * step. One that lived then and is freed removes the state from memory, which the caller must check. A scan must be
   * running, so that no slot is reused.
   */
  async #rowsAt(sequence: number, filter: Filter | undefined, slice: Slice): Promise<SlotSet> {
    const { vectors, versions, metadata } = this.state;
    const rows = new SlotSet(vectors.shape);
    const lastId = versions.recordsAt(sequence);
    const matching = filter && (await metadata.select(filter, slice))();
    for (const [index, { live, ids, largestId }] of [...vectors.blocks].entries()) {
      const born = (matching === undefined ? live : matching.bitmap(index))?.clone();
      if (born !== undefined && largestId > lastId) for (const row of born) if (ids[row]! > lastId) born.delete(row);
      if (born !== undefined) rows.put(index, born);
      if (slice.due) await slice.next();
    }
    // A filter that reads texts is evaluated only if no text was removed since: no row tombstoned since has one.
    const record = filter && new RecordFilter(filter, this.state.texts.analyser);
    const isSlow = record?.isSlow;
    for (let n = versions.tombstonesAt(sequence); n < versions.tombstones; n++) {
      const recordId = versions.tombstonedRecord(n);
      const slot = recordId <= lastId ? this.state.keptSlotOf(recordId) : undefined;
      if (isSlow && slot !== undefined) await inSlices(record!.analyse(this.state.metadataAt(slot)), slice);
      if (slot !== undefined && (record === undefined || record.matches(this.state.metadataAt(slot)))) rows.add(slot);
      if ((record !== undefined || n % TOMBSTONES_PER_LOOK === 0) && slice.due) await slice.next();
    }
    return rows;
  }
}

const namedIn = ({ filter, text, graph, group, fields }: AsOfOptions): SearchedParts => ({
  filter: filter !== undefined || group !== undefined || fields !== undefined,
  text: text !== undefined || (filter !== undefined && readsTexts(filter)),
  graph: graph !== undefined,
});

/** A collection with only these rows, to which a filter has been applied. */
function searchedAmong(state: CollectionState, only: SlotSet): Searched {
  const { vectors, metadata, texts, graph, insertions } = state;
  return {
    vectors: {
      shape: vectors.shape,
      blocks: vectors.blocks,
      liveCount: only.count,
      idOf: vectors.idOf,
      beginScan: () => vectors.beginScan(),
      endScan: (scan) => vectors.endScan(scan),
      search: (query, k, pause) => vectors.search(query, k, pause, { only }),
      rank: (query, k, candidates, pause) => vectors.rank(query, k, candidates, pause),
      searchWeighted: (query, k, rows, pause) => vectors.searchWeighted(query, k, { ...rows, only }, pause),
      gather: (query, collector, rows, pause) =>
        vectors.gather(query, collector, { ...rows, only: rows.only?.intersection(only) ?? only }, pause),
      vectorBytes: (slot) => vectors.vectorBytes(slot),
      vectorView: (slot) => vectors.vectorView(slot),
    },
    index: { serving: 'brute', search: (query, k) => vectors.search(query, k, sliceTurns(), { only }) },
    metadata: {
      select: async () => () => only,
      values: async (path, _, slice) => {
        const valuesNow = await metadata.values(path, undefined, slice, only);
        return () => ({ ...valuesNow(), matching: only });
      },
      longValue: (...of) => metadata.longValue(...of),
    },
    records: state,
    texts,
    graph,
    insertions,
  };
}
