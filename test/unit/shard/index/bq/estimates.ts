/** Estimates of a BQ index, computed in JavaScript from rotated vectors. */
import { SignCoder, signCodeBytes } from '../../../../../shard/kernel/signCodes.js';

const LEVEL_MAX = 15;
const { fround } = Math;

/** Rounds to the nearest whole number, half to even. */
const nearest = (value: number): number => {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
};

interface Levels {
  readonly step: number;
  readonly levels: readonly number[];
}

function levelsOf(rotated: Float32Array): Levels {
  const unit = fround(Math.max(...rotated.map(Math.abs)) / LEVEL_MAX);
  const perUnit = unit === 0 ? 0 : fround(1 / unit);
  return { step: fround(2 * unit), levels: [...rotated].map((value) => nearest(fround(value * perUnit))) };
}

/** The kernel's estimate from a row's code, in single precision; −infinity if the code has the signs of the query. */
function estimateOf({ step, levels }: Levels, code: Uint8Array): number {
  const signBytes = levels.length / 8;
  const [norm = 0, factor = 0] = new Float32Array(code.slice(signBytes).buffer);
  const sum = levels.reduce((sum, level, i) => sum + (code[i >> 3]! & (1 << (i & 7)) ? level : -level), 0);
  if (sum === levels.reduce((own, level) => own + Math.abs(level), 0)) return Number.NEGATIVE_INFINITY;
  return fround(norm - fround(factor * fround(step * sum)));
}

/** The `wanted` slots with the least estimates, lower slots first among equals, and all rows with the query's signs. */
export function leastEstimated(estimates: ReadonlyMap<number, number>, wanted: number): number[] {
  const order = [...estimates].sort(([a, x], [b, y]) => (x === y ? a - b : x - y));
  const own = order.filter(([, estimate]) => estimate === Number.NEGATIVE_INFINITY).length;
  return order
    .slice(0, Math.max(wanted, own))
    .map(([slot]) => slot)
    .sort((a, b) => a - b);
}

/** Estimates of vectors by codes around a mean. */
export function estimatesOf(
  vectors: Iterable<readonly [slot: number, vector: Int32Array]>,
  query: Int32Array,
  mean: Int32Array,
): Map<number, number> {
  const coder = new SignCoder(mean.length);
  const levels = levelsOf(coder.rotated(query, mean));
  const estimates = new Map<number, number>();
  for (const [slot, vector] of vectors) {
    const code = coder.encode(vector, mean);
    if (code.length !== signCodeBytes(mean.length)) throw new Error(`a code of ${code.length} bytes`);
    estimates.set(slot, estimateOf(levels, code));
  }
  return estimates;
}
