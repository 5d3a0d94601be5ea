/**
 * How the rows of a collection lie in blocks. A block is a power of two of bytes, which the allocator gives without
 * waste, filled with as many rows as go in; the first holds 8 rows or more, each next is twice as large, up to a
 * megabyte. Slots are numbered through all blocks.
 *
 *   vectors: rows × strideBytes | ids: rows × f64 | live bitmap: a u64 for every 64 rows, bit r % 64 of word r / 64
 */
import { classBytes } from './buddyAllocator.js';

const FIRST_ROWS = 8;
const STEADY_BYTES = 1 << 20;
const ID_BYTES = 8;
const WORD_BYTES = 8;
const WORD_ROWS = 64;

/** Components that the kernel reads at once; the rest of the last four is zero. */
const LANES = 4;
const COMPONENT_BYTES = 4;

export const bitmapBytesOf = (rows: number): number => Math.ceil(rows / WORD_ROWS) * WORD_BYTES;

export class BlockShape {
  /** Bytes from a row to the next. */
  readonly strideBytes: number;
  readonly #firstBytes: number;
  /** First slots of the blocks that still grow, and of the first one of full size. */
  readonly #growing: number[] = [0];
  readonly #steadyRows: number;

  constructor(readonly dimension: number) {
    this.strideBytes = Math.ceil(dimension / LANES) * LANES * COMPONENT_BYTES;
    this.#firstBytes = classBytes(FIRST_ROWS * (this.strideBytes + ID_BYTES) + bitmapBytesOf(FIRST_ROWS));
    let slots = 0;
    let sizeBytes = this.#firstBytes;
    for (; sizeBytes < STEADY_BYTES; sizeBytes *= 2) {
      slots += this.#rowsIn(sizeBytes);
      this.#growing.push(slots);
    }
    this.#steadyRows = this.#rowsIn(sizeBytes);
  }

  /** Bytes of block `index`. */
  blockBytes(index: number): number {
    return this.#firstBytes * 2 ** Math.min(index, this.#growing.length - 1);
  }

  rows(index: number): number {
    return this.firstSlot(index + 1) - this.firstSlot(index);
  }

  /** The most rows of a block. */
  get rowsMax(): number {
    return this.#steadyRows;
  }

  firstSlot(index: number): number {
    const last = this.#growing.length - 1;
    return index <= last ? this.#growing[index]! : this.#growing[last]! + (index - last) * this.#steadyRows;
  }

  /** The block that holds the slot. */
  blockOf(slot: number): number {
    let last = this.#growing.length - 1;
    const beyond = slot - this.#growing[last]!;
    if (beyond >= 0) return last + Math.floor(beyond / this.#steadyRows);
    while (this.#growing[last]! > slot) last--;
    return last;
  }

  #rowsIn(sizeBytes: number): number {
    const rowBytes = this.strideBytes + ID_BYTES;
    let rows = Math.floor(sizeBytes / rowBytes);
    while (rows * rowBytes + bitmapBytesOf(rows) > sizeBytes) rows--;
    return rows;
  }
}
