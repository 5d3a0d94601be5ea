/** Reads vectors that are divided by their length from the bytes of JSON: all numbers of one are needed as doubles first. */
import { normaliseInto } from '../../shared/fixedPoint.js';
import { VALUE_MAX, VALUE_MIN } from '../../shared/limits.js';
import { mayHaveTiny } from './keptJson.js';

const ARRAY = 0x5b;
const ARRAY_END = 0x5d;

/** Reads the rows of one body, as `RowReader` of `vectorText.ts` does. */
export class UnitRowReader {
  /** The components of the last row. */
  count = 0;

  /** `target` gets the components of each row. */
  constructor(
    private readonly bytes: Buffer,
    private readonly target: Int32Array,
  ) {}

  /**
   * Returns the position after the row that begins at `from`. Returns -1 if it is not an array of 1 to `most` numbers in range, or
   * if all of them are 0. Returns -1 also if a number may be too close to 0 for a double.
   */
  read(from: number, most: number): number {
    const { bytes } = this;
    const last = bytes[from] === ARRAY ? bytes.indexOf(ARRAY_END, from) : -1;
    if (last < 0) return -1;
    const text = bytes.toString('latin1', from, last + 1);
    const row = numbersIn(text);
    if (row === undefined || row.length === 0 || row.length > most) return -1;
    let hasZero = false;
    for (const value of row) {
      if (!(typeof value === 'number' && value >= VALUE_MIN && value <= VALUE_MAX)) return -1;
      hasZero ||= value === 0;
    }
    if ((hasZero && mayHaveTiny(text)) || !normaliseInto(row, this.target, 0)) return -1;
    this.count = row.length;
    return last + 1;
  }
}

/** Undefined where the text is not JSON. */
function numbersIn(text: string): readonly number[] | undefined {
  try {
    return JSON.parse(text) as number[];
  } catch {
    return undefined;
  }
}
