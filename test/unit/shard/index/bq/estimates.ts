/** The estimates of a BQ index, made in JavaScript from rotated vectors. */
import { SignCoder, signCodeBytes } from '../../../../../shard/kernel/signCodes.js';

const LEVEL_MAX = 15;
const { fround } = Math;

/** To the nearest whole number, the even one of two that are equally near. */
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

/** What the kernel estimates from a row's code, in its own single precision; −infinity where the signs are the query's. */
function estimateOf({ step, levels }: Levels, code: Uint8Array): number {
  const signBytes = levels.length / 8;
  const [norm = 0, factor = 0] = new Float32Array(code.slice(signBytes).buffer);
  const sum = levels.reduce((sum, level, i) => sum + (code[i >> 3]! & (1 << (i & 7)) ? level : -level), 0);
  if (sum === levels.reduce((own, level) => own + Math.abs(level), 0)) return Number.NEGATIVE_INFINITY;
  return fround(norm - fround(factor * fround(step * sum)));
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
