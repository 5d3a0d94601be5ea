/**
 * Forms of a block's rows. Plain rows are i32 components. Split rows are the codes of the code plane and residuals of 8
 * or 16 bits (`assembly/splitRows.ts`), which together are the exact components.
 */
import { planeViews } from './planeMemory.js';

export const PLAIN = 0;
export const BYTES = 1;
export const WORDS = 2;
/** Split rows: the number is the bytes of a residual. */
export type RowForm = typeof PLAIN | typeof BYTES | typeof WORDS;

/** Residuals that the kernel reads at once. A row of them is padded with zeros to a multiple of it. */
const LANES = 8;
const COMPONENT_BYTES = 4;

/** Returns the bytes of one row. `strideBytes`: those of a plain row. */
export function rowBytesOf(form: RowForm, strideBytes: number): number {
  if (form === PLAIN) return strideBytes;
  return form * LANES * Math.ceil(strideBytes / COMPONENT_BYTES / LANES);
}

/** The rows of a block as any thread can read them. */
export interface RowsIn {
  readonly buffer: SharedArrayBuffer;
  readonly rows: number;
  readonly vectorsAddress: number;
  readonly form: RowForm;
  /** Address of the code plane; 0 for none. */
  readonly planeAddress: number;
}

/** Reads components without a kernel. */
export class RowReader {
  readonly #read: Read;

  constructor(place: RowsIn, strideBytes: number, dimension: number) {
    const { buffer, rows, vectorsAddress, form, planeAddress } = place;
    const length = rows * rowBytesOf(form, strideBytes);
    const apart = length / rows;
    if (form === PLAIN) {
      const components = new Int32Array(buffer, vectorsAddress, length / COMPONENT_BYTES);
      const words = strideBytes / COMPONENT_BYTES;
      this.#read = (row) => components.subarray(row * words, row * words + dimension);
      return;
    }
    const plane = planeViews(buffer, planeAddress, rows);
    const into = new Int32Array(dimension);
    if (form === BYTES) {
      const residuals = new Int8Array(buffer, vectorsAddress, length);
      this.#read = byteReader(plane, residuals, apart, into);
    } else {
      const residuals = new Int16Array(buffer, vectorsAddress, length / WORDS);
      this.#read = wordReader(plane, residuals, apart / WORDS, into);
    }
  }

  /** Returns the components of a row, valid until the next call. */
  read(row: number): Int32Array {
    return this.#read(row);
  }
}

type PlaneViews = ReturnType<typeof planeViews>;
/** Returns the components of a row, valid until the next call. */
type Read = (row: number) => Int32Array;

// Two functions with one body: in a common one, the engine would look up the type of the array for each component. It would also
// load an array of the closure for each component; local names prevent that.

/** `apart`: number of residuals from the start of a row to that of the next one. */
function byteReader(plane: PlaneViews, residuals: Int8Array, apart: number, into: Int32Array): Read {
  return (row) => {
    const { middles, steps, codes, codeBytes } = plane;
    const [rests, components] = [residuals, into];
    const code = row * codeBytes;
    const from = row * apart;
    for (let i = 0; i < components.length; i++)
      components[i] = middles[i]! + codes[code + i]! * steps[i]! + rests[from + i]!;
    return components;
  };
}

function wordReader(plane: PlaneViews, residuals: Int16Array, apart: number, into: Int32Array): Read {
  return (row) => {
    const { middles, steps, codes, codeBytes } = plane;
    const [rests, components] = [residuals, into];
    const code = row * codeBytes;
    const from = row * apart;
    for (let i = 0; i < components.length; i++)
      components[i] = middles[i]! + codes[code + i]! * steps[i]! + rests[from + i]!;
    return components;
  };
}
