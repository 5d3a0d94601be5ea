/** What happened between two readings of counters that only grow, and begin again with their process. */

/** A second. Undefined before the second reading. */
export function ratePerSecond(before: Reading | undefined, now: Reading): number | undefined {
  if (before === undefined || now.atMs <= before.atMs) return undefined;
  return (grownBy(before.value, now.value) * 1000) / (now.atMs - before.atMs);
}

export interface Reading {
  readonly atMs: number;
  readonly value: number;
}

const grownBy = (before: number, now: number): number => (now >= before ? now - before : now);

/** Upper bound → how many were at most that; the last bound is infinite. */
export type Buckets = ReadonlyMap<number, number>;

/**
 * The value that a share of what was counted between two readings did not exceed, taken within its bucket as evenly
 * spread, as Prometheus' histogram_quantile does; the greatest finite bound where it lies above that. Undefined where
 * nothing was counted.
 */
export function quantileBetween(before: Buckets | undefined, now: Buckets, share: number): number | undefined {
  const bounds = [...now.keys()].sort((a, b) => a - b);
  const hasBegunAgain = bounds.some((bound) => (before?.get(bound) ?? 0) > now.get(bound)!);
  const grown = bounds.map((bound) => now.get(bound)! - (hasBegunAgain ? 0 : (before?.get(bound) ?? 0)));
  const wanted = share * (grown.at(-1) ?? 0);
  if (wanted === 0) return undefined;
  const at = grown.findIndex((upTo) => upTo >= wanted);
  const lower = at === 0 ? 0 : bounds[at - 1]!;
  if (bounds[at] === Number.POSITIVE_INFINITY) return lower;
  const below = at === 0 ? 0 : grown[at - 1]!;
  return lower + ((bounds[at]! - lower) * (wanted - below)) / (grown[at]! - below);
}
