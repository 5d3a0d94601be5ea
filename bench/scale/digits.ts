/** Vectors of digits, which are short as JSON: few bytes are sent for a large collection. */
import { generator } from '../vectors.js';

const BATCH = 1_000;

/** A vector of digits, determined by `seed`. */
export function digits(dimension: number, seed: number): number[] {
  const random = generator(seed);
  return Array.from({ length: dimension }, () => Math.floor(10 * random()));
}

/** `count` vectors as the JSON of batches. */
export function digitRows(dimension: number, count: number): string[] {
  const batches: string[] = [];
  for (let from = 0; from < count; from += BATCH) {
    const rows = Math.min(BATCH, count - from);
    batches.push(JSON.stringify(Array.from({ length: rows }, (_, i) => digits(dimension, from + i))));
  }
  return batches;
}
