import type { BlockShape } from '../../kernel/blockShape.js';
import { classBytes } from '../../kernel/buddyAllocator.js';
import type { Region, VectorMemory } from '../../kernel/vectorMemory.js';
import { WORD_BYTES } from './code.js';

/** The most vector blocks whose codes share a region. */
const TOGETHER_MAX = 16;

/** Rows whose codes lie together, byte by byte, as the kernel compares them. */
const GROUP_ROWS = 16;
const NUMBER_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** The codes of one block of vectors: see the kernel's `bitCodes`. */
export interface CodeBlock {
  readonly region: Region;
  readonly address: number;
  readonly bytes: Uint8Array;
}

/**
 * Codes by slot, in vector memory, block by block as the vectors. A region is a power of two of bytes, so several blocks
 * share one: as many as leave the least of it unused.
 */
export class CodeBlocks {
  readonly #signBytes: number;
  readonly #together: number;
  readonly #regions: (Region | undefined)[] = [];
  readonly #blocks: (CodeBlock | undefined)[] = [];

  /** `codeBytes`: of a code with its two numbers. */
  constructor(
    private readonly memory: VectorMemory,
    private readonly shape: BlockShape,
    readonly codeBytes: number,
  ) {
    this.#signBytes = codeBytes - 2 * NUMBER_BYTES;
    this.#together = leastWasteful(wholeGroups(shape.rowsMax) * codeBytes);
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
    const row = slot - this.shape.firstSlot(index);
    const from = new Uint8Array(codes.buffer, codes.byteOffset + at * WORD_BYTES, this.codeBytes);
    const to = this.#blocks[index].bytes;
    for (let i = 0; i < this.codeBytes; i++) to[this.#placeOf(row, i)] = from[i]!;
  }

  /** Copies the code of the slot, which has been written, to word `at` of `into`. */
  read(slot: number, into: Uint32Array, at: number): void {
    const index = this.shape.blockOf(slot);
    const row = slot - this.shape.firstSlot(index);
    const to = new Uint8Array(into.buffer, into.byteOffset + at * WORD_BYTES, this.codeBytes);
    const from = this.at(index).bytes;
    for (let i = 0; i < this.codeBytes; i++) to[i] = from[this.#placeOf(row, i)]!;
  }

  /** Frees all memory. */
  free(): void {
    this.#blocks.length = 0;
    for (const region of this.#regions.splice(0)) if (region !== undefined) this.memory.freeBlock(region);
  }

  /** Where byte `i` of the code of a row lies in its block. */
  #placeOf(row: number, i: number): number {
    const lane = row % GROUP_ROWS;
    const group = (row - lane) * this.codeBytes;
    if (i < this.#signBytes) return group + i * GROUP_ROWS + lane;
    const inNumbers = i - this.#signBytes;
    const inNumber = inNumbers % NUMBER_BYTES;
    return group + this.#signBytes * GROUP_ROWS + (inNumbers - inNumber) * GROUP_ROWS + lane * NUMBER_BYTES + inNumber;
  }

  #open(index: number): CodeBlock {
    const shared = Math.floor(index / this.#together);
    const first = shared * this.#together;
    this.#regions[shared] ??= this.memory.allocateBlock(this.#bytesOf(first, first + this.#together));
    const region = this.#regions[shared]!;
    const address = region.address + this.#bytesOf(first, index);
    return { region, address, bytes: new Uint8Array(region.arena.buffer, address, this.#bytesOf(index, index + 1)) };
  }

  /** Of the codes of the blocks from one to another. */
  #bytesOf(from: number, to: number): number {
    let rows = 0;
    for (let index = from; index < to; index++) rows += wholeGroups(this.shape.rows(index));
    return rows * this.codeBytes;
  }
}

/** As many rows, filled up to whole groups. */
export const wholeGroups = (rows: number): number => Math.ceil(rows / GROUP_ROWS) * GROUP_ROWS;

/** Returns how many pieces of `sizeBytes` fill a power of two best; the smallest such number. */
function leastWasteful(sizeBytes: number): number {
  const waste = (pieces: number): number => classBytes(pieces * sizeBytes) / (pieces * sizeBytes);
  let best = 1;
  for (let pieces = 2; pieces <= TOGETHER_MAX; pieces++) if (waste(pieces) < waste(best)) best = pieces;
  return best;
}
