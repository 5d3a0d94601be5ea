import type { Region } from './vectorMemory.js';

/** Of a plane in the kernel: seven u32. */
const HEADER_BYTES = 32;
const WORD_BYTES = 4;
/** Components that the kernel multiplies at once; the codes of a row are padded with zeros to a multiple of it. */
const CODES = 16;
/** Rows that the kernel measures at once: a block with a plane has a multiple of it. */
export const CODED_ROWS = 4;

/** With fewer dimensions a row's codes, gain and residual cost more than they save. */
const DIMENSION_MIN = 16;
/** With fewer rows middles and steps cost more than the codes save. */
export const CODED_ROWS_MIN = 16;

/** Steps that do not fit every component take this much room beside the largest; see `assembly/plane.ts`. */
const STEP_ROOM = 256;

export const codeBytesOf = (dimension: number): number =>
  dimension < DIMENSION_MIN ? 0 : CODES * Math.ceil(dimension / CODES);

/** Bytes that the plane takes for each row, and besides. */
export const planeRowBytes = (codeBytes: number): number => codeBytes + 2 * WORD_BYTES;
export const planeFixedBytes = (codeBytes: number): number => HEADER_BYTES + 2 * WORD_BYTES * codeBytes;

/** How much greater the mean residual may be than with middles and steps that are chosen for the rows. */
const POOR = 1.25;

let lastVersion = 0;

/** The parts of a block that its plane works on. */
export interface CodedRows {
  readonly region: Pick<Region, 'arena'>;
  readonly rows: number;
  readonly strideBytes: number;
  readonly vectorsAddress: number;
  readonly idsAddress: number;
}

/**
 * The codes of a block's rows, in its memory; `assembly/plane.ts` says what they are. Middles and steps are those of the block
 * before, so that a query is prepared once for many blocks. They are chosen for the block itself, and all its codes made anew,
 * where there are none, and where the rows of a full block are farther from their codes than they would be then.
 *
 *   header | middles: i32 × codeBytes | steps | gains: f32 × rows | residuals | codes: rows × codeBytes
 */
export class CodePlane {
  readonly #header: Uint32Array;
  /** Middles and steps. */
  readonly #scale: Uint32Array;
  readonly #codes: Uint8Array;
  readonly #gains: Float32Array;
  readonly #residuals: Float32Array;
  #hasCodes = false;
  /** Rows written since they were chosen or found to fit, some more than once; and the number at which that is asked. */
  #written = 0;
  #reviewAt = CODED_ROWS_MIN;
  /** Rows from here on were never written. */
  #endRow = 0;
  #isOff = false;
  /** Scans of other threads that may read it. */
  #readers = 0;
  /** An upper bound of the components of the rows that middles and steps were chosen for. */
  #largest = 0;

  /** `reach`: the `narrowReach` of the dimension. */
  constructor(
    private readonly block: CodedRows,
    private readonly codeBytes: number,
    private readonly reach: number,
    private readonly at: number,
  ) {
    const { rows, region } = block;
    const { buffer } = region.arena;
    const scaleBytes = codeBytes * WORD_BYTES;
    const middles = at + HEADER_BYTES;
    const steps = middles + scaleBytes;
    const gains = steps + scaleBytes;
    const residuals = gains + rows * WORD_BYTES;
    const codes = residuals + rows * WORD_BYTES;
    this.#header = new Uint32Array(buffer, at, HEADER_BYTES / WORD_BYTES);
    this.#header.set([0, codeBytes, middles, steps, gains, residuals, codes]);
    this.#scale = new Uint32Array(buffer, middles, 2 * codeBytes);
    this.#gains = new Float32Array(buffer, gains, rows);
    this.#residuals = new Float32Array(buffer, residuals, rows);
    this.#codes = new Uint8Array(buffer, codes, rows * codeBytes);
  }

  /** For the kernel; 0 while the rows have no codes: there are few, or one of them had a component beyond the bound. */
  get address(): number {
    return this.#hasCodes && !this.#isOff ? this.at : 0;
  }

  /** No middle is greater. */
  get largest(): number {
    return this.#largest;
  }

  /** Makes the codes of rows that have been written. `largest`: an upper bound of the components of all rows there were. */
  wrote(row: number, rows: number, largest: number): void {
    this.#endRow = Math.max(this.#endRow, row + rows);
    this.#written += rows;
    this.#isOff ||= 2 * largest + STEP_ROOM > this.reach;
    if (this.#isOff) return;
    if (this.#hasCodes) this.#encode(row, rows);
    // Codes that are read elsewhere do not change: the next write asks again.
    if (this.#written >= this.#reviewAt && (!this.#hasCodes || this.#readers === 0)) this.#review(largest);
  }

  beginRead(): void {
    this.#readers++;
  }

  endRead(): void {
    this.#readers--;
  }

  /** Before the first row: takes middles and steps of another plane, which has codes. */
  inherit(before: CodePlane): void {
    this.#scale.set(before.#scale);
    this.#largest = before.#largest;
    this.#header[0] = before.#header[0]!;
    this.#hasCodes = true;
    this.#reviewAt = this.block.rows;
  }

  #review(largest: number): void {
    this.#written = 0;
    this.#reviewAt = Math.max(CODED_ROWS_MIN, this.#endRow);
    const before = this.#scale.slice();
    const { region, vectorsAddress, idsAddress, strideBytes } = this.block;
    region.arena.kernel.fitPlane(this.at, vectorsAddress, idsAddress, this.#endRow, strideBytes);
    if (this.#hasCodes && this.#meanResidual() <= POOR * this.#residualOfSteps()) {
      this.#scale.set(before);
      return;
    }
    this.#encode(0, this.#endRow);
    this.#header[0] = ++lastVersion;
    this.#hasCodes = true;
    this.#largest = largest;
  }

  #encode(row: number, rows: number): void {
    const { region, vectorsAddress, strideBytes } = this.block;
    region.arena.kernel.encodeRows(this.at, vectorsAddress, strideBytes, row, rows);
  }

  /** Of rows that lie anywhere between two codes in each dimension. */
  #residualOfSteps(): number {
    let squares = 0;
    for (const step of this.#scale.subarray(this.codeBytes)) squares += (step * step - 1) / 12;
    return Math.sqrt(squares);
  }

  #meanResidual(): number {
    let sum = 0;
    for (let row = 0; row < this.#endRow; row++) sum += this.#residuals[row]!;
    return sum / this.#endRow;
  }

  erase(row: number): void {
    this.#codes.fill(0, row * this.codeBytes, (row + 1) * this.codeBytes);
    this.#gains[row] = 0;
    this.#residuals[row] = 0;
  }
}
