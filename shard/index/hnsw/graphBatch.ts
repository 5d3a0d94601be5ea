/** The form of searches of a graph in a message to a thread, and that of their results in its answer. */
import { atOnce } from '../../../shared/scheduling/slice.js';
import { BlockShape } from '../../kernel/blockShape.js';
import { RowTable } from '../../kernel/rowTable.js';
import { hitsOfLength } from '../../kernel/scanScratch.js';
import type { ScratchArena } from '../../kernel/vectorMemory.js';
import type { GraphShape } from './graphMemory.js';
import { type GraphResult, type GraphSearch, searchGraph } from './graphSearch.js';

/** Count of numbers that precede the parts of a search: query, code, equal slots and bitmap. */
const HEADER = 7;
/** In place of the number of hits: the search has nodes instead. */
const NODES = -1;

/** The message of a batch. */
export interface GraphBatch {
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

/** Makes the searches of a batch, with scratch in the lent memory, and returns the packed results. */
export function searchGraphs(arenas: readonly ScratchArena[], batch: GraphBatch): Float64Array {
  const { dimension, arena, address, shape } = batch;
  const table = new RowTable(batch.table, new BlockShape(dimension));
  const graph = { arena: arenas[arena]!, address, shape, table, arenas };
  const results: GraphResult[] = [];
  for (const search of unpackSearches(batch.searches, dimension)) results.push(atOnce(searchGraph(graph, search)));
  return packResults(results);
}

export function packSearches(searches: readonly GraphSearch[]): Int32Array {
  const size = searches.reduce((sum, { query, vector, equalSlots, eligible }) => {
    return sum + HEADER + query.length + vector.length + equalSlots.length + eligible.length;
  }, 0);
  const numbers = new Int32Array(size);
  let at = 0;
  for (const { query, vector, k, width, most, takesAll, equalSlots, eligible } of searches) {
    numbers.set([k, width, most, Number(takesAll), vector.length, equalSlots.length, eligible.length], at);
    at += HEADER;
    for (const part of [query, vector, equalSlots, eligible]) {
      numbers.set(part, at);
      at += part.length;
    }
  }
  return numbers;
}

export function* unpackSearches(numbers: Int32Array, dimension: number): Generator<GraphSearch> {
  for (let at = 0; at < numbers.length; ) {
    const [k, width, most, takesAll, words, equal, eligible] = numbers.subarray(at, at + HEADER) as unknown as number[];
    at += HEADER;
    const take = (length: number): Int32Array => {
      at += length;
      return numbers.subarray(at - length, at);
    };
    const unsigned = ({ buffer, byteOffset, length }: Int32Array): Uint32Array =>
      new Uint32Array(buffer, byteOffset, length);
    yield {
      query: take(dimension),
      vector: take(words!),
      k: k!,
      width: width!,
      most: most!,
      takesAll: takesAll === 1,
      equalSlots: unsigned(take(equal!)),
      eligible: unsigned(take(eligible!)),
    };
  }
}

/**
 * Packs results, in order. A result is the number of its hits, then their ids, slots and scores. Or it is NODES, then the
 * length of `nodes`, then those.
 */
export function packResults(results: readonly GraphResult[]): Float64Array {
  const sizeOf = (one: GraphResult): number => ('hits' in one ? 1 + 3 * one.hits.ids.length : 2 + one.nodes.length);
  const numbers = new Float64Array(results.reduce((sum, one) => sum + sizeOf(one), 0));
  let at = 0;
  for (const one of results) {
    if ('hits' in one) {
      const { ids, slots, scores } = one.hits;
      numbers[at++] = ids.length;
      for (const column of [ids, slots, scores]) {
        numbers.set(column, at);
        at += column.length;
      }
    } else {
      numbers[at++] = NODES;
      numbers[at++] = one.nodes.length;
      numbers.set(one.nodes, at);
      at += one.nodes.length;
    }
  }
  return numbers;
}

export function unpackResults(numbers: Float64Array): GraphResult[] {
  const results: GraphResult[] = [];
  for (let at = 0; at < numbers.length; ) {
    const count = numbers[at++]!;
    if (count === NODES) {
      const length = numbers[at++]!;
      results.push({ nodes: Uint32Array.from(numbers.subarray(at, at + length)) });
      at += length;
      continue;
    }
    const hits = hitsOfLength(count);
    for (const column of [hits.ids, hits.slots, hits.scores]) {
      column.set(numbers.subarray(at, at + count));
      at += count;
    }
    results.push({ hits });
  }
  return results;
}
