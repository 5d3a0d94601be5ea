/**
 * The host's side of a code plane, a byte per component (`assembly/plane.ts`): when to choose steps, and when to
 * encode.
 */
import { canBeCoded, PlaneMemory, paddedCodeBytes } from './planeMemory.js';
import type { Region } from './vectorMemory.js';

/** Below this dimension, a row's codes, gain and residual cost more than they save. */
const DIMENSION_MIN = 16;
/** Below this number of rows, middles and steps cost more than the codes save. */
export const CODED_ROWS_MIN = 16;

/** Returns the bytes of a row's codes; 0 if blocks have no codes. */
export const codeBytesOf = (dimension: number): number => (dimension < DIMENSION_MIN ? 0 : paddedCodeBytes(dimension));

/** Largest allowed ratio of two mean residuals: of the plane as it is or widened, and of one that is fitted to the rows. */
const POOR = 1.75;

/** Largest steps with which half a step fits a residual of 8 bits, and of 16. */
export const BYTE_STEP_MAX = 254;
export const WORD_STEP_MAX = 65_534;

/** The parts of a block that its plane works on. */
export interface CodedRows {
  readonly region: Pick<Region, 'arena'>;
  readonly rows: number;
  readonly strideBytes: number;
  readonly vectorsAddress: number;
  readonly idsAddress: number;
}

/**
 * The codes of a block's rows, in its memory. A block begins with the middles and steps of the block before, so that a
 * query is prepared once for many blocks. A full block whose rows are too far from their codes chooses its own and
 * recomputes all codes. So does the first block.
 */
export class CodePlane {
  readonly #memory: PlaneMemory;
  #hasCodes = false;
  /** Rows written since the last review, some more than once; and the number at which the next review is due. */
  #written = 0;
  #reviewAt = CODED_ROWS_MIN;
  /** End of the rows that were ever written. */
  #endRow = 0;
  #isOff = false;
  /** Running scans of other threads that may read the plane. */
  #readers = 0;
  /** Upper bound of the components of the rows that middles and steps were chosen for. */
  #largest = 0;

  /** `reach`: the `narrowReach` of the dimension. */
  constructor(
    private readonly block: CodedRows,
    codeBytes: number,
    private readonly reach: number,
    at: number,
  ) {
    this.#memory = new PlaneMemory(block.region.arena.buffer, at, block.rows, codeBytes);
  }

  /** Address for the kernel; 0 while the rows have no codes. Then they are few, or a component was beyond the bound. */
  get address(): number {
    return this.#hasCodes && !this.#isOff ? this.#memory.address : 0;
  }

  /** Upper bound of the middles. */
  get largest(): number {
    return this.#largest;
  }

  /** Whether other threads read the plane, so that middles and steps must not change. */
  get isRead(): boolean {
    return this.#readers > 0;
  }

  /**
   * Chooses middles and steps, and encodes the rows, if no step is above `stepMax`. Returns false if nothing was changed.
   * `largest`: as in `wrote`. No other thread may read the plane.
   */
  fit(stepMax: number, largest: number): boolean {
    const before = this.#memory.scale;
    this.#fit();
    if (this.#largestStep > stepMax) {
      this.#memory.restore(before);
      return false;
    }
    this.#widen(before, largest, stepMax);
    this.#encodeAll(largest);
    return true;
  }

  /** Encodes written rows. `largest`: an upper bound of the components of all rows so far. */
  wrote(row: number, rows: number, largest: number): void {
    this.#endRow = Math.max(this.#endRow, row + rows);
    this.#written += rows;
    this.#isOff ||= !canBeCoded(largest, this.reach);
    if (this.#isOff) return;
    if (this.#hasCodes) this.#encode(row, rows);
    // Codes that other threads read do not change. The next write checks again.
    if (this.#written >= this.#reviewAt && (!this.#hasCodes || !this.isRead)) this.#review(largest);
  }

  beginRead(): void {
    this.#readers++;
  }

  endRead(): void {
    this.#readers--;
  }

  /** Takes middles and steps of another plane, which has codes. Call it before the first row. */
  inherit(before: CodePlane): void {
    this.#memory.inherit(before.#memory);
    this.#largest = before.#largest;
    this.#hasCodes = true;
    this.#reviewAt = this.block.rows;
  }

  erase(row: number): void {
    this.#memory.erase(row);
  }

  #review(largest: number): void {
    this.#written = 0;
    this.#reviewAt = Math.max(CODED_ROWS_MIN, this.#endRow);
    const before = this.#memory.scale;
    this.#fit();
    if (this.#hasCodes && this.#meanResidual() <= POOR * this.#residualOfSteps()) {
      this.#memory.restore(before);
      return;
    }
    if (this.#hasCodes) this.#widen(before, largest, Number.POSITIVE_INFINITY);
    this.#encodeAll(largest);
    this.#hasCodes = true;
  }

  #fit(): void {
    const { region, vectorsAddress, idsAddress, strideBytes } = this.block;
    const { kernel } = region.arena;
    const { address } = this.#memory;
    kernel.beginFit(address);
    kernel.fitRows(address, vectorsAddress, idsAddress, this.#endRow, strideBytes);
    kernel.endFit(address, strideBytes);
  }

  /**
   * Widens the ranges of the codes so that they contain those of `before`, and the next blocks can keep them. Changes nothing if
   * the rows would then be too far from their codes, or a step above `stepMax`.
   */
  #widen(before: Uint32Array, largest: number, stepMax: number): void {
    const own = this.#memory.scale;
    const most = POOR * this.#residualOfSteps();
    this.#memory.widen(before, largest);
    if (this.#residualOfSteps() > most || this.#largestStep > stepMax) this.#memory.restore(own);
  }

  get #largestStep(): number {
    return this.#memory.steps.reduce((most, step) => Math.max(most, step), 0);
  }

  /** Encodes all rows by new middles and steps. */
  #encodeAll(largest: number): void {
    this.#encode(0, this.#endRow);
    this.#memory.renew();
    this.#largest = largest;
  }

  #encode(row: number, rows: number): void {
    const { region, vectorsAddress, strideBytes } = this.block;
    region.arena.kernel.encodeRows(this.#memory.address, vectorsAddress, strideBytes, row, rows);
  }

  /** Expected residual of rows that are spread evenly between codes in each dimension. */
  #residualOfSteps(): number {
    let squares = 0;
    for (const step of this.#memory.steps) squares += (step * step - 1) / 12;
    return Math.sqrt(squares);
  }

  #meanResidual(): number {
    const { residuals } = this.#memory;
    let sum = 0;
    for (let row = 0; row < this.#endRow; row++) sum += residuals[row]!;
    return sum / this.#endRow;
  }
}
