/** Memory of a code plane: per row 8 bytes and a byte per component, and once 8 bytes per component. */

/** Bytes of a plane's header in the kernel: seven u32, padded. */
const HEADER_BYTES = 32;
const WORD_BYTES = 4;
/** Components that the kernel multiplies at once. A row's codes are padded with zeros to a multiple of it. */
const CODES = 16;
/** Largest code. */
const CODE_MAX = 127;
/** Margin of a widened range, in halves of the range: later rows are often a little beyond the rows so far. */
const MARGIN = 1 / 4;
/** Rows that the kernel measures at once. A plane's number of rows is a multiple of it. */
export const CODED_ROWS = 4;

/** Room beside the largest component for steps that do not fit every component; see `assembly/plane.ts`. */
const STEP_ROOM = 256;

/** Returns the bytes of a row's codes. */
export const paddedCodeBytes = (dimension: number): number => CODES * Math.ceil(dimension / CODES);

/** Bytes of a plane per row, and its fixed bytes. */
export const planeRowBytes = (codeBytes: number): number => codeBytes + 2 * WORD_BYTES;
export const planeFixedBytes = (codeBytes: number): number => HEADER_BYTES + 2 * WORD_BYTES * codeBytes;

/** Whether rows can have codes if no component exceeds `largest`. `reach`: the `narrowReach` of the dimension. */
export const canBeCoded = (largest: number, reach: number): boolean => 2 * largest + STEP_ROOM <= reach;

let lastVersion = 0;

/** Returns views of a plane that was made at this address. */
export function planeViews(buffer: SharedArrayBuffer, address: number, rows: number) {
  const [, codeBytes = 0, middles, steps, , , codes] = new Uint32Array(buffer, address, HEADER_BYTES / WORD_BYTES);
  return {
    codeBytes,
    middles: new Int32Array(buffer, middles, codeBytes),
    steps: new Int32Array(buffer, steps, codeBytes),
    codes: new Int8Array(buffer, codes, codeBytes * rows),
  };
}

/**
 * A code plane in the kernel's memory. `assembly/plane.ts` defines its content.
 *
 *   Header | middles: i32 × codeBytes | steps | gains: f32 × rows | residuals |
 *   codes: rows × codeBytes
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

  /** Returns a copy of middles and steps. */
  get scale(): Uint32Array {
    return this.#scale.slice();
  }

  /** Restores middles and steps. */
  restore(scale: Uint32Array): void {
    this.#scale.set(scale);
  }

  /**
   * Widens the range of each dimension so that it contains the one of `before`, a copy of middles and steps. An end that is beyond
   * that range gets a margin. No component exceeds `largest`.
   */
  widen(before: Uint32Array, largest: number): void {
    const scale = this.#scale;
    const end = this.codeBytes;
    for (let at = 0; at < end; at++) {
      const middle = scale[at]! | 0;
      const reach = CODE_MAX * scale[end + at]!;
      const middleBefore = before[at]! | 0;
      const reachBefore = CODE_MAX * before[end + at]!;
      const margin = MARGIN * reach;
      const lowBefore = middleBefore - reachBefore;
      const highBefore = middleBefore + reachBefore;
      const low = Math.max(-largest, middle - reach < lowBefore ? middle - reach - margin : lowBefore);
      const high = Math.min(largest, middle + reach > highBefore ? middle + reach + margin : highBefore);
      scale[at] = Math.floor((low + high) / 2);
      scale[end + at] = Math.max(1, Math.ceil((high - low) / (2 * CODE_MAX)));
    }
  }

  /** Marks middles and steps as new, so that queries are prepared for them. */
  renew(): void {
    this.#header[0] = ++lastVersion;
  }

  /** Takes middles and steps of another plane. Queries that are prepared for it stay valid. */
  inherit(other: PlaneMemory): void {
    this.#scale.set(other.#scale);
    this.#header[0] = other.#header[0]!;
  }

  /** Overwrites middles and steps. The plane must have no rows. */
  eraseScale(): void {
    this.#scale.fill(0);
  }

  erase(row: number): void {
    this.#codes.fill(0, row * this.codeBytes, (row + 1) * this.codeBytes);
    this.#gains[row] = 0;
    this.residuals[row] = 0;
  }
}
