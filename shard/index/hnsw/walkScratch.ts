/**
 * The scratch of a walk through a graph. Its parts, in order: header, kept nodes, a sorted list, fresh nodes, distances, visited
 * bits, query, eligible bits. It takes about 8 bytes per kept node, and a bit per node of the graph.
 */
import type { GraphShape } from './graphMemory.js';
import { vectorBytesOf } from './vectorForm.js';

/** Header; see `assembly/graphWalk.ts`. */
const HEADER_WORDS = 16;
const WORD_BYTES = 4;
const ENTRY_BYTES = 8;
const LANES_BYTES = 16;

const aligned = (sizeBytes: number): number => 16 * Math.ceil(sizeBytes / 16);

/** Room for the results of a walk. */
export interface WalkRoom {
  /** Largest number of nodes to keep. */
  readonly most: number;
  /** Bits of the bitmap of eligible slots; 0 without one. */
  readonly slots: number;
}

/** The parts of a scratch: where each begins, in bytes from its address. */
export interface WalkLayout extends WalkRoom {
  readonly entries: number;
  readonly sorted: number;
  readonly fresh: number;
  readonly lanes: number;
  readonly visited: number;
  readonly query: number;
  readonly bitmap: number;
  readonly sizeBytes: number;
}

export function walkLayout({ neighbours, capacity, form }: GraphShape, { most, slots }: WalkRoom): WalkLayout {
  const entries = HEADER_WORDS * WORD_BYTES;
  const sorted = entries + aligned((most + 1) * ENTRY_BYTES);
  const fresh = sorted + aligned((2 * neighbours + 1) * ENTRY_BYTES);
  const lanes = fresh + aligned((4 * neighbours + 4) * WORD_BYTES);
  const visited = lanes + LANES_BYTES;
  const query = visited + aligned(Math.ceil(capacity / 32) * WORD_BYTES);
  const bitmap = query + aligned(vectorBytesOf(form));
  const sizeBytes = bitmap + aligned(Math.ceil(slots / 32) * WORD_BYTES);
  return { most, slots, entries, sorted, fresh, lanes, visited, query, bitmap, sizeBytes };
}

/** A scratch at an address in the memory of the graph. */
export class WalkScratch {
  /** `words`: those of the whole memory. */
  constructor(
    private readonly words: Uint32Array,
    readonly address: number,
    private readonly layout: WalkLayout,
  ) {
    const { most, entries, sorted, fresh, lanes, visited, query, bitmap } = layout;
    const lists = [address + entries, address + sorted, address + fresh, address + lanes, address + visited];
    const header = [address + query, most, most, 1, 0, 0, 0, 0, 0, ...lists, query - visited, address + bitmap];
    words.set(header, address / WORD_BYTES);
  }

  /**
   * Prepares a walk that ends with the nearest `width` nodes. With `takesAll` all nodes count, otherwise those with a slot.
   * The bitmap `eligible` has the slots that count; it is empty if all do. The words of `query` are those of the vector, as the graph
   * stores vectors.
   */
  prepare(query: Int32Array, width: number, takesAll: boolean, eligible: Uint32Array): void {
    const { words, address, layout } = this;
    const { most, slots } = layout;
    const bitmap = address + layout.bitmap;
    words.set([width, most, Number(takesAll), slots === 0 ? 0 : bitmap, slots], address / WORD_BYTES + 1);
    words.set(query, (address + layout.query) / WORD_BYTES);
    words.set(eligible, bitmap / WORD_BYTES);
  }

  /** Returns the first `count` nodes found, nearest first: two numbers for each, the node and its distance. */
  found(count: number): Uint32Array {
    const first = (this.address + this.layout.entries) / WORD_BYTES;
    return this.words.slice(first, first + 2 * count);
  }
}
