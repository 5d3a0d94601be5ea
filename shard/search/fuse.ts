/** Fusion of the orders of a pool by distance and by text: a weighted sum of scores, or of reciprocal ranks. */
import type { Fusion } from '../../shared/protocol/calls.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { TopK } from '../kernel/topK.js';
import { distanceOf, type Found, floats, hitsAt } from './found.js';

/** The default fusion. */
const EVEN: Fusion = { by: 'blend', textWeight: 0.5 };
/** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). */
const RANK_OFFSET = 60;

/** A pool of candidates in any order. `bm25` has the text score of each. */
export interface Pool {
  readonly hits: Found;
  readonly bm25: Float64Array;
}

/**
 * Returns the best `k` of a pool by the sum of two parts, greatest sum first. `w` is the weight of the text.
 *
 *   blend: (1 − w) · (1 − (distance − least) / (greatest − least)) + w · (bm25 − least) / (greatest − least).
 *   rrf:   (1 − w) / (60 + rank by distance) + w / (60 + rank by text).
 *
 * In a blend the least and the greatest are those of the pool. If all distances are equal they count as nearest, and if all BM25
 * scores are equal they count as 0. Ranks begin at 1: by distance, then score, then id, and by falling BM25, then id. A record
 * without a word of the query has no rank by text, and its second part is 0. Equal sums are ordered by distance, then by score,
 * then by id. With decay the distance is the decayed one.
 */
export function* fuse({ hits, bm25 }: Pool, k: number, { by, textWeight }: Fusion = EVEN): Steps<Found> {
  const { ids, scores } = hits;
  const distances = floats(ids.length, (i) => distanceOf(hits, i));
  const isBefore = (a: number, b: number): boolean =>
    scores[a]! === scores[b]! ? ids[a]! < ids[b]! : scores[a]! < scores[b]!;
  const parts =
    by === 'blend' ? blendedParts(distances, bm25) : yield* rankedParts({ hits, bm25 }, distances, isBefore);
  const best = new TopK(Math.min(k, ids.length), isBefore);
  for (let i = 0; i < ids.length; i++) {
    const sum = (1 - textWeight) * parts.near(i) + textWeight * parts.matching(i);
    if (-sum <= best.worst) best.offer(i, -sum, distances[i]!);
  }
  yield;
  return hitsAt(hits, best.sorted().items);
}

/** The two parts of each candidate's sum, without their weights. */
interface Parts {
  readonly near: (i: number) => number;
  readonly matching: (i: number) => number;
}

function blendedParts(distances: Float64Array, bm25: Float64Array): Parts {
  const [nearest, distanceRange] = rangeOf(distances);
  const [leastBm25, bm25Range] = rangeOf(bm25);
  return {
    near: (i) => 1 - (distanceRange === 0 ? 0 : (distances[i]! - nearest) / distanceRange),
    matching: (i) => (bm25Range === 0 ? 0 : (bm25[i]! - leastBm25) / bm25Range),
  };
}

function* rankedParts(
  { hits: { ids }, bm25 }: Pool,
  distances: Float64Array,
  isBefore: (a: number, b: number) => boolean,
): Steps<Parts> {
  const byDistance = new TopK(ids.length, isBefore);
  for (let i = 0; i < ids.length; i++) byDistance.offer(i, distances[i]!, 0);
  yield;
  const near = reciprocalRanks(byDistance, ids.length);
  yield;
  const byText = new TopK(ids.length);
  for (let i = 0; i < ids.length; i++) if (bm25[i]! > 0) byText.offer(i, -bm25[i]!, ids[i]!);
  yield;
  const matching = reciprocalRanks(byText, ids.length);
  yield;
  return { near: (i) => near[i]!, matching: (i) => matching[i]! };
}

/** Returns 1 / (60 + rank) for each candidate in the heap, and 0 for the others. The heap cannot be used afterwards. */
function reciprocalRanks(order: TopK, candidates: number): Float64Array {
  const parts = new Float64Array(candidates);
  for (const [place, i] of order.sorted().items.entries()) parts[i] = 1 / (RANK_OFFSET + place + 1);
  return parts;
}

/** Returns the least value, and its difference to the greatest. */
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
