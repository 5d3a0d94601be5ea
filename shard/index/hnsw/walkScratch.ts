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

/** Returns the parts of a scratch, in bytes and in order. */
function partsOf({ neighbours, capacity, form }: GraphShape, { most, slots }: WalkRoom): readonly number[] {
  return [
    HEADER_WORDS * WORD_BYTES,
    (most + 1) * ENTRY_BYTES,
    (2 * neighbours + 1) * ENTRY_BYTES,
    (2 * neighbours + 4) * WORD_BYTES,
    LANES_BYTES,
    Math.ceil(capacity / 32) * WORD_BYTES,
    vectorBytesOf(form),
    Math.ceil(slots / 32) * WORD_BYTES,
  ].map(aligned);
}

/** Returns the bytes of a scratch. */
export const walkBytes = (shape: GraphShape, room: WalkRoom): number =>
  partsOf(shape, room).reduce((sum, bytes) => sum + bytes, 0);

/** A scratch at an address in the memory of the graph. */
export class WalkScratch {
  readonly #entries: number;

  constructor(
    private readonly buffer: SharedArrayBuffer,
    readonly address: number,
    shape: GraphShape,
    private readonly room: WalkRoom,
  ) {
    const { most } = room;
    let at = address;
    const places = partsOf(shape, room).map((bytes) => {
      at += bytes;
      return at - bytes;
    });
    const [header, entries, sorted, fresh, lanes, visited, query, bitmap] = places as [
      ...[number, number, number, number, number, number, number, number],
    ];
    this.#entries = entries;
    const visitedBytes = query - visited;
    const words = [query, most, most, 1, 0, 0, 0, 0, 0, entries, sorted, fresh, lanes, visited, visitedBytes, bitmap];
    new Uint32Array(buffer, header, HEADER_WORDS).set(words);
  }

  /**
   * Prepares a walk that ends with the nearest `width` nodes. With `takesAll` all nodes count, otherwise those with a slot.
   * The bitmap `eligible` has the slots that count; it is empty if all do. The words of `query` are those of the vector, as the graph
   * stores vectors.
   */
  prepare(query: Int32Array, width: number, takesAll: boolean, eligible: Uint32Array): void {
    const { most, slots } = this.room;
    const header = new Uint32Array(this.buffer, this.address, HEADER_WORDS);
    const bitmap = header[HEADER_WORDS - 1]!;
    header.set([width, most, Number(takesAll), slots === 0 ? 0 : bitmap, slots], 1);
    new Int32Array(this.buffer, header[0]!, query.length).set(query);
    new Uint32Array(this.buffer, bitmap, eligible.length).set(eligible);
  }

  /** Returns a view of the first `count` nodes found, nearest first: two numbers for each, the node and its distance. */
  found(count: number): Uint32Array {
    return new Uint32Array(this.buffer, this.#entries, 2 * count);
  }
}
