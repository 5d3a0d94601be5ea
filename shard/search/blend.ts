import { Best } from '../text/best.js';
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
 * `bm25`: of a slot.
 */
export function blend(pool: Found, bm25: (slot: number) => number, k: number): Found {
  const { ids, scores, slots } = pool;
  const distances = each(ids.length, (i) => distanceOf(pool, i));
  const farness = normalised(distances);
  const matching = normalised(each(ids.length, (i) => bm25(slots[i]!)));
  const blended = each(ids.length, (i) => VECTOR_WEIGHT * (1 - farness[i]!) + TEXT_WEIGHT * matching[i]!);
  const best = new Best(k, (a, b) => {
    if (blended[a]! !== blended[b]!) return blended[a]! > blended[b]!;
    if (distances[a]! !== distances[b]!) return distances[a]! < distances[b]!;
    if (scores[a]! !== scores[b]!) return scores[a]! < scores[b]!;
    return ids[a]! < ids[b]!;
  });
  for (let i = 0; i < ids.length; i++) best.offer(i);
  return taken(pool, best.sorted());
}

/** A loop: `Float64Array.from` and `map` take ten times as long. */
function each(length: number, value: (i: number) => number): Float64Array {
  const values = new Float64Array(length);
  for (let i = 0; i < length; i++) values[i] = value(i);
  return values;
}

/** Brought to 0..1, the least to 0 and the greatest to 1; all of them to 0 where they are equal. */
function normalised(values: Float64Array): Float64Array {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i++) {
    least = Math.min(least, values[i]!);
    greatest = Math.max(greatest, values[i]!);
  }
  const range = greatest - least;
  return each(values.length, (i) => (range === 0 ? 0 : (values[i]! - least) / range));
}

/** The hits of these places, in their order. */
function taken({ ids, slots, scores, aged }: Found, places: Uint32Array): Found {
  const these = (of: Float64Array): Float64Array => each(places.length, (i) => of[places[i]!]!);
  const hits = { ids: these(ids), slots: Uint32Array.from(places, (place) => slots[place]!), scores: these(scores) };
  if (aged === undefined) return hits;
  return { ...hits, aged: { factors: these(aged.factors), agesSecs: these(aged.agesSecs) } };
}
