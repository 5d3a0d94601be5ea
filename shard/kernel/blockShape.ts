/**
 * The layout of a collection's rows in blocks. A block has two regions, whose sizes are powers of two, which the
 * allocator gives without waste. The first block has 8 rows, and each next is twice as large, up to a megabyte of rows
 * or 64 of them. Slots are numbered through all blocks.
 *
 *   Rows: rows × strideBytes, or their residuals (`rowForm.ts`).
 *   Side: ids: rows × f64 | live bitmap: a u64 per 64 rows | code plane, if the block is worth one.
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
/** Time to reach a row that was selected among many others: the processor cannot predict it. */
const SELECTED_NS = 35;
/** Times of a list of rows: to begin a block, to reach a row, and to read a byte of it from memory. */
const LISTED_BLOCK_NS = 350;
const LISTED_NS = 70;
const LISTED_BYTE_NS = 0.1;
/**
 * The times of a list are for rows scattered over this many bytes. Over more bytes, caches help less: each doubling adds this part of
 * the time, up to the largest factor. Measured factors are 1.2 to 1.9 for 128 MB, and 1.8 to 2.3 for 768 MB.
 */
const NEAR_BYTES = 64 << 20;
const FAR_PER_DOUBLING = 0.5;
const FAR_MAX = 2.2;

/** Returns the address of the bitmap of a block's live rows. */
export const bitmapAfter = (idsAddress: number, rows: number): number => idsAddress + rows * ID_BYTES;

export const bitmapBytesOf = (rows: number): number => Math.ceil(rows / WORD_ROWS) * WORD_BYTES;

/**
 * The largest difference of components, M = max|row| + max|query|, for which the kernel's sums are exact in 64 bits:
 * M <= 2^31 − 1, and dimension × M² < 2^63. Beyond it the kernel takes its wide path.
 */
export const narrowReach = (dimension: number): number =>
  Math.min(Math.ceil(Math.sqrt(2 ** 63 / dimension)) - 1, 2 ** 31 - 1);

/** The sizes of a block. */
interface Sizes {
  readonly firstSlot: number;
  readonly rows: number;
  readonly rowsBytes: number;
  readonly sideBytes: number;
}

export class BlockShape {
  /** Bytes from one row to the next. */
  readonly strideBytes: number;
  /** Bytes of the codes of a row; 0 if no block has codes. */
  readonly codeBytes: number;
  /** The blocks that are smaller than the last, and the first block of full size. */
  readonly #growing: Sizes[] = [];

  constructor(readonly dimension: number) {
    this.strideBytes = Math.ceil(dimension / LANES) * LANES * COMPONENT_BYTES;
    this.codeBytes = codeBytesOf(dimension);
    const steadyBytes = Math.max(STEADY_BYTES, classBytes(STEADY_ROWS * this.strideBytes));
    let firstSlot = 0;
    for (let rowsBytes = classBytes(FIRST_ROWS * this.strideBytes); rowsBytes <= steadyBytes; rowsBytes *= 2) {
      const sizes = { ...this.#sizesFor(rowsBytes), firstSlot };
      this.#growing.push(sizes);
      firstSlot += sizes.rows;
    }
  }

  /** Bytes of the plain rows of block `index`. */
  rowsBytes(index: number): number {
    return this.#sizes(index).rowsBytes;
  }

  /** Bytes of all else in block `index`. */
  sideBytes(index: number): number {
    return this.#sizes(index).sideBytes;
  }

  rows(index: number): number {
    return this.#sizes(index).rows;
  }

  /** Whether block `index` has a code plane. */
  hasPlane(index: number): boolean {
    return this.#isCoded(this.rows(index));
  }

  /** Time of an exact scan per row, in units of one exactly measured row. */
  get scannedRowCost(): number {
    if (this.codeBytes === 0) return 1;
    return this.#scannedRowNs / (ROW_NS + this.strideBytes * ROW_BYTE_NS);
  }

  /** Time for each of a few selected rows in an exact scan, in units of a row of a scan of all rows. */
  get selectedRowCost(): number {
    return 1 + SELECTED_NS / this.#scannedRowNs;
  }

  /** Time of an exact scan of listed rows in `blocks` blocks, outside the processor's caches. */
  listedNs(rows: number, blocks: number): number {
    return blocks * LISTED_BLOCK_NS + rows * (LISTED_NS + (this.codeBytes || this.strideBytes) * LISTED_BYTE_NS);
  }

  /** Time of `listedNs` for rows scattered over `among` rows, in units of a row of a scan of all rows. */
  listedCost(rows: number, blocks: number, among: number): number {
    const doublings = Math.log2((among * (this.codeBytes || this.strideBytes)) / NEAR_BYTES);
    const far = Math.min(1 + FAR_PER_DOUBLING * Math.max(doublings, 0), FAR_MAX);
    return (far * this.listedNs(rows, blocks)) / this.#scannedRowNs;
  }

  get #scannedRowNs(): number {
    return ROW_NS + (this.codeBytes === 0 ? this.strideBytes * ROW_BYTE_NS : this.codeBytes * CODE_BYTE_NS);
  }

  /** Largest number of rows of a block. */
  get rowsMax(): number {
    return this.#growing.reduce((most, { rows }) => Math.max(most, rows), 0);
  }

  /** Bits in the bitmap of a block's rows. */
  bitmapBits(index: number): number {
    return 8 * bitmapBytesOf(this.rows(index));
  }

  firstSlot(index: number): number {
    const last = this.#growing.length - 1;
    const { firstSlot, rows } = this.#sizes(index);
    return firstSlot + Math.max(0, index - last) * rows;
  }

  /** Returns the block that holds the slot. */
  blockOf(slot: number): number {
    let last = this.#growing.length - 1;
    const { firstSlot, rows } = this.#growing[last]!;
    if (slot >= firstSlot) return last + Math.floor((slot - firstSlot) / rows);
    while (last >= 0 && this.#growing[last]!.firstSlot > slot) last--;
    return last;
  }

  #sizes(index: number): Sizes {
    return this.#growing[Math.min(index, this.#growing.length - 1)]!;
  }

  #isCoded(rows: number): boolean {
    return this.codeBytes > 0 && rows >= CODED_ROWS_MIN;
  }

  /** Chooses the number of rows that takes the least memory per row, once they are split if they have codes. */
  #sizesFor(rowsBytes: number): Omit<Sizes, 'firstSlot'> {
    const most = this.#whole(Math.floor(rowsBytes / this.strideBytes));
    const sideBytes = classBytes(this.#sideBytesOf(most));
    const fewer = this.#rowsWithin(sideBytes / 2, most);
    const finalBytes = this.#isCoded(most) ? rowsBytes / 4 : rowsBytes;
    const isBetter = (finalBytes + sideBytes / 2) * most < (finalBytes + sideBytes) * fewer;
    if (isBetter && fewer >= FIRST_ROWS && this.#isCoded(fewer) === this.#isCoded(most))
      return { rows: fewer, rowsBytes, sideBytes: sideBytes / 2 };
    return { rows: most, rowsBytes, sideBytes };
  }

  #rowsWithin(sideBytes: number, most: number): number {
    const rowBytes = ID_BYTES + (this.#isCoded(most) ? planeRowBytes(this.codeBytes) : 0);
    let rows = this.#whole(Math.min(most, Math.floor(sideBytes / rowBytes)));
    while (rows > 0 && this.#sideBytesOf(rows) > sideBytes) rows = this.#whole(rows - 1);
    return rows;
  }

  #sideBytesOf(rows: number): number {
    const planeBytes = planeFixedBytes(this.codeBytes) + rows * planeRowBytes(this.codeBytes);
    return rows * ID_BYTES + bitmapBytesOf(rows) + (this.#isCoded(rows) ? planeBytes : 0);
  }

  /** Rounds down to rows that a code plane can have. */
  #whole(rows: number): number {
    return this.#isCoded(rows) ? rows - (rows % CODED_ROWS) : rows;
  }
}
