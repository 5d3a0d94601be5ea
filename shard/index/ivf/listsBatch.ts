/** Searches of lists in a message to a thread. */
import { atOnce } from '../../../shared/scheduling/slice.js';
import { BlockShape, narrowReach } from '../../kernel/blockShape.js';
import { paddedCodeBytes } from '../../kernel/planeMemory.js';
import { RowTable } from '../../kernel/rowTable.js';
import type { ScratchArena } from '../../kernel/vectorMemory.js';
import { type LentTable, lentIn, packQueries, type SearchResult, slotsIn, unpackQueries } from '../batchForm.js';
import { ChunkShape } from './chunkMemory.js';
import { ListTable } from './openLists.js';
import { type ListsSearch, searchLists } from './readLists.js';

/** A search on threads. `eligible`: bitmap of the eligible slots; empty if all slots are eligible. */
export interface ThreadedSearch extends ListsSearch {
  readonly eligible: Uint32Array;
}

/** The message of a batch. */
export interface ListsBatch {
  readonly kind: 'ivf';
  readonly dimension: number;
  readonly hasSigns: boolean;
  /** Number of lists. */
  readonly lists: number;
  /** Tables of the rows, of the centroids, and of the chunks of lists. */
  readonly rows: LentTable;
  readonly centroids: LentTable;
  readonly chunks: LentTable;
  /** Result of `packListsSearches`. */
  readonly searches: Int32Array;
}

/** Makes the searches of a batch, with scratch in the lent memory. */
export function searchListsOf(lent: readonly ScratchArena[], batch: ListsBatch): SearchResult[] {
  const { dimension, hasSigns, lists, rows, centroids, chunks } = batch;
  const shape = new BlockShape(dimension);
  const chunkShape = new ChunkShape(paddedCodeBytes(dimension), hasSigns ? dimension : 0);
  const centroidTable = new RowTable(centroids.table, shape);
  const centroidArenas = lentIn(lent, centroids);
  const table = new ListTable(chunks.table, lists, lentIn(lent, chunks), chunkShape);
  const all = Uint32Array.from({ length: lists }, (_, list) => list);
  const source = {
    count: lists,
    nearest: (query: Int32Array, most: number) => atOnce(centroidTable.nearest(centroidArenas, query, most, all)).slots,
    chunks: (list: number) => table.chunks(list),
  };
  const measured = {
    shape,
    narrowReach: narrowReach(dimension),
    table: new RowTable(rows.table, shape),
    arenas: lentIn(lent, rows),
  };
  return Array.from(unpackListsSearches(batch.searches), (search) => ({
    hits: atOnce(searchLists(source, search, measured, slotsIn(search.eligible))),
  }));
}

export const packListsSearches = (searches: readonly ThreadedSearch[]): Int32Array =>
  packQueries(searches.map(({ probes, ...search }) => ({ ...search, most: probes })));

function* unpackListsSearches(words: Int32Array): Generator<ThreadedSearch> {
  for (const { most, ...search } of unpackQueries(words)) yield { ...search, probes: most };
}
