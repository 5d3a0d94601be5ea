/** Where the rows of a collection are, for any thread: 6 words a block, in shared memory. */
import type { Arena } from './arena.js';
import type { Block } from './block.js';
import { type BlockShape, bitmapAfter, narrowReach } from './blockShape.js';
import { BATCH_ROWS } from './kernel.js';
import type { RowForm } from './rowForm.js';
import { type Hits, hitsOfLength, ScanScratch } from './scanScratch.js';
import type { ScratchArena } from './vectorMemory.js';
import { FILTERS, unfiltered } from './way.js';

/** Words of an entry: arena, address of the vectors, address of the ids, largest component, code plane, form. */
const ENTRY_WORDS = 6;
/** Bytes of scattered rows that are measured in about 1 ms. */
const SLICE_BYTES = 4 << 20;

/** Whether the kernel skips rows that are not live, and rows that their codes exclude. */
interface Offered {
  readonly live: boolean;
  readonly filters: boolean;
}

const ALL: Offered = { live: false, filters: false };

/** Arenas of the blocks, and the table that counts them in this order. */
export interface RowsPlace {
  readonly arenas: readonly Arena[];
  readonly table: RowTable;
}

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

  /** Returns the number of the arena that the row is in; undefined behind the last block. */
  arenaOf(slot: number): number | undefined {
    return this.#words[this.shape.blockOf(slot) * ENTRY_WORDS];
  }

  /** Whether the row's block takes the kernel's wide path. */
  isWide(slot: number, { largestQueryComponent }: ScanScratch): boolean {
    return this.#words[this.shape.blockOf(slot) * ENTRY_WORDS + 3]! + largestQueryComponent > this.#reach;
  }

  /**
   * Offers rows of the ascending `slots`, from place `at` on: those in one block, 256 at most. Returns the place behind them. A
   * repeated slot counts once. `scratch`: in the arena of the block.
   */
  offer(scratch: ScanScratch, slots: Uint32Array, at: number, choice: Offered = ALL): number {
    const { shape } = this;
    const words = this.#words;
    const index = shape.blockOf(slots[at]!);
    const word = index * ENTRY_WORDS;
    const first = shape.firstSlot(index);
    const rows = shape.rows(index);
    const { rowList } = scratch;
    let listed = 0;
    for (; at < slots.length && slots[at]! < first + rows && listed < BATCH_ROWS; at++)
      if (slots[at] !== slots[at - 1]) rowList[listed++] = slots[at]! - first;
    const [vectors, ids, largest] = [words[word + 1]!, words[word + 2]!, words[word + 3]!];
    const [plane, form] = [words[word + 4]!, words[word + 5]! as RowForm];
    const isWide = largest + scratch.largestQueryComponent > this.#reach;
    const way = unfiltered(form, isWide) | (choice.filters && !isWide && plane !== 0 ? FILTERS : 0);
    const bitmap = choice.live ? bitmapAfter(ids, rows) : 0;
    const next = this.#planeOf(slots[at], words[word]!);
    scratch.kernel.offerRows(scratch.address, vectors, ids, bitmap, listed, first, plane, way, next);
    return at;
  }

  /** Returns the address of the plane of the slot's block; 0 without one in this arena. */
  #planeOf(slot: number | undefined, arena: number): number {
    if (slot === undefined) return 0;
    const word = this.shape.blockOf(slot) * ENTRY_WORDS;
    return this.#words[word] === arena ? this.#words[word + 4]! : 0;
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
        const arena = arenas[this.arenaOf(slots[at]!)!]!;
        scratch?.moveTo(arena);
        scratch ??= scratchFor(arena, query, Math.min(k, slots.length), shape);
        at = this.offer(scratch, slots, at);
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
