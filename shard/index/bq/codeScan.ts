/**
 * Scans BQ codes. In each block the kernel estimates the distances of all rows, 16 at a time, and returns the rows below a
 * limit. The limit falls from block to block. Codes are read at about 7 GB/s.
 */
import { type BlockShape, bitmapBytesOf } from '../../kernel/blockShape.js';
import { ESTIMATE_BYTES, ESTIMATE_SPARE_BYTES, KEEPING_BYTES } from '../../kernel/kernel.js';
import { aligned, MovingScratch } from '../../kernel/movingScratch.js';
import { RowChoice } from '../../kernel/rowChoice.js';
import { signCodeBytes, signQueryBytes, wholeGroups, writeSignQuery } from '../../kernel/signCodes.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import { allocateScratch, freeScratch, type ScratchArena, type ScratchRegion } from '../../kernel/vectorMemory.js';
import type { CodeBlocks } from './codeBlocks.js';
import type { CodedBlock } from './codeTable.js';

/** Bytes of codes compared between two pauses: up to 1 ms. */
export const SLICE_BYTES = 6 << 20;
/** Cost of a row besides its code, in bytes of codes that are compared in that time. */
const ROW_BYTES = 12;
/** Cost of a row below the limit, in the same unit. */
const TAKEN_BYTES = 100;
const WORD_BYTES = Uint32Array.BYTES_PER_ELEMENT;
const ESTIMATE_WORDS = ESTIMATE_BYTES / WORD_BYTES;

/** The rows whose codes have the least estimates, in the blocks that `compare` is given. Always call `free`. */
export class CodeQuery {
  readonly #nearest: NearestRows;
  /** Undefined before the first block is compared. */
  #scratch: CodeScratch | undefined;

  /** `query`: rotated like the codes. `keptIn`: memory for the rows found; by default that of the codes. */
  constructor(
    private readonly query: Float32Array,
    wanted: number,
    private readonly shape: BlockShape,
    private readonly keptIn?: ScratchArena,
  ) {
    this.#nearest = new NearestRows(wanted, shape.rowsMax);
  }

  /** Estimates the rows of a block. Returns the cost, in bytes of codes. Call it in the order of the blocks. */
  compare(block: CodedBlock): number {
    const { arena, chosen, chosenAt } = block;
    const scratch = this.#scratchIn(arena);
    const found = scratch.estimate(block, chosenAt ?? scratch.stage(chosen), this.#nearest.limit);
    this.#nearest.add(this.keptIn ?? arena, found);
    const codeBytes = signCodeBytes(this.shape.dimension);
    return block.rows * (codeBytes + ROW_BYTES) + (found.length / ESTIMATE_WORDS) * TAKEN_BYTES;
  }

  /** Returns the slots found, ascending. */
  slots(): Uint32Array {
    return this.#nearest.slots();
  }

  free(): void {
    this.#scratch?.free();
    this.#scratch = undefined;
    this.#nearest.free();
  }

  #scratchIn(arena: ScratchArena): CodeScratch {
    this.#scratch?.moveTo(arena);
    this.#scratch ??= new CodeScratch(arena, this.query, this.shape);
    return this.#scratch;
  }
}

/** Rows with codes. */
export interface CodedRows {
  readonly vectors: VectorBlocks;
  readonly covered: SlotSet;
  /** The codes of all covered rows. */
  readonly codes: CodeBlocks;
}

/**
 * A search for the rows whose codes have the least estimates, block by block, among the rows covered at its first step.
 * Always call `close`.
 */
export class CodeScan {
  readonly #choice: RowChoice;
  readonly #query: CodeQuery;
  #next = 0;

  /** `query`: rotated by the coder of the codes. `wanted`: number of rows to find. */
  constructor(
    private readonly rows: CodedRows,
    query: Float32Array,
    wanted: number,
    eligible: SlotSet | undefined,
  ) {
    const { vectors, covered } = rows;
    this.#choice = new RowChoice(vectors, { within: covered, eligible });
    this.#query = new CodeQuery(query, Math.min(wanted, this.#choice.most), vectors.shape);
  }

  /** Compares about `budgetBytes` of codes, at least one block. Returns true when no block is left. */
  step(budgetBytes = SLICE_BYTES): boolean {
    let spentBytes = 0;
    while (this.#hasNext()) {
      if (spentBytes >= budgetBytes) {
        this.#choice.freeze();
        return false;
      }
      spentBytes += this.#query.compare(this.#block(this.#next++));
    }
    return true;
  }

  /** Returns the slots found, ascending, once `step` has returned true. */
  slots(): Uint32Array {
    return this.#query.slots();
  }

  close(): void {
    this.#query.free();
    this.#choice.close();
  }

  #hasNext(): boolean {
    const end = this.#choice.endBlock;
    while (this.#next < end && this.#choice.isEmpty(this.#next)) this.#next++;
    return this.#next < end;
  }

  #block(index: number): CodedBlock {
    const { arena, codes } = this.rows.codes.at(index);
    const { rows, firstSlot, live, region, bitmapAddress } = this.rows.vectors.blocks[index]!;
    const chosen = this.#choice.rows(index);
    const chosenAt = chosen === live && region.arena === arena ? bitmapAddress : undefined;
    return { arena, codes: codes.address, rows, firstSlot, chosen, chosenAt };
  }
}

/** Returns the bytes of scratch that a query needs in an arena. */
export const codeScratchBytes = ({ dimension, rowsMax }: BlockShape): number =>
  aligned(signQueryBytes(dimension)) + roomBytesOf(rowsMax);

const foundBytesOf = (rowsMax: number): number => ESTIMATE_BYTES * wholeGroups(rowsMax) + ESTIMATE_SPARE_BYTES;
const roomBytesOf = (rowsMax: number): number => bitmapBytesOf(rowsMax) + foundBytesOf(rowsMax);

/** The scratch of a scan: the query, then a bitmap of rows, then the rows found in a block. */
class CodeScratch extends MovingScratch {
  readonly #bitmapBytes: number;
  #found: Uint32Array;

  constructor(arena: ScratchArena, query: Float32Array, { rowsMax, dimension }: BlockShape) {
    super(arena, signQueryBytes(dimension), roomBytesOf(rowsMax));
    this.#bitmapBytes = bitmapBytesOf(rowsMax);
    this.#found = new Uint32Array(arena.buffer, this.#foundAddress, foundBytesOf(rowsMax) / WORD_BYTES);
    writeSignQuery(arena.buffer, this.address, query);
    arena.kernel.enterSigns(this.address, 0, 0);
  }

  override moveTo(arena: ScratchArena): void {
    super.moveTo(arena);
    this.#found = new Uint32Array(arena.buffer, this.#foundAddress, this.#found.length);
  }

  /** Returns the rows of a block whose estimate is below `limit`, and those with the code of the query. */
  estimate({ codes, rows, firstSlot }: CodedBlock, bitmap: number, limit: number): Uint32Array {
    const { kernel } = this.region.arena;
    const count = kernel.estimateRows(this.address, codes, rows, firstSlot, bitmap, limit, this.#foundAddress);
    return this.#found.subarray(0, count * ESTIMATE_WORDS);
  }

  get #foundAddress(): number {
    return this.roomAddress + this.#bitmapBytes;
  }
}

/**
 * The `wanted` rows with the least estimates, in the order of their slots; among equal estimates the first rows. All rows
 * with the code of the query are kept too.
 */
class NearestRows {
  /** Upper bound of the estimates of rows that are still wanted. */
  limit = Number.POSITIVE_INFINITY;
  /** Work area of the kernel's `keepLeast`, then the rows; undefined before the first row. */
  #region: ScratchRegion | undefined;
  #rows: Uint32Array = new Uint32Array(0);
  #count = 0;
  /** Number of rows above which the farthest are dropped. */
  #countMax: number;

  constructor(
    private readonly wanted: number,
    private readonly rowsMax: number,
  ) {
    this.#countMax = 2 * wanted;
  }

  /** Adds the rows found in a block. Their slots must be above those of earlier blocks. */
  add(arena: ScratchArena, found: Uint32Array): void {
    this.#makeRoom(arena);
    this.#rows.set(found, this.#count * ESTIMATE_WORDS);
    this.#count += found.length / ESTIMATE_WORDS;
    if (this.#count > this.#countMax) this.#dropFar();
  }

  slots(): Uint32Array {
    if (this.#count > this.wanted) this.#dropFar();
    return Uint32Array.from({ length: this.#count }, (_, at) => this.#rows[at * ESTIMATE_WORDS]!);
  }

  free(): void {
    if (this.#region !== undefined) freeScratch(this.#region);
    this.#region = undefined;
  }

  #dropFar(): void {
    const { arena, address } = this.#region!;
    this.#count = arena.kernel.keepLeast(address + KEEPING_BYTES, this.#count, this.wanted, address);
    this.limit = new Float32Array(arena.buffer, address, 1)[0]!;
    this.#countMax = Math.max(this.#countMax, 2 * this.#count);
  }

  /** Makes room for the rows of one more block. */
  #makeRoom(arena: ScratchArena): void {
    const words = (this.#countMax + this.rowsMax) * ESTIMATE_WORDS;
    if (words <= this.#rows.length) return;
    const region = allocateScratch(arena, KEEPING_BYTES + words * WORD_BYTES);
    const rows = new Uint32Array(region.arena.buffer, region.address + KEEPING_BYTES, words);
    rows.set(this.#rows.subarray(0, this.#count * ESTIMATE_WORDS));
    this.free();
    [this.#region, this.#rows] = [region, rows];
  }
}
