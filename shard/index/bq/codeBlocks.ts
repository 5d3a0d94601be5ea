/** Memory of BQ codes: dimension / 8 + 8 bytes a row, in groups of 16 interleaved rows (`kernel/signCodes.ts`). */
import type { BlockShape } from '../../kernel/blockShape.js';
import { classBytes } from '../../kernel/buddyAllocator.js';
import { SignCodes, wholeGroups } from '../../kernel/signCodes.js';
import type { Region, VectorMemory } from '../../kernel/vectorMemory.js';

/** Largest number of vector blocks whose codes share a region. */
const TOGETHER_MAX = 16;

/** The codes of one block of vectors. */
interface CodeBlock {
  readonly region: Region;
  readonly codes: SignCodes;
}

/**
 * Codes by slot, in the memory of vectors, in blocks of as many rows as those of the vectors. The size of a region is a power
 * of two. So several blocks share a region, as many as leave the smallest share of it unused.
 */
export class CodeBlocks {
  readonly #blocksPerRegion: number;
  readonly #regions: (Region | undefined)[] = [];
  readonly #blocks: (CodeBlock | undefined)[] = [];

  /** `codeBytes`: bytes of a code, with its two f32. */
  constructor(
    private readonly memory: VectorMemory,
    private readonly shape: BlockShape,
    readonly codeBytes: number,
  ) {
    this.#blocksPerRegion = leastWasteful(wholeGroups(shape.rowsMax) * codeBytes);
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
    this.#blocks[index].codes.write(slot - this.shape.firstSlot(index), code);
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
    const region = this.#regions[shared]!;
    const address = region.address + this.#bytesOf(first, index);
    const rows = wholeGroups(this.shape.rows(index));
    return { region, codes: new SignCodes(region.arena.buffer, address, rows, this.codeBytes) };
  }

  /** Returns the bytes of the codes of a range of blocks. */
  #bytesOf(from: number, to: number): number {
    let rows = 0;
    for (let index = from; index < to; index++) rows += wholeGroups(this.shape.rows(index));
    return rows * this.codeBytes;
  }
}

/** Returns the smallest number of pieces of `sizeBytes` that wastes the least of a power of two. */
function leastWasteful(sizeBytes: number): number {
  const waste = (pieces: number): number => classBytes(pieces * sizeBytes) / (pieces * sizeBytes);
  let best = 1;
  for (let pieces = 2; pieces <= TOGETHER_MAX; pieces++) if (waste(pieces) < waste(best)) best = pieces;
  return best;
}
