import { type Hits, hitsOfLength } from '../kernel/scanScratch.js';

/** Merges two lists of hits, each sorted by score and then by id, to the nearest `k`. A record in both counts once. */
export function mergeSortedHits(one: Hits, other: Hits, k: number): Hits {
  if (other.ids.length === 0) return one;
  if (one.ids.length === 0) return other;
  const most = Math.min(k, one.ids.length + other.ids.length);
  const merged = hitsOfLength(most);
  let count = 0;
  for (let a = 0, b = 0; count < most && (a < one.ids.length || b < other.ids.length); ) {
    const from = b >= other.ids.length || (a < one.ids.length && isBefore(one, a, other, b)) ? one : other;
    const at = from === one ? a++ : b++;
    const id = from.ids[at]!;
    if (count > 0 && merged.ids[count - 1] === id) continue;
    merged.ids[count] = id;
    merged.slots[count] = from.slots[at]!;
    merged.scores[count++] = from.scores[at]!;
  }
  const { ids, slots, scores } = merged;
  return { ids: ids.slice(0, count), slots: slots.slice(0, count), scores: scores.slice(0, count) };
}

function isBefore(one: Hits, a: number, other: Hits, b: number): boolean {
  const difference = one.scores[a]! - other.scores[b]!;
  return difference === 0 ? one.ids[a]! <= other.ids[b]! : difference < 0;
}
