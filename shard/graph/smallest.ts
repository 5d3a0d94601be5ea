import type { Pace } from './pace.js';

const CHUNK = 4_096;

/** The `count` smallest of the numbers, ascending, without ever sorting all of them in one go. */
export async function smallest(numbers: readonly number[], count: number, pace: Pace): Promise<number[]> {
  let best: number[] = [];
  for (let at = 0; at < numbers.length; at += CHUNK) {
    const bound = best.length < count ? Number.POSITIVE_INFINITY : best.at(-1)!;
    const nearer = numbers.slice(at, at + CHUNK).filter((number) => number < bound);
    if (nearer.length > 0) best = [...best, ...nearer].sort((a, b) => a - b).slice(0, count);
    for (let i = at; i < at + CHUNK; i++) if (pace.step()) await pace.rest();
  }
  return best;
}
