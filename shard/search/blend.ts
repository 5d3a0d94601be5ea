import { TopScores } from '../text/topScores.js';
import { distanceOf, type Found } from './found.js';

const VECTOR_WEIGHT = 0.5;
const TEXT_WEIGHT = 0.5;

/**
 * The best `k` of a pool, in whatever order it comes, by the distance and by the text, each brought to 0..1 over the pool:
 *
 *   0.5 · (1 − (distance − least) / (greatest − least)) + 0.5 · (bm25 − least) / (greatest − least)
 *
 * Where all distances are equal the first part is 1, where all BM25 scores are, the second is 0. Greatest first, equal ones
 * by distance, then by id. The distance is the decayed one where the pool is aged; the scores stay what they are.
 * `bm25`: of each hit.
 */
export function blend(pool: Found, bm25: Float64Array, k: number): Found {
  const { ids, scores } = pool;
  const distances = each(ids.length, (i) => distanceOf(pool, i));
  const [nearest, distanceRange] = rangeOf(distances);
  const [leastBm25, bm25Range] = rangeOf(bm25);
  const best = new TopScores(Math.min(k, ids.length), (a, b) =>
    scores[a]! === scores[b]! ? ids[a]! < ids[b]! : scores[a]! < scores[b]!,
  );
  for (let i = 0; i < ids.length; i++) {
    const distance = distances[i]!;
    const farness = distanceRange === 0 ? 0 : (distance - nearest) / distanceRange;
    const matching = bm25Range === 0 ? 0 : (bm25[i]! - leastBm25) / bm25Range;
    const blended = VECTOR_WEIGHT * (1 - farness) + TEXT_WEIGHT * matching;
    if (blended >= best.least) best.offer(i, blended, distance);
  }
  return taken(pool, best.sorted().items);
}

/** A loop: `Float64Array.from` and `map` take ten times as long. */
function each(length: number, value: (i: number) => number): Float64Array {
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) values[i] = value(i);
  return values;
}

/** The least of the values, and how far the greatest is from it. */
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

/** The hits of these places, in their order. */
function taken({ ids, slots, scores, aged }: Found, places: Uint32Array): Found {
  const these = (of: Float64Array): Float64Array => each(places.length, (i) => of[places[i]!]!);
  const hits = { ids: these(ids), slots: Uint32Array.from(places, (place) => slots[place]!), scores: these(scores) };
  if (aged === undefined) return hits;
  return { ...hits, aged: { factors: these(aged.factors), agesSecs: these(aged.agesSecs) } };
}
