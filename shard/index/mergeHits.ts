import type { Hits } from '../kernel/scanScratch.js';

/** The nearest `k` of both, each sorted as the kernel sorts; a record that is in both is taken once. */
export function mergeHits(one: Hits, other: Hits, k: number): Hits {
  if (other.ids.length === 0) return one;
  if (one.ids.length === 0) return other;
  const most = Math.min(k, one.ids.length + other.ids.length);
  const merged = { ids: new Float64Array(most), slots: new Uint32Array(most), scores: new Float64Array(most) };
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
  return count === most
    ? merged
    : {
        ids: merged.ids.slice(0, count),
        slots: merged.slots.slice(0, count),
        scores: merged.scores.slice(0, count),
      };
}

function isBefore(one: Hits, a: number, other: Hits, b: number): boolean {
  const difference = one.scores[a]! - other.scores[b]!;
  return difference === 0 ? one.ids[a]! <= other.ids[b]! : difference < 0;
}
