/** Finds the known name that a misspelt one is nearest to: of a setting, a field, a path or a command. */

/** A longer name is like no other: the time to compare it is bounded. */
const COMPARED_CHARS = 64;
/** Names are alike if one letter in so many differs. */
const CHARS_PER_SLIP = 3;

/** A name in small letters, without `_` and `-`. */
export const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');

type Compared = (name: string, known: string) => readonly [name: string, known: string];

/**
 * The known name with the fewest letters left out, added, changed or swapped. Undefined if no name is near. `compared`: the
 * parts of two names that are compared.
 */
export function nearest(
  name: string,
  known: readonly string[],
  compared: Compared = (...names) => names,
): string | undefined {
  if (name.length > COMPARED_CHARS) return undefined;
  let found: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const one of known) {
    const [word, other] = compared(name, one).map(plain) as [string, string];
    const most = Math.floor(Math.max(word.length, other.length) / CHARS_PER_SLIP);
    // Each letter of the difference in length is a slip.
    if (Math.abs(word.length - other.length) > Math.min(most, fewest - 1)) continue;
    const slips = slipsBetween(word, other);
    if (slips > most || slips >= fewest) continue;
    [found, fewest] = [one, slips];
  }
  return found;
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
