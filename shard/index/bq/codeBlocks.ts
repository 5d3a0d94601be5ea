/** Memory of BQ codes: dimension / 8 + 8 bytes a row, in groups of 16 interleaved rows (`kernel/signCodes.ts`). */
import type { Arena } from '../../kernel/arena.js';
import { BitSet } from '../../kernel/bitSet.js';
import { type BlockShape, bitmapBytesOf } from '../../kernel/blockShape.js';
import { classBytes } from '../../kernel/buddyAllocator.js';
import { SignCodes, wholeGroups } from '../../kernel/signCodes.js';
import type { BlockMemory, Region } from '../../kernel/vectorMemory.js';
import { type CodesPlace, codesPlaceOf } from './codeTable.js';

/** Largest number of vector blocks whose codes share a region. */
const TOGETHER_MAX = 16;

/** Alignment of the codes of a block. */
const ALIGNMENT_BYTES = 16;

/** The codes of one block of vectors, then a bitmap of the rows that have one. */
export interface CodeBlock {
  readonly arena: Arena;
  readonly codes: SignCodes;
  readonly bitmapAddress: number;
  readonly coded: BitSet;
}

/**
 * Codes by slot, in the memory of vectors, in blocks of as many rows as those of the vectors. The size of a region is a power
 * of two. So several blocks share a region, as many as leave the smallest share of it unused.
 */
export class CodeBlocks {
  readonly #blocksPerRegion: number;
  readonly #regions: (Region | undefined)[] = [];
  readonly #blocks: (CodeBlock | undefined)[] = [];
  /** Undefined if a block was added. */
  #place: CodesPlace | undefined;

  /** `codeBytes`: bytes of a code, with its two f32. */
  constructor(
    private readonly memory: BlockMemory,
    private readonly shape: BlockShape,
    readonly codeBytes: number,
  ) {
    this.#blocksPerRegion = leastWasteful(blockBytes(shape.rowsMax, codeBytes));
  }

  /** Where the codes are, for any thread. */
  get place(): CodesPlace {
    this.#place ??= codesPlaceOf(this.#blocks);
    return this.#place;
  }

  get bytes(): number {
    return this.#regions.reduce((sum, region) => sum + (region?.sizeBytes ?? 0), 0);
  }

  /** Returns the codes of block `index`, which has been written to. */
  at(index: number): CodeBlock {
    return this.#blocks[index]!;
  }

  /** Writes the code of a slot. Throws `capacity_exceeded`. */
  write(slot: number, code: Uint8Array): void {
    const index = this.shape.blockOf(slot);
    this.#blocks[index] ??= this.#open(index);
    const { codes, coded } = this.#blocks[index];
    const row = slot - this.shape.firstSlot(index);
    codes.write(row, code);
    coded.add(row);
  }

  /** Removes a slot from the rows that threads compare, and overwrites its code. */
  remove(slot: number): void {
    const index = this.shape.blockOf(slot);
    const row = slot - this.shape.firstSlot(index);
    this.#blocks[index]?.coded.delete(row);
    this.#blocks[index]?.codes.erase(row);
  }

  /** Copies the code of a slot to `into`. It must have been written. */
  read(slot: number, into: Uint8Array): void {
    const index = this.shape.blockOf(slot);
    this.at(index).codes.read(slot - this.shape.firstSlot(index), into);
  }

  /** Frees all memory. */
  free(): void {
    this.#blocks.length = 0;
    for (const region of this.#regions.splice(0)) if (region !== undefined) this.memory.freeBlock(region);
  }

  #open(index: number): CodeBlock {
    const shared = Math.floor(index / this.#blocksPerRegion);
    const first = shared * this.#blocksPerRegion;
    this.#regions[shared] ??= this.memory.allocateBlock(this.#bytesOf(first, first + this.#blocksPerRegion));
    const { arena, address } = this.#regions[shared]!;
    const at = address + this.#bytesOf(first, index);
    const rows = this.shape.rows(index);
    const bitmapAddress = at + wholeGroups(rows) * this.codeBytes;
    const words = new Uint32Array(arena.buffer, bitmapAddress, bitmapBytesOf(rows) / Uint32Array.BYTES_PER_ELEMENT);
    this.#place = undefined;
    return {
      arena,
      codes: new SignCodes(arena.buffer, at, wholeGroups(rows), this.codeBytes),
      bitmapAddress,
      coded: new BitSet(words.fill(0)),
    };
  }

  /** Returns the bytes of the codes of a range of blocks. */
  #bytesOf(from: number, to: number): number {
    let bytes = 0;
    for (let index = from; index < to; index++) bytes += blockBytes(this.shape.rows(index), this.codeBytes);
    return bytes;
  }
}

/** Returns the bytes of codes and bitmap of a block. */
const blockBytes = (rows: number, codeBytes: number): number =>
  ALIGNMENT_BYTES * Math.ceil((wholeGroups(rows) * codeBytes + bitmapBytesOf(rows)) / ALIGNMENT_BYTES);

/** Returns the smallest number of pieces of `sizeBytes` that wastes the least of a power of two. */
function leastWasteful(sizeBytes: number): number {
  const waste = (pieces: number): number => classBytes(pieces * sizeBytes) / (pieces * sizeBytes);
  let best = 1;
  for (let pieces = 2; pieces <= TOGETHER_MAX; pieces++) if (waste(pieces) < waste(best)) best = pieces;
  return best;
}
