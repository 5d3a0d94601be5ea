/**
 * The layout of a collection's rows in blocks. A block's size is a power of two, which the allocator gives without
 * waste. The first block has 8 rows or more, and each next is twice as large, up to a megabyte or 64 rows. Slots are
 * numbered through all blocks.
 *
 *   Vectors: rows × strideBytes | ids: rows × f64 | live bitmap: a u64 per 64 rows |
 *   code plane, if the block is worth one.
 *
 * Row r is bit r % 64 of word r / 64 of the bitmap.
 */
import { classBytes } from './buddyAllocator.js';
import { CODED_ROWS_MIN, codeBytesOf } from './codePlane.js';
import { CODED_ROWS, planeFixedBytes, planeRowBytes } from './planeMemory.js';

const FIRST_ROWS = 8;
const STEADY_BYTES = 1 << 20;
const STEADY_ROWS = 64;
const ID_BYTES = 8;
const WORD_BYTES = 8;
const WORD_ROWS = 64;

/** Components that the kernel reads at once; a row is padded with zeros to a multiple of it. */
const LANES = 4;
const COMPONENT_BYTES = 4;

/**
 * Measured on one thread (3 GHz, AVX-512), from 16 to 4,096 dimensions. Only ratios matter; they differ little by
 * machine.
 */
const ROW_NS = 1.5;
const ROW_BYTE_NS = 0.04;
const CODE_BYTE_NS = 0.055;

export const bitmapBytesOf = (rows: number): number => Math.ceil(rows / WORD_ROWS) * WORD_BYTES;

/**
 * The largest difference of components, M = max|row| + max|query|, for which the kernel's sums are exact in 64 bits:
 * M <= 2^31 − 1, and dimension × M² < 2^63. Beyond it the kernel takes its wide path.
 */
export const narrowReach = (dimension: number): number =>
  Math.min(Math.ceil(Math.sqrt(2 ** 63 / dimension)) - 1, 2 ** 31 - 1);

function rowsWithin(sizeBytes: number, rowBytes: number): number {
  let rows = Math.max(0, Math.floor(sizeBytes / rowBytes));
  while (rows > 0 && rows * rowBytes + bitmapBytesOf(rows) > sizeBytes) rows--;
  return rows;
}

export class BlockShape {
  /** Bytes from one row to the next. */
  readonly strideBytes: number;
  /** Bytes of the codes of a row; 0 if no block has codes. */
  readonly codeBytes: number;
  readonly #firstBytes: number;
  /** First slots of the blocks that are smaller than the last, and of the first block of full size. */
  readonly #growing: number[] = [0];
  readonly #steadyRows: number;

  constructor(readonly dimension: number) {
    this.strideBytes = Math.ceil(dimension / LANES) * LANES * COMPONENT_BYTES;
    this.codeBytes = codeBytesOf(dimension);
    this.#firstBytes = classBytes(FIRST_ROWS * (this.strideBytes + ID_BYTES) + bitmapBytesOf(FIRST_ROWS));
    const steadyBytes = Math.max(STEADY_BYTES, classBytes(STEADY_ROWS * (this.strideBytes + ID_BYTES)));
    let slots = 0;
    let sizeBytes = this.#firstBytes;
    for (; sizeBytes < steadyBytes; sizeBytes *= 2) {
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

  /** Whether block `index` has a code plane behind its bitmap. */
  hasPlane(index: number): boolean {
    return this.#codedRowsIn(this.blockBytes(index)) >= CODED_ROWS_MIN;
  }

  /** Time of an exact scan per row, in units of one exactly measured row. */
  get scannedRowCost(): number {
    if (this.codeBytes === 0) return 1;
    return (ROW_NS + this.codeBytes * CODE_BYTE_NS) / (ROW_NS + this.strideBytes * ROW_BYTE_NS);
  }

  /** Largest number of rows of a block. */
  get rowsMax(): number {
    return this.#steadyRows;
  }

  /** Bits in the bitmap of a block's rows. */
  bitmapBits(index: number): number {
    return 8 * bitmapBytesOf(this.rows(index));
  }

  firstSlot(index: number): number {
    const last = this.#growing.length - 1;
    return index <= last ? this.#growing[index]! : this.#growing[last]! + (index - last) * this.#steadyRows;
  }

  /** Returns the block that holds the slot. */
  blockOf(slot: number): number {
    let last = this.#growing.length - 1;
    const beyond = slot - this.#growing[last]!;
    if (beyond >= 0) return last + Math.floor(beyond / this.#steadyRows);
    while (this.#growing[last]! > slot) last--;
    return last;
  }

  #rowsIn(sizeBytes: number): number {
    const coded = this.#codedRowsIn(sizeBytes);
    return coded >= CODED_ROWS_MIN ? coded : rowsWithin(sizeBytes, this.strideBytes + ID_BYTES);
  }

  /** Rows in a block with a code plane. */
  #codedRowsIn(sizeBytes: number): number {
    if (this.codeBytes === 0) return 0;
    const rowBytes = this.strideBytes + ID_BYTES + planeRowBytes(this.codeBytes);
    const rows = rowsWithin(sizeBytes - planeFixedBytes(this.codeBytes), rowBytes);
    return rows - (rows % CODED_ROWS);
  }
}
