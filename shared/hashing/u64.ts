/** Little-endian u64 fields for integers below 2^53, which a number represents exactly. */
import { Malformed } from '../errors/malformed.js';

const TWO_32 = 2 ** 32;
const HIGH_END = 2 ** 21;

/** Throws RangeError if `value` is not an integer from 0 to 2^53 - 1. */
export function writeU64(view: DataView, at: number, value: number): void {
  if (!(Number.isSafeInteger(value) && value >= 0)) throw new RangeError(`${value} is not an integer below 2^53`);
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, Math.floor(value / TWO_32), true);
}

/** Throws Malformed if the field is 2^53 or more. */
export function readU64(view: DataView, at: number): number {
  const high = view.getUint32(at + 4, true);
  if (high >= HIGH_END) throw new Malformed('a number of 2^53 or more', at);
  return high * TWO_32 + view.getUint32(at, true);
}
