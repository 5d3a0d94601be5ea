import type { VectorSet } from './vectors.js';

/** Nearest rows of each query in the ground truth. */
const KNOWN = 100;

/**
 * The share of results that equal the exact ones, each at its place. A share below 1 is a fault. `found`: ids for each query, in
 * order. Row r of the set must be record r + 1. Undefined without a ground truth.
 */
export function recall({ nearest, queryCount }: VectorSet, found: readonly ArrayLike<number>[]): number | undefined {
  if (nearest === undefined) return undefined;
  let right = 0;
  let all = 0;
  for (const [query, ids] of found.entries()) {
    const wanted = nearest.subarray((query % queryCount) * KNOWN);
    for (let place = 0; place < ids.length; place++) if (ids[place] === (wanted[place] as number) + 1) right++;
    all += ids.length;
  }
  return right / all;
}

/** The mean share of `exact` results that were found, at any place; both have the ids of each query in turn. */
export function recallAmong(exact: readonly ArrayLike<number>[], found: readonly ArrayLike<number>[]): number {
  const shares = exact.map((wanted, query) => {
    const ids = new Set(Array.from(found[query] as ArrayLike<number>));
    return Array.from(wanted).filter((id) => ids.has(id)).length / wanted.length;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
