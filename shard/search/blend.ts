/** Hybrid search by a convex combination of min-max normalised scores, half by distance and half by BM25. */
import { TopK } from '../kernel/topK.js';
import { distanceOf, type Found, floats, hitsAt } from './found.js';

const VECTOR_WEIGHT = 0.5;
const TEXT_WEIGHT = 0.5;

/**
 * Returns the best `k` of a pool by distance and by text, each scaled to 0..1 over the pool, greatest sum first.
 *
 *   0.5 · (1 − (distance − least) / (greatest − least)) + 0.5 · (bm25 − least) / (greatest − least).
 *
 * If all distances are equal the first part is 0.5; if all BM25 scores are, the second is 0. Equal sums are ordered by
 * distance, then by score, then by id. The distance is the decayed one if the pool is aged; the scores stay unchanged.
 * The pool may be in any order; `bm25` has the score of each of its hits.
 */
export function blend(pool: Found, bm25: Float64Array, k: number): Found {
  const { ids, scores } = pool;
  const distances = floats(ids.length, (i) => distanceOf(pool, i));
  const [nearest, distanceRange] = rangeOf(distances);
  const [leastBm25, bm25Range] = rangeOf(bm25);
  const best = new TopK(Math.min(k, ids.length), (a, b) =>
    scores[a]! === scores[b]! ? ids[a]! < ids[b]! : scores[a]! < scores[b]!,
  );
  for (let i = 0; i < ids.length; i++) {
    const distance = distances[i]!;
    const farness = distanceRange === 0 ? 0 : (distance - nearest) / distanceRange;
    const matching = bm25Range === 0 ? 0 : (bm25[i]! - leastBm25) / bm25Range;
    const blended = VECTOR_WEIGHT * (1 - farness) + TEXT_WEIGHT * matching;
    if (-blended <= best.worst) best.offer(i, -blended, distance);
  }
  return hitsAt(pool, best.sorted().items);
}

/** Returns the least of the values, and its difference from the greatest. */
function rangeOf(values: Float64Array): [least: number, range: number] {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return [least, greatest - least];
}
