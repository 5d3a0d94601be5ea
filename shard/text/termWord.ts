/**
 * A term or a slot, and how often the term occurs there, in one 32-bit word: the number above, the count in the lowest
 * four bits. A count of 15 or more is written as `MANY` and kept elsewhere.
 */
const COUNT_BITS = 4;
export const MANY = 2 ** COUNT_BITS - 1;
const NUMBERS = 2 ** (32 - COUNT_BITS);

export function wordOf(number: number, count: number): number {
  if (number >= NUMBERS) throw new Error(`no text index holds more than ${NUMBERS} slots or terms`);
  return number * (MANY + 1) + Math.min(count, MANY);
}

export const numberOf = (word: number): number => word >>> COUNT_BITS;
export const countOf = (word: number): number => word & MANY;
