import type { Arena } from '../../kernel/arena.js';
import { type BlockShape, bitmapBytesOf } from '../../kernel/blockShape.js';
import { MovingScratch } from '../../kernel/movingScratch.js';
import { RowChoice } from '../../kernel/rowChoice.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import type { CodedQuery } from './code.js';
import { type CodeBlocks, wholeGroups } from './codeBlocks.js';

/** Bytes of codes compared between two pauses: up to 2 ms. */
const SLICE_BYTES = 12 << 20;
/** The cost of a row besides its code, and of one that is taken, in bytes of codes. */
const ROW_BYTES = 12;
const TAKEN_BYTES = 300;
/** Row and estimate. */
const FOUND_WORDS = 2;
/** Room behind the rows found, for the kernel alone. */
const STAGED_WORDS = 16;

/**
 * A search for the rows that are nearest by the estimates of their codes, block by block, of the rows covered at its first step.
 * `close` must be called in any case.
 */
export class CodeScan {
  readonly #choice: RowChoice;
  readonly #nearest: NearestRows;
  /** Undefined before the first block is compared. */
  #scratch: CodeScratch | undefined;
  #next = 0;

  /** `codes` hold the codes of all covered rows. */
  constructor(
    private readonly vectors: VectorBlocks,
    private readonly codes: CodeBlocks,
    private readonly query: CodedQuery,
    wanted: number,
    among: { readonly covered: SlotSet; readonly eligible: SlotSet | undefined },
  ) {
    this.#choice = new RowChoice(vectors, { within: among.covered, eligible: among.eligible });
    this.#nearest = new NearestRows(Math.min(wanted, this.#choice.most), vectors.shape.rowsMax);
  }

  /** Compares about `budgetBytes` of codes, at least one block; true when nothing is left to compare. */
  step(budgetBytes = SLICE_BYTES): boolean {
    let spentBytes = 0;
    while (this.#hasNext()) {
      if (spentBytes >= budgetBytes) {
        this.#choice.freeze();
        return false;
      }
      spentBytes += this.#scanBlock(this.#next++);
    }
    return true;
  }

  /** Returns the slots found, ascending, once `step` has returned true. */
  slots(): Uint32Array {
    return this.#nearest.slots();
  }

  close(): void {
    this.#scratch?.free();
    this.#scratch = undefined;
    this.#choice.close();
  }

  #hasNext(): boolean {
    const end = this.#choice.endBlock;
    while (this.#next < end && this.#choice.isEmpty(this.#next)) this.#next++;
    return this.#next < end;
  }

  /** Returns the cost, in bytes. */
  #scanBlock(index: number): number {
    const { region, address } = this.codes.at(index);
    const block = this.vectors.blocks[index]!;
    const scratch = this.#scratchIn(region.arena);
    const rows = this.#choice.rows(index);
    const bitmap =
      rows === block.live && block.region.arena === region.arena ? block.bitmapAddress : scratch.stage(rows);
    const taken = scratch.estimate(address, block.rows, bitmap, this.#nearest.limit);
    this.#nearest.add(block.firstSlot, scratch, taken);
    return block.rows * (this.codes.codeBytes + ROW_BYTES) + taken * TAKEN_BYTES;
  }

  #scratchIn(arena: Arena): CodeScratch {
    this.#scratch?.moveTo(arena);
    this.#scratch ??= new CodeScratch(arena, this.query, this.vectors.shape);
    return this.#scratch;
  }
}

/** The scratch of a scan: the query, and behind it a bitmap and the rows found in a block. */
class CodeScratch extends MovingScratch {
  /** What the last block has, two words each: the row, and its estimate. */
  rows: Uint32Array = new Uint32Array();
  estimates: Float32Array = new Float32Array();
  readonly #bitmapBytes: number;
  readonly #foundWords: number;

  constructor(arena: Arena, query: CodedQuery, { rowsMax }: BlockShape) {
    const bitmapBytes = bitmapBytesOf(rowsMax);
    const foundWords = FOUND_WORDS * wholeGroups(rowsMax) + STAGED_WORDS;
    super(arena, query.byteLength, bitmapBytes + foundWords * Uint32Array.BYTES_PER_ELEMENT);
    this.#bitmapBytes = bitmapBytes;
    this.#foundWords = foundWords;
    new Uint32Array(arena.buffer, this.address, query.length).set(query);
    this.#look();
  }

  override moveTo(arena: Arena): void {
    super.moveTo(arena);
    this.#look();
  }

  /** Returns how many rows of a block are estimated to be nearer than `limit`, or have the query's own code. */
  estimate(codes: number, rows: number, bitmap: number, limit: number): number {
    const { kernel } = this.region.arena;
    return kernel.estimateRows(this.address, codes, rows, bitmap, limit, this.#foundAddress);
  }

  get #foundAddress(): number {
    return this.roomAddress + this.#bitmapBytes;
  }

  #look(): void {
    const { buffer } = this.region.arena;
    if (this.rows.buffer === buffer && this.rows.byteOffset === this.#foundAddress) return;
    this.rows = new Uint32Array(buffer, this.#foundAddress, this.#foundWords);
    this.estimates = new Float32Array(buffer, this.#foundAddress, this.#foundWords);
  }
}

/**
 * The `wanted` rows of the least estimates, the first ones where those are alike, and all that have the query's own signs, in
 * the order of their slots.
 */
class NearestRows {
  /** A row that is not nearer than this is not among them. */
  limit = Number.POSITIVE_INFINITY;
  #slots: Uint32Array;
  #estimates: Float32Array;
  #count = 0;
  /** More are gone through, and the far ones dropped. */
  #most: number;

  constructor(
    private readonly wanted: number,
    private readonly rowsMax: number,
  ) {
    this.#most = 2 * wanted;
    this.#slots = new Uint32Array(this.#most + rowsMax);
    this.#estimates = new Float32Array(this.#most + rowsMax);
  }

  /** Adds the first `taken` rows of what was found in a block, whose slots are above all others. */
  add(firstSlot: number, { rows, estimates }: Pick<CodeScratch, 'rows' | 'estimates'>, taken: number): void {
    const [slots, kept] = [this.#slots, this.#estimates];
    let count = this.#count;
    for (let i = 0; i < FOUND_WORDS * taken; i += FOUND_WORDS) {
      slots[count] = firstSlot + rows[i]!;
      kept[count++] = estimates[i + 1]!;
    }
    this.#count = count;
    if (count > this.#most) this.#dropFar();
  }

  slots(): Uint32Array {
    if (this.#count > this.wanted) this.#dropFar();
    return this.#slots.slice(0, this.#count);
  }

  #dropFar(): void {
    const [slots, estimates] = [this.#slots, this.#estimates];
    const last =
      this.wanted === 0 ? Number.NEGATIVE_INFINITY : leastAt(this.wanted - 1, estimates.slice(0, this.#count));
    // Those with the query's own signs are nearer than any limit.
    this.limit = Math.max(last, NEAREST_LIMIT);
    let nearer = 0;
    for (let i = 0; i < this.#count; i++) if (estimates[i]! < last) nearer++;
    let alike = last === Number.NEGATIVE_INFINITY ? this.#count : this.wanted - nearer;
    let kept = 0;
    for (let i = 0; i < this.#count; i++) {
      const estimate = estimates[i]!;
      if (estimate > last || (estimate === last && alike-- <= 0)) continue;
      slots[kept] = slots[i]!;
      estimates[kept++] = estimate;
    }
    this.#count = kept;
    if (kept + this.rowsMax > slots.length) this.#grow();
  }

  #grow(): void {
    this.#most = 2 * this.#count;
    const slots = new Uint32Array(this.#most + this.rowsMax);
    const estimates = new Float32Array(this.#most + this.rowsMax);
    slots.set(this.#slots.subarray(0, this.#count));
    estimates.set(this.#estimates.subarray(0, this.#count));
    [this.#slots, this.#estimates] = [slots, estimates];
  }
}

/** The least finite f32. */
const NEAREST_LIMIT = -(2 - 2 ** -23) * 2 ** 127;

/** The value at place `rank` if they were sorted (Hoare's FIND); moves them. */
function leastAt(rank: number, values: Float32Array): number {
  let from = 0;
  let to = values.length - 1;
  while (from < to) {
    const pivot = values[(from + to) >> 1]!;
    let i = from;
    let j = to;
    while (i <= j) {
      while (values[i]! < pivot) i++;
      while (values[j]! > pivot) j--;
      if (i > j) break;
      const value = values[i]!;
      values[i++] = values[j]!;
      values[j--] = value;
    }
    if (rank <= j) to = j;
    else if (rank >= i) from = i;
    else break;
  }
  return values[rank]!;
}
