/** Finds the known name that a misspelt one is nearest to: of a setting, a field, a path or a command. */

/** A longer name is like no other: the time to compare it is bounded. */
const COMPARED_CHARS = 64;
/** Names are alike if one letter in so many differs. */
const CHARS_PER_SLIP = 3;

/** A name in small letters, without `_` and `-`. */
export const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '');

/** A known name, with the texts that are compared: a part of the asked name, and one of the known name. Both are `plain`. */
export interface ComparedName {
  readonly name: string;
  readonly asked: string;
  readonly known: string;
}

/** The known name with the fewest letters left out, added, changed or swapped. Undefined if no name is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const asked = plain(name);
  return nearestOf(known.map((one) => ({ name: one, asked, known: plain(one) })));
}

/** `nearest` for names that are compared in parts. */
export function nearestOf(names: readonly ComparedName[]): string | undefined {
  let found: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const { name, asked, known } of names) {
    if (asked.length > COMPARED_CHARS) continue;
    const most = Math.floor(Math.max(asked.length, known.length) / CHARS_PER_SLIP);
    const bound = Math.min(most, fewest - 1);
    // Each letter of the difference in length is a slip.
    if (Math.abs(asked.length - known.length) > bound) continue;
    const slips = slipsBetween(asked, known, bound);
    if (slips <= bound) [found, fewest] = [name, slips];
  }
  return found;
}

/** Rows of the table of distances; three are in use at a time. */
const ROWS = Array.from({ length: 3 }, () => new Uint8Array(2 * COMPARED_CHARS));

/**
 * Returns the distance of optimal string alignment, or `most` + 1 if it is greater than `most`. Each name has at most
 * 2 * COMPARED_CHARS - 1 letters. See https://en.wikipedia.org/wiki/Damerau–Levenshtein_distance.
 */
function slipsBetween(a: string, b: string, most: number): number {
  const tooMany = most + 1;
  let [before, last, row] = ROWS as [Uint8Array, Uint8Array, Uint8Array];
  for (let j = 0; j <= b.length; j++) last[j] = Math.min(j, tooMany);
  let fewestBefore = 0;
  for (let i = 1; i <= a.length; i++) {
    const letter = a.charCodeAt(i - 1);
    // Outside of these places, the difference of the lengths is greater than `most` already.
    const [first, end] = [Math.max(1, i - most), Math.min(b.length, i + most)];
    row[first - 1] = first > 1 ? tooMany : Math.min(i, tooMany);
    let fewest = row[first - 1]!;
    for (let j = first; j <= end; j++) {
      const other = b.charCodeAt(j - 1);
      let slips = last[j - 1]! + (letter === other ? 0 : 1);
      if (last[j]! < slips) slips = last[j]! + 1;
      if (row[j - 1]! < slips) slips = row[j - 1]! + 1;
      const isSwapped = i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other;
      if (isSwapped && before[j - 2]! < slips) slips = before[j - 2]! + 1;
      if (slips < fewest) fewest = slips;
      row[j] = Math.min(slips, tooMany);
    }
    if (end < b.length) row[end + 1] = tooMany;
    // A swap continues from the row before the last.
    if (fewest > most && fewestBefore > most) return tooMany;
    [before, last, row, fewestBefore] = [last, row, before, fewest];
  }
  return last[b.length]!;
}
