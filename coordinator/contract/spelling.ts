/** Finds names that are similar to another name. */
import { nearest, plain } from '../../config/nearest.js';
import { OTHER_NAMES } from './otherNames.js';

const LETTERS = [...'abcdefghijklmnopqrstuvwxyz_'];

/** One letter inserted anywhere. */
export const inserted = (name: string): string[] =>
  letterwise(name, (head, tail) => LETTERS.map((l) => head + l + tail));

/** One letter doubled. */
export const doubled = (name: string): string[] =>
  letterwise(name, (head, tail) => (tail === '' ? [] : [head + tail[0] + tail]));

/** Two neighbouring letters swapped. */
export const swapped = (name: string): string[] =>
  letterwise(name, (head, tail) => (tail.length < 2 ? [] : [head + tail[1] + tail[0] + tail.slice(2)]));

/** One letter left out. */
const shortened = (name: string): string[] =>
  letterwise(name, (head, tail) => (tail === '' ? [] : [head + tail.slice(1)]));

/** One letter in place of another. */
const altered = (name: string): string[] =>
  letterwise(name, (head, tail) => (tail === '' ? [] : LETTERS.map((l) => head + l + tail.slice(1))));

/** All names that are one letter off. The name itself may be among them. */
export const oneLetterOff = (name: string): string[] =>
  [inserted, shortened, altered, swapped].flatMap((slips) => slips(name));

/** Applies `slips` to each division of the name into a head and a tail. */
const letterwise = (name: string, slips: (head: string, tail: string) => string[]): string[] =>
  Array.from({ length: name.length + 1 }, (_, i) => slips(name.slice(0, i), name.slice(i))).flat();

/**
 * The known name that a caller probably meant. It is spelled in another case, or is another system's name for the field, or has
 * letters left out, added, changed or swapped. Undefined if no name is near.
 */
export function meantBy(name: string, known: readonly string[]): string | undefined {
  const word = plain(name).replace(/q16$/, '');
  const same = known.find((one) => plain(one) === word) ?? known.find((one) => OTHER_NAMES[one]?.includes(word));
  return same ?? nearest(word, known);
}
