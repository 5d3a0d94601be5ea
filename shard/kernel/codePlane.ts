import { canBeCoded, PlaneMemory, paddedCodeBytes } from './planeMemory.js';
import type { Region } from './vectorMemory.js';

/** With fewer dimensions a row's codes, gain and residual cost more than they save. */
const DIMENSION_MIN = 16;
/** With fewer rows middles and steps cost more than the codes save. */
export const CODED_ROWS_MIN = 16;

/** Bytes of the codes of a row; 0 where blocks have no codes. */
export const codeBytesOf = (dimension: number): number => (dimension < DIMENSION_MIN ? 0 : paddedCodeBytes(dimension));

/** How much greater the mean residual may be than with middles and steps that are chosen for the rows. */
const POOR = 1.25;

/** The parts of a block that its plane works on. */
export interface CodedRows {
  readonly region: Pick<Region, 'arena'>;
  readonly rows: number;
  readonly strideBytes: number;
  readonly vectorsAddress: number;
  readonly idsAddress: number;
}

/**
 * The codes of a block's rows, in its memory. Middles and steps are those of the block before, so that a query is prepared once
 * for many blocks. They are chosen for the block itself, and all its codes made anew, where there are none, and where the rows
 * of a full block are farther from their codes than they would be then.
 */
export class CodePlane {
  readonly #memory: PlaneMemory;
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
    codeBytes: number,
    private readonly reach: number,
    at: number,
  ) {
    this.#memory = new PlaneMemory(block.region.arena.buffer, at, block.rows, codeBytes);
  }

  /** For the kernel; 0 while the rows have no codes: there are few, or one of them had a component beyond the bound. */
  get address(): number {
    return this.#hasCodes && !this.#isOff ? this.#memory.address : 0;
  }

  /** No middle is greater. */
  get largest(): number {
    return this.#largest;
  }

  /** Makes the codes of rows that have been written. `largest`: an upper bound of the components of all rows there were. */
  wrote(row: number, rows: number, largest: number): void {
    this.#endRow = Math.max(this.#endRow, row + rows);
    this.#written += rows;
    this.#isOff ||= !canBeCoded(largest, this.reach);
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
    this.#encode(0, this.#endRow);
    this.#memory.renew();
    this.#hasCodes = true;
    this.#largest = largest;
  }

  #fit(): void {
    const { region, vectorsAddress, idsAddress, strideBytes } = this.block;
    const { kernel } = region.arena;
    const { address } = this.#memory;
    kernel.beginFit(address);
    kernel.fitRows(address, vectorsAddress, idsAddress, this.#endRow, strideBytes);
    kernel.endFit(address, strideBytes);
  }

  #encode(row: number, rows: number): void {
    const { region, vectorsAddress, strideBytes } = this.block;
    region.arena.kernel.encodeRows(this.#memory.address, vectorsAddress, strideBytes, row, rows);
  }

  /** Of rows that lie anywhere between two codes in each dimension. */
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
