/** Finds names that are similar to another name. */
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

/** Longest name that is compared, which bounds the time. */
const COMPARED_CHARS = 64;
/** Names are similar if at most one letter in so many differs. */
const CHARS_PER_SLIP = 3;

const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');

/**
 * The known name that a caller probably meant. It is spelled in another case, or is another system's name for the field, or has
 * letters left out, added, changed or swapped. Undefined if no name is near.
 */
export function meantBy(name: string, known: readonly string[]): string | undefined {
  if (name.length > COMPARED_CHARS) return undefined;
  const word = plain(name).replace(/q16$/, '');
  const same = known.find((one) => plain(one) === word) ?? known.find((one) => OTHER_NAMES[one]?.includes(word));
  if (same !== undefined) return same;
  const near = known
    .map((one) => ({ one, slips: slipsBetween(word, plain(one)), chars: Math.max(word.length, plain(one).length) }))
    .filter(({ slips, chars }) => slips * CHARS_PER_SLIP <= chars)
    .sort((a, b) => a.slips - b.slips);
  return near[0]?.one;
}

/** The distance of optimal string alignment: https://en.wikipedia.org/wiki/Damerau–Levenshtein_distance. */
function slipsBetween(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + cost);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
