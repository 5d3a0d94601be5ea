import type { BlockShape } from '../../kernel/blockShape.js';
import { classBytes } from '../../kernel/buddyAllocator.js';
import type { Region, VectorMemory } from '../../kernel/vectorMemory.js';
import { WORD_BYTES } from './code.js';

/** The most vector blocks whose codes share a region. */
const GROUP_MAX = 16;

/** The codes of one block of vectors, row by row. */
export interface CodeBlock {
  readonly region: Region;
  readonly address: number;
  readonly words: Uint32Array;
}

/**
 * Codes by slot, in vector memory, block by block as the vectors. A region is a power of two of bytes, so several blocks
 * share one: as many as leave the least of it unused.
 */
export class CodeBlocks {
  readonly #codeWords: number;
  readonly #group: number;
  readonly #regions: (Region | undefined)[] = [];
  readonly #blocks: (CodeBlock | undefined)[] = [];

  constructor(
    private readonly memory: VectorMemory,
    private readonly shape: BlockShape,
    private readonly codeBytes: number,
  ) {
    this.#codeWords = codeBytes / WORD_BYTES;
    this.#group = leastWastefulGroup(shape.rowsMax * codeBytes);
  }

  get bytes(): number {
    return this.#regions.reduce((sum, region) => sum + (region?.sizeBytes ?? 0), 0);
  }

  /** Returns the codes of block `index`, which has been written to. */
  at(index: number): CodeBlock {
    return this.#blocks[index]!;
  }

  /** Writes the code that begins at word `at` of `codes`. Throws `capacity_exceeded`. */
  write(slot: number, codes: Uint32Array, at = 0): void {
    const index = this.shape.blockOf(slot);
    this.#blocks[index] ??= this.#open(index);
    const { words } = this.#blocks[index]!;
    const to = (slot - this.shape.firstSlot(index)) * this.#codeWords;
    for (let i = 0; i < this.#codeWords; i++) words[to + i] = codes[at + i]!;
  }

  /** Copies the code of the slot, which has been written, to word `at` of `into`. */
  read(slot: number, into: Uint32Array, at: number): void {
    const index = this.shape.blockOf(slot);
    const { words } = this.#blocks[index]!;
    const from = (slot - this.shape.firstSlot(index)) * this.#codeWords;
    for (let i = 0; i < this.#codeWords; i++) into[at + i] = words[from + i]!;
  }

  /** Frees all memory. */
  free(): void {
    this.#blocks.length = 0;
    for (const region of this.#regions.splice(0)) if (region !== undefined) this.memory.freeBlock(region);
  }

  #open(index: number): CodeBlock {
    const group = Math.floor(index / this.#group);
    const first = this.shape.firstSlot(group * this.#group);
    const end = this.shape.firstSlot((group + 1) * this.#group);
    this.#regions[group] ??= this.memory.allocateBlock((end - first) * this.codeBytes);
    const region = this.#regions[group]!;
    const address = region.address + (this.shape.firstSlot(index) - first) * this.codeBytes;
    const length = this.shape.rows(index) * this.#codeWords;
    return { region, address, words: new Uint32Array(region.arena.buffer, address, length) };
  }
}

/** Returns how many pieces of `sizeBytes` fill a power of two best; the smallest such number. */
function leastWastefulGroup(sizeBytes: number): number {
  const waste = (pieces: number): number => classBytes(pieces * sizeBytes) / (pieces * sizeBytes);
  let best = 1;
  for (let pieces = 2; pieces <= GROUP_MAX; pieces++) if (waste(pieces) < waste(best)) best = pieces;
  return best;
}
