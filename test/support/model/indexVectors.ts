/** Seeded vectors to index, and the slow, simple search against which every index is measured. */
import { quantise } from '../../../shared/fixedPoint.js';
import { FIXED_ONE } from '../../../shared/limits.js';
import type { SeededRandom } from './random.js';

/**
 * Q16.16 components between -2 and 2. Sums of squares stay below 2^53 up to 32,768 dimensions, so plain numbers are
 * exact.
 */
export type Vector = Int32Array;

export type Spread = 'uniform' | 'clustered';

const CLUSTERS = 20;
/** Largest distance of a row from the centre of its cluster, in each dimension. */
const CLUSTER_RADIUS = 0.2;

/** An endless source of vectors with this spread. */
export function vectorSource(random: SeededRandom, dimension: number, spread: Spread): () => Vector {
  const around = (centre: readonly number[], radius: number): Vector =>
    quantise(centre.map((value) => value + (random.next() * 2 - 1) * radius));
  const origin = new Array<number>(dimension).fill(0);
  if (spread === 'uniform') return () => around(origin, 1);
  const centres = Array.from({ length: CLUSTERS }, () => origin.map(() => random.next() * 2 - 1));
  return () => around(random.pick(centres), CLUSTER_RADIUS);
}

export const take = (count: number, next: () => Vector): Vector[] => Array.from({ length: count }, next);

/** Sum of squared differences, in units of 2^-32. Above `limit`, it may be a partial sum that exceeds `limit`. */
export function distance(one: Vector, other: Vector, limit = Number.POSITIVE_INFINITY): number {
  let sum = 0;
  for (let i = 0; i < one.length && sum <= limit; i++) sum += (one[i]! - other[i]!) ** 2;
  return sum;
}

/** Score in the form of answers. */
export const scoreOf = (one: Vector, other: Vector): number => distance(one, other) / FIXED_ONE ** 2;

export const bytesOf = (vector: Vector): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);

export interface Near {
  readonly id: number;
  readonly score: number;
}

/** The `k` nearest records in the order of an exact search: by score, then by id. */
export function nearest(records: Iterable<readonly [number, Vector]>, query: Vector, k: number): Near[] {
  /** Scores in units of 2^-32. */
  let kept: Near[] = [];
  let limit = Number.POSITIVE_INFINITY;
  for (const [id, vector] of records) {
    const sum = distance(vector, query, limit);
    if (sum > limit) continue;
    kept.push({ id, score: sum });
    if (kept.length < 2 * k + SORTED_AT_LEAST) continue;
    kept = kept.sort(byScore).slice(0, k);
    limit = kept.at(-1)?.score ?? Number.NEGATIVE_INFINITY;
  }
  const sums = kept.sort(byScore).slice(0, k);
  return sums.map(({ id, score }) => ({ id, score: score / FIXED_ONE ** 2 }));
}

/** Records gathered before each sort. */
const SORTED_AT_LEAST = 64;
const byScore = (a: Near, b: Near): number => a.score - b.score || a.id - b.id;

/**
 * Share of the exact results that were found. Any hit as near as the last exact one counts: an index cannot know which
 * of equal records comes first.
 */
export function recallOf(found: readonly Near[], exact: readonly Near[]): number {
  if (exact.length === 0) return 1;
  const farthest = exact.at(-1)!.score;
  return Math.min(exact.length, found.filter(({ score }) => score <= farthest).length) / exact.length;
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
