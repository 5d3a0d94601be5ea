/** The estimates of a BQ index, made in JavaScript from its codes. */
import { Coder, codeBytesOf } from '../../../../../shard/index/bq/code.js';

const HEADER_WORDS = 4;
const SUMS = 16;

/** What the kernel estimates from a row's code, in its own single precision; −infinity where the signs are the query's. */
function estimateOf(query: Uint32Array, code: Uint32Array): number {
  const [codeBytes = 0, , own = 0] = query;
  const [, step = 0] = new Float32Array(query.buffer, 0, 2);
  const sums = new Int8Array(query.buffer, 4 * HEADER_WORDS);
  const bytes = new Uint8Array(code.buffer);
  const [norm = 0, factor = 0] = new Float32Array(code.buffer, codeBytes, 2);
  let sum = 0;
  for (let i = 0; i < codeBytes; i++)
    sum += sums[2 * i * SUMS + (bytes[i]! & 15)]! + sums[(2 * i + 1) * SUMS + (bytes[i]! >> 4)]!;
  if (sum === own) return Number.NEGATIVE_INFINITY;
  return Math.fround(norm - Math.fround(factor * Math.fround(step * sum)));
}

/** The `wanted` slots of the least estimates, the first ones where they are alike, and all that have the query's own signs. */
export function leastEstimated(estimates: ReadonlyMap<number, number>, wanted: number): number[] {
  const order = [...estimates].sort(([a, x], [b, y]) => (x === y ? a - b : x - y));
  const own = order.filter(([, estimate]) => estimate === Number.NEGATIVE_INFINITY).length;
  return order
    .slice(0, Math.max(wanted, own))
    .map(([slot]) => slot)
    .sort((a, b) => a - b);
}

/** The estimates of vectors by codes around a mean. */
export function estimatesOf(
  vectors: Iterable<readonly [slot: number, vector: Int32Array]>,
  query: Int32Array,
  mean: Int32Array,
): Map<number, number> {
  const coder = new Coder(mean);
  const coded = coder.query(query);
  const estimates = new Map<number, number>();
  for (const [slot, vector] of vectors) {
    const code = new Uint32Array(codeBytesOf(mean.length) / 4);
    coder.encode(vector, code);
    estimates.set(slot, estimateOf(coded, code));
  }
  return estimates;
}
