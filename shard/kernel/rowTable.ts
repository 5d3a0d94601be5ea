/** Where the rows of a collection are, for any thread: 6 words a block, in shared memory. */
import type { Arena } from './arena.js';
import type { Block } from './block.js';
import { type BlockShape, narrowReach } from './blockShape.js';
import { BATCH_ROWS } from './kernel.js';
import type { RowForm } from './rowForm.js';
import { type Hits, hitsOfLength, ScanScratch } from './scanScratch.js';
import type { ScratchArena } from './vectorMemory.js';
import { unfiltered } from './way.js';

/** Words of an entry: arena, address of the vectors, address of the ids, largest component, code plane, form. */
const ENTRY_WORDS = 6;
/** Bytes of scattered rows that are measured in about 1 ms. */
const SLICE_BYTES = 4 << 20;

/** The blocks of a collection as they were when the table was made. It is right for every row that was written then. */
export class RowTable {
  readonly #words: Uint32Array;
  readonly #reach: number;

  constructor(
    readonly buffer: SharedArrayBuffer,
    private readonly shape: BlockShape,
  ) {
    this.#words = new Uint32Array(buffer);
    this.#reach = narrowReach(shape.dimension);
  }

  /** `arenas`: the arenas of the blocks, in the order of their numbers. */
  static of(blocks: readonly Block[], shape: BlockShape, arenas: readonly Arena[]): RowTable {
    const words = new SharedArrayBuffer(blocks.length * ENTRY_WORDS * Uint32Array.BYTES_PER_ELEMENT);
    const table = new RowTable(words, shape);
    for (const [at, { region, vectorsAddress, idsAddress, largestComponent, planeAddress, form }] of blocks.entries()) {
      const arena = arenas.indexOf(region.arena);
      const entry = [arena, vectorsAddress, idsAddress, largestComponent, planeAddress, form];
      table.#words.set(entry, at * ENTRY_WORDS);
    }
    return table;
  }

  /**
   * Measures rows exactly, in steps of about 1 ms, and returns the nearest `k`. `slots`: each once, in ascending order. All of them count, dead
   * or alive. Throws `unavailable` and `capacity_exceeded` if memory is short.
   */
  *nearest(
    arenas: readonly ScratchArena[],
    query: Int32Array,
    k: number,
    slots: Uint32Array,
  ): Generator<undefined, Hits> {
    const { shape } = this;
    const sliceRows = Math.ceil(SLICE_BYTES / shape.strideBytes);
    let scratch: ScanScratch | undefined;
    try {
      for (let at = 0, restsAt = sliceRows; at < slots.length; ) {
        if (at >= restsAt) {
          restsAt += sliceRows;
          yield;
        }
        const index = shape.blockOf(slots[at]!);
        const word = index * ENTRY_WORDS;
        const arena = arenas[this.#words[word]!]!;
        scratch?.moveTo(arena);
        scratch ??= scratchFor(arena, query, Math.min(k, slots.length), shape);
        const first = shape.firstSlot(index);
        const end = shape.firstSlot(index + 1);
        const { rowList } = scratch.views;
        let listed = 0;
        while (at < slots.length && slots[at]! < end && listed < BATCH_ROWS) rowList[listed++] = slots[at++]! - first;
        const [vectors, ids, largest] = [this.#words[word + 1]!, this.#words[word + 2]!, this.#words[word + 3]!];
        const [plane, form] = [this.#words[word + 4]!, this.#words[word + 5]! as RowForm];
        const way = unfiltered(form, largest + scratch.largestQueryComponent > this.#reach);
        arena.kernel.offerRows(scratch.address, vectors, ids, listed, first, plane, way);
      }
      return scratch?.hits() ?? hitsOfLength(0);
    } finally {
      scratch?.free();
    }
  }
}

const scratchFor = (arena: ScratchArena, query: Int32Array, capacity: number, shape: BlockShape): ScanScratch => {
  const bytes = new Uint8Array(query.buffer, query.byteOffset, query.byteLength);
  return new ScanScratch(arena, bytes, { shape, capacity, roomBytes: 0 });
};
