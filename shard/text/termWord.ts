/**
 * A term or slot and a count in one 32-bit word: the count in the lowest four bits, the number above. A count of 15 or
 * more is written as `MANY` and stored elsewhere.
 */
const COUNT_BITS = 4;
export const MANY = 2 ** COUNT_BITS - 1;
const NUMBERS = 2 ** (32 - COUNT_BITS);

export function wordOf(number: number, count: number): number {
  if (number >= NUMBERS) throw new Error(`a text index has at most ${NUMBERS} slots or terms`);
  return number * (MANY + 1) + Math.min(count, MANY);
}

export const numberOf = (word: number): number => word >>> COUNT_BITS;
export const countOf = (word: number): number => word & MANY;

const FIRST_LENGTH = 16;

/** Returns `column` if it has index `at`, else a copy half as long again, padded with zeros. */
export function grown<C extends Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(column: C, at: number): C {
  if (at < column.length) return column;
  const make = column.constructor as new (length: number) => C;
  const larger = new make(Math.max(FIRST_LENGTH, at + 1, Math.ceil(1.5 * column.length)));
  larger.set(column);
  return larger;
}
