/**
 * Past states that the present structures still hold: each slot knows when it was born and died, and no part of the state
 * that the search names has been lost since. Always exact, and the same to the last bit as in the state rebuilt.
 */
import { LRUCache } from 'lru-cache';
import { toHex } from '../../shared/hashing/hash.js';
import type { Filter } from '../../shared/model/filter.js';
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

/** State hashes that are remembered, for requests that are repeated. */
const HASHES_KEPT = 64;
/** Tombstones between two looks at the clock, if no metadata is read. */
const TOMBSTONES_PER_LOOK = 64;

export class InMemoryView {
  /** By sequence. */
  readonly #hashes = new LRUCache<number, string>({ max: HASHES_KEPT });

  constructor(
    private readonly state: CollectionState,
    private readonly history: LogHistory,
  ) {}

  /**
   * Searches the state after `sequence` events, 1 or more, which are applied. Undefined where memory does not hold it, or
   * lost it meanwhile.
   */
  async search(
    sequence: number,
    query: Int32Array | undefined,
    options: AsOfOptions,
    slice: () => Slice,
  ): Promise<AsOfAnswer | undefined> {
    const { vectors, versions } = this.state;
    const named = namedIn(options);
    if (!versions.holds(sequence, named) || !this.#mayTell(options.like, sequence)) return undefined;
    const scan = vectors.beginScan();
    try {
      const resting = slice();
      const stateHash = await this.hashOf(sequence, resting);
      const rows = await this.#rowsAt(sequence, options.filter, resting);
      // From here on no row is lost, since the scan holds them, and texts are those of the call. The graph may change, and
      // so may the metadata that groups and fields are read from, and a record that is deleted has no external id.
      if (!versions.holds(sequence, named)) return undefined;
      const timeMs = versions.timeAt(sequence);
      const found = await searchAsOf(searchedAmong(this.state, rows), timeMs, query, options, slice);
      const answer = { found, timeMs, stateHash };
      const isReadLate = options.group !== undefined || options.fields !== undefined;
      if (!named.graph && !isReadLate && !this.state.externalIds.isUsed) return answer;
      return versions.holds(sequence, { filter: isReadLate, text: false, graph: named.graph }) ? answer : undefined;
    } finally {
      vectors.endScan(scan);
    }
  }

  /**
   * The hash of the state after `sequence` events, 1 or more, which are applied; `versions` must tell it. Costs a look at
   * each record that was changed or deleted since, once.
   */
  async hashOf(sequence: number, slice: Slice): Promise<string> {
    const hash = this.#hashes.get(sequence) ?? toHex(stateHash(await this.#summaryOf(sequence, slice)));
    this.#hashes.set(sequence, hash);
    return hash;
  }

  /** Whether the record, if one is named, certainly lived then: it does now, and was inserted before. */
  #mayTell(recordId: number | undefined, sequence: number): boolean {
    const { versions } = this.state;
    if (recordId === undefined) return true;
    return this.state.liveSlotOf(recordId) !== undefined && recordId <= versions.recordsAt(sequence);
  }

  async #summaryOf(sequence: number, slice: Slice): Promise<StateSummary> {
    const { tree, graph, versions } = this.state;
    const { configHash } = this.history;
    // Before a rest: a write of the graph may make it a root that is not kept.
    const graphRoot = graph.rootAt(sequence);
    const stateRoot = await inSlices(tree.pastRoot(versions.recordsAt(sequence), sequence), slice);
    const chainHead = this.history.tree.chainHead(sequence);
    return { configHash, stateRoot, graphRoot, chainHead, sequence, timeMs: versions.timeAt(sequence) };
  }

  /**
   * The rows of the records that lived after `sequence` events, and matched the filter: those that live now and had been
   * inserted then, and those that were tombstoned since.
   *
   * Writes may come in meanwhile. A row that is inserted is too young; one that is tombstoned is found at the end, where
   * tombstones are looked at; one that is freed and lived then makes the state one that memory does not hold any more, which
   * the caller must check. A scan must be running, so that no slot passes to another record.
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
    const record = filter && new RecordFilter(filter);
    for (let n = versions.tombstonesAt(sequence); n < versions.tombstones; n++) {
      const recordId = versions.tombstonedRecord(n);
      const slot = recordId <= lastId ? this.state.keptSlotOf(recordId) : undefined;
      if (slot !== undefined && (record === undefined || record.matches(this.state.metadataAt(slot)))) rows.add(slot);
      if ((record !== undefined || n % TOMBSTONES_PER_LOOK === 0) && slice.due) await slice.next();
    }
    return rows;
  }
}

const namedIn = ({ filter, text, graph, group, fields }: AsOfOptions): SearchedParts => ({
  filter: filter !== undefined || group !== undefined || fields !== undefined,
  text: text !== undefined,
  graph: graph !== undefined,
});

/** A collection that has these rows alone, to which a filter has been applied. */
function searchedAmong(state: CollectionState, held: SlotSet): Searched {
  const { vectors, metadata, texts, graph, insertions } = state;
  return {
    vectors: {
      shape: vectors.shape,
      blocks: vectors.blocks,
      liveCount: held.count,
      idOf: vectors.idOf,
      beginScan: () => vectors.beginScan(),
      endScan: (scan) => vectors.endScan(scan),
      search: (query, k, pause) => vectors.search(query, k, pause, { held }),
      rank: (query, k, slots, pause) => vectors.rank(query, k, slots, pause),
      searchWeighted: (query, k, weights, pause, _, bounds) =>
        vectors.searchWeighted(query, k, weights, pause, { held }, bounds),
      gather: (query, collector, weights, pause, among, bounds) =>
        vectors.gather(query, collector, weights, pause, { held: among?.held?.intersection(held) ?? held }, bounds),
      vectorBytes: (slot) => vectors.vectorBytes(slot),
    },
    index: { serving: 'brute', search: (query, k) => vectors.search(query, k, sliceTurns(), { held }) },
    metadata: {
      select: async () => () => held,
      values: async (path, _, slice) => {
        const valuesNow = await metadata.values(path, undefined, slice, held);
        return () => ({ ...valuesNow(), matching: held });
      },
      longValue: (...of) => metadata.longValue(...of),
    },
    records: state,
    texts,
    graph,
    insertions,
  };
}
