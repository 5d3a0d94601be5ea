import type { Kernel } from './kernel.js';

/** The words of the buffer: the number of the next block to be given out, the threads at it, and what the kernel needs of each block. */
const NEXT = 0;
const ACTIVE = 1;
const HEADER_WORDS = 2;
const ENTRY_WORDS = 8;

/** A block as the kernel reads it. Addresses lie in the memory of its arena. */
export interface BlockEntry {
  /** The number of its arena among those of the scan. */
  readonly arena: number;
  readonly vectors: number;
  readonly ids: number;
  readonly bitmap: number;
  /** Words of the bitmap, of 64 bits. */
  readonly words: number;
  readonly firstSlot: number;
  readonly plane: number;
  readonly isWide: 0 | 1;
}

/** The blocks of a scan that several threads share, in memory that they all see. Each block is given out once. */
export class BlockTable {
  readonly #words: Uint32Array;
  readonly #count: number;

  constructor(readonly buffer: SharedArrayBuffer) {
    this.#words = new Uint32Array(buffer);
    this.#count = (this.#words.length - HEADER_WORDS) / ENTRY_WORDS;
  }

  static of(blocks: readonly BlockEntry[]): BlockTable {
    const words = HEADER_WORDS + blocks.length * ENTRY_WORDS;
    const table = new BlockTable(new SharedArrayBuffer(words * Uint32Array.BYTES_PER_ELEMENT));
    for (const [at, { arena, vectors, ids, bitmap, words, firstSlot, plane, isWide }] of blocks.entries())
      table.#words.set([arena, vectors, ids, bitmap, words, firstSlot, plane, isWide], HEADER_WORDS + at * ENTRY_WORDS);
    return table;
  }

  /** Blocks that no thread has taken yet. */
  get left(): number {
    return Math.max(0, this.#count - Atomics.load(this.#words, NEXT));
  }

  /**
   * Whether all blocks have been scanned. From then on no thread writes anything: one that comes late finds no block. Not where
   * a thread died while it scanned.
   */
  get isDone(): boolean {
    return this.left === 0 && Atomics.load(this.#words, ACTIVE) === 0;
  }

  /** Leaves nothing to be taken. */
  abandon(): void {
    Atomics.store(this.#words, NEXT, this.#count);
  }

  /** Takes and scans up to `most` blocks, as long as there are any. By number of the arena: its kernel, and a scratch in it. */
  scan(kernels: readonly Kernel[], scratches: readonly number[], most: number): void {
    // Before the first block is taken, so that `isDone` cannot miss it.
    Atomics.add(this.#words, ACTIVE, 1);
    this.#scan(kernels, scratches, most);
    Atomics.sub(this.#words, ACTIVE, 1);
  }

  #scan(kernels: readonly Kernel[], scratches: readonly number[], most: number): void {
    const words = this.#words;
    for (let taken = 0; taken < most; taken++) {
      const at = Atomics.add(words, NEXT, 1);
      if (at >= this.#count) return;
      const from = HEADER_WORDS + at * ENTRY_WORDS;
      const arena = words[from]!;
      kernels[arena]!.scanRows(
        scratches[arena]!,
        words[from + 1]!,
        words[from + 2]!,
        words[from + 3]!,
        words[from + 4]!,
        words[from + 5]!,
        words[from + 6]!,
        words[from + 7]!,
      );
    }
  }
}
