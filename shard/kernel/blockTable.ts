/** The shared work list of a parallel scan: 2 words, then 8 per block. Blocks are taken by atomic increment. */
import type { Kernel } from './kernel.js';

/** Words of the buffer: the next block to be taken, the number of active threads, then an entry per block. */
const NEXT = 0;
const ACTIVE = 1;
const HEADER_WORDS = 2;
const ENTRY_WORDS = 8;

/** A block as the kernel reads it. Addresses lie in the memory of its arena. */
export interface BlockEntry {
  /** Index of the block's arena among those of the scan. */
  readonly arena: number;
  readonly vectors: number;
  readonly ids: number;
  readonly bitmap: number;
  /** Words of the bitmap, of 64 bits each. */
  readonly words: number;
  readonly firstSlot: number;
  readonly plane: number;
  readonly way: number;
}

/** The blocks of a scan that several threads share, in shared memory. Each block is taken once. */
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
    for (const [at, { arena, vectors, ids, bitmap, words, firstSlot, plane, way }] of blocks.entries())
      table.#words.set([arena, vectors, ids, bitmap, words, firstSlot, plane, way], HEADER_WORDS + at * ENTRY_WORDS);
    return table;
  }

  /** Blocks that no thread has taken yet. */
  get left(): number {
    return Math.max(0, this.#count - Atomics.load(this.#words, NEXT));
  }

  /**
   * Whether all blocks have been scanned. From then on no thread writes: a late one finds no block. It never becomes
   * true if a thread died during its scan.
   */
  get isDone(): boolean {
    return this.left === 0 && Atomics.load(this.#words, ACTIVE) === 0;
  }

  /** Marks all remaining blocks as taken. */
  abandon(): void {
    Atomics.store(this.#words, NEXT, this.#count);
  }

  /** Takes and scans up to `most` blocks. `kernels` and `scratches` are indexed by arena. */
  scan(kernels: readonly Kernel[], scratches: readonly number[], most: number): void {
    // Count this thread before it takes a block, so that `isDone` cannot miss it.
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
