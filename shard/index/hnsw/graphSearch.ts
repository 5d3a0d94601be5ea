/** A search of a graph that any thread can make. It walks the graph, then measures the rows of the nodes found exactly. */
import { ascending } from '../../kernel/ascending.js';
import type { RowTable } from '../../kernel/rowTable.js';
import { allocateScratch, freeScratch, type ScratchArena } from '../../kernel/vectorMemory.js';
import type { SearchResult } from '../batchForm.js';
import { NO_SLOT } from '../rows.js';
import { type GraphShape, nodeSlots, SEVERAL } from './graphMemory.js';
import { doubtfulUpTo, vectorBytesOf } from './vectorForm.js';
import { type WalkLayout, WalkScratch, walkLayout } from './walkScratch.js';

/** Bytes of vectors that a walk reads between two pauses: about 1 ms. */
const WALKED_BYTES = 8 << 20;
const UNFINISHED = 0xffff_ffff;

/** The order for a search of a graph. */
export interface GraphSearch {
  /** Components of the query. */
  readonly query: Int32Array;
  /** Words of the query's vector, as the graph stores vectors. */
  readonly vector: Int32Array;
  readonly k: number;
  /** Number of nodes to find: all nodes count, or only eligible ones with a slot. */
  readonly width: number;
  /** Largest number of nodes to keep, whether they count or not. */
  readonly most: number;
  /** Whether all nodes count. */
  readonly takesAll: boolean;
  /** Slots of the rows whose stored vector equals `vector`. */
  readonly equalSlots: Uint32Array;
  /** Bitmap of the eligible slots; empty if all slots are eligible. */
  readonly eligible: Uint32Array;
}

/** A graph and the rows of its collection, in the memory of a thread. */
export interface SearchedGraph {
  readonly arena: ScratchArena;
  readonly address: number;
  readonly shape: GraphShape;
  readonly table: RowTable;
  /** Arenas of the rows, by their numbers in the table. */
  readonly arenas: readonly ScratchArena[];
}

/** Returns the layout of the scratch that a search needs. */
export const layoutFor = (shape: GraphShape, { most, eligible }: GraphSearch): WalkLayout =>
  walkLayout(shape, { most, slots: 32 * eligible.length });

/**
 * Searches in steps of about 1 ms. Returns the nodes, as `walk` does, if one of them represents several rows. Throws
 * `unavailable` and `capacity_exceeded` if memory is short.
 */
export function* searchGraph(graph: SearchedGraph, search: GraphSearch): Generator<undefined, SearchResult> {
  const nodes = yield* walk(graph, search);
  const slots = proposed(graph, search, nodes);
  if (slots === undefined) return { nodes };
  return { hits: yield* graph.table.nearest(graph.arenas, search.query, search.k, ascending(slots)) };
}

/** Walks a graph. Returns the nodes found, nearest first: two numbers for each, the node and its distance. */
export function* walk(
  { arena, address, shape }: Omit<SearchedGraph, 'table' | 'arenas'>,
  search: GraphSearch,
): Generator<undefined, Uint32Array> {
  const { vector, width, takesAll, eligible } = search;
  const layout = layoutFor(shape, search);
  const region = allocateScratch(arena, layout.sizeBytes);
  try {
    const scratch = new WalkScratch(arena.words, region.address, layout);
    scratch.prepare(vector, width, takesAll, eligible);
    const atOnce = Math.ceil(WALKED_BYTES / vectorBytesOf(shape.form));
    let count = arena.kernel.walkGraph(address, region.address, atOnce) >>> 0;
    while (count === UNFINISHED) {
      yield;
      count = arena.kernel.continueWalk(address, region.address, atOnce) >>> 0;
    }
    return scratch.found(count);
  } finally {
    freeScratch(region);
  }
}

/** Returns the slots to measure: k, and those that may be nearer than their codes show. Undefined if a node has several. */
function proposed(
  { arena, address, shape }: SearchedGraph,
  { k, equalSlots }: GraphSearch,
  found: Uint32Array,
): Uint32Array | undefined {
  const slotOf = nodeSlots(arena.words, address, shape);
  const slots = new Uint32Array(equalSlots.length + found.length / 2);
  slots.set(equalSlots);
  let count = equalSlots.length;
  let limit = Number.POSITIVE_INFINITY;
  for (let at = 0; at < found.length && found[at + 1]! <= limit; at += 2) {
    const slot = slotOf(found[at]!);
    if (slot === SEVERAL) return undefined;
    if (slot !== NO_SLOT && !equalSlots.includes(slot)) slots[count++] = slot;
    if (count >= k && limit === Number.POSITIVE_INFINITY) limit = doubtfulUpTo(shape.form, found[at + 1]!);
  }
  return slots.subarray(0, count);
}
