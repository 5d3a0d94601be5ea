/** Searches of a graph in a message to a thread. */
import { atOnce } from '../../../shared/scheduling/slice.js';
import { BlockShape } from '../../kernel/blockShape.js';
import { RowTable } from '../../kernel/rowTable.js';
import type { ScratchArena } from '../../kernel/vectorMemory.js';
import { asUnsigned, packParts, type SearchResult, unpackParts } from '../batchForm.js';
import type { GraphShape } from './graphMemory.js';
import { type GraphSearch, searchGraph } from './graphSearch.js';

/** Numbers, query, vector, equal slots and bitmap. */
const PARTS = 5;

/** The message of a batch. */
export interface GraphBatch {
  readonly kind: 'hnsw';
  readonly dimension: number;
  /** Number of the graph's arena among the loans. */
  readonly arena: number;
  /** Address of the graph. */
  readonly address: number;
  readonly shape: GraphShape;
  /** Table of the rows, which numbers arenas like the loans. */
  readonly table: SharedArrayBuffer;
  /** Result of `packSearches`. */
  readonly searches: Int32Array;
}

/** Makes the searches of a batch, with scratch in the lent memory. */
export function searchGraphs(arenas: readonly ScratchArena[], batch: GraphBatch): SearchResult[] {
  const { dimension, arena, address, shape } = batch;
  const table = new RowTable(batch.table, new BlockShape(dimension));
  const graph = { arena: arenas[arena]!, address, shape, table, arenas };
  return Array.from(unpackSearches(batch.searches), (search) => atOnce(searchGraph(graph, search)));
}

export const packSearches = (searches: readonly GraphSearch[]): Int32Array =>
  packParts(
    searches.map(({ query, vector, k, width, most, takesAll, equalSlots, eligible }) => {
      return [Int32Array.of(k, width, most, Number(takesAll)), query, vector, equalSlots, eligible];
    }),
  );

function* unpackSearches(words: Int32Array): Generator<GraphSearch> {
  for (const [numbers, query, vector, equalSlots, eligible] of unpackParts(words, PARTS)) {
    const [k, width, most, takesAll] = numbers!;
    yield {
      query: query!,
      vector: vector!,
      k: k!,
      width: width!,
      most: most!,
      takesAll: takesAll === 1,
      equalSlots: asUnsigned(equalSlots!),
      eligible: asUnsigned(eligible!),
    };
  }
}
