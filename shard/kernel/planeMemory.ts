/** Of a plane in the kernel: seven u32. */
const HEADER_BYTES = 32;
const WORD_BYTES = 4;
/** Components that the kernel multiplies at once; the codes of a row are padded with zeros to a multiple of it. */
const CODES = 16;
/** Rows that the kernel measures at once: a plane has a multiple of it. */
export const CODED_ROWS = 4;

/** Steps that do not fit every component take this much room beside the largest; see `assembly/plane.ts`. */
const STEP_ROOM = 256;

/** The bytes of the codes of a row. */
export const paddedCodeBytes = (dimension: number): number => CODES * Math.ceil(dimension / CODES);

/** Bytes that a plane takes for each row, and besides. */
export const planeRowBytes = (codeBytes: number): number => codeBytes + 2 * WORD_BYTES;
export const planeFixedBytes = (codeBytes: number): number => HEADER_BYTES + 2 * WORD_BYTES * codeBytes;

/** Whether rows have codes whose components do not exceed `largest`. `reach`: the `narrowReach` of the dimension. */
export const canBeCoded = (largest: number, reach: number): boolean => 2 * largest + STEP_ROOM <= reach;

let lastVersion = 0;

/**
 * A code plane in the memory of the kernel; `assembly/plane.ts` says what it holds.
 *
 *   header | middles: i32 × codeBytes | steps | gains: f32 × rows | residuals | codes: rows × codeBytes
 */
export class PlaneMemory {
  readonly #header: Uint32Array;
  /** Middles and steps. */
  readonly #scale: Uint32Array;
  readonly #codes: Uint8Array;
  readonly #gains: Float32Array;
  readonly residuals: Float32Array;

  /** `rows`: a multiple of CODED_ROWS. */
  constructor(
    buffer: SharedArrayBuffer,
    readonly address: number,
    rows: number,
    private readonly codeBytes: number,
  ) {
    const scaleBytes = codeBytes * WORD_BYTES;
    const middles = address + HEADER_BYTES;
    const steps = middles + scaleBytes;
    const gains = steps + scaleBytes;
    const residuals = gains + rows * WORD_BYTES;
    const codes = residuals + rows * WORD_BYTES;
    this.#header = new Uint32Array(buffer, address, HEADER_BYTES / WORD_BYTES);
    this.#header.set([0, codeBytes, middles, steps, gains, residuals, codes]);
    this.#scale = new Uint32Array(buffer, middles, 2 * codeBytes);
    this.#gains = new Float32Array(buffer, gains, rows);
    this.residuals = new Float32Array(buffer, residuals, rows);
    this.#codes = new Uint8Array(buffer, codes, rows * codeBytes);
  }

  get steps(): Uint32Array {
    return this.#scale.subarray(this.codeBytes);
  }

  /** A copy of middles and steps. */
  get scale(): Uint32Array {
    return this.#scale.slice();
  }

  /** Puts middles and steps back. */
  restore(scale: Uint32Array): void {
    this.#scale.set(scale);
  }

  /** Takes note that middles and steps are new, so that queries are prepared for them. */
  renew(): void {
    this.#header[0] = ++lastVersion;
  }

  /** Takes middles and steps of another plane, and with them what queries were prepared for. */
  inherit(other: PlaneMemory): void {
    this.#scale.set(other.#scale);
    this.#header[0] = other.#header[0]!;
  }

  erase(row: number): void {
    this.#codes.fill(0, row * this.codeBytes, (row + 1) * this.codeBytes);
    this.#gains[row] = 0;
    this.residuals[row] = 0;
  }
}
