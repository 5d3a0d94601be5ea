/** Maximal marginal relevance (Carbonell and Goldstein, 1998) by distances: hits near the query and far from one another. */
import type { Steps } from '../../shared/scheduling/slice.js';
import { componentsOf, distanceOf, type Found, hitsAt } from './found.js';

/** Components that are compared in one step: some 0.1 ms. */
const COMPONENTS_PER_STEP = 1 << 16;

/**
 * Chooses `k` hits of a pool, which is in the order of its distances. The first is the nearest one. Each next one has the least
 * value of
 *
 *   (1 − diversity) · distance to the query − diversity · least distance to a chosen hit.
 *
 * Of equal ones the first in the pool is chosen. With decay the distance to the query is the decayed one. `vectorOf`: returns
 * the components of a row, which are used before its next call.
 */
export function* diverse(
  pool: Found,
  k: number,
  diversity: number,
  vectorOf: (slot: number) => Uint8Array,
): Steps<Found> {
  const count = pool.slots.length;
  const places = new Uint32Array(Math.min(k, count));
  const apart = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
  const isChosen = new Uint8Array(count);
  let chosen = 0;
  let spent = 0;
  for (let size = 0; size < places.length; size++) {
    places[size] = chosen;
    isChosen[chosen] = 1;
    const vector = componentsOf(vectorOf(pool.slots[chosen]!)).slice();
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < count && size + 1 < places.length; i++) {
      if (isChosen[i] === 1) continue;
      apart[i] = Math.min(apart[i]!, distanceBetween(vector, componentsOf(vectorOf(pool.slots[i]!))));
      const value = (1 - diversity) * distanceOf(pool, i) - diversity * apart[i]!;
      if (best < 0 || value < least) {
        best = i;
        least = value;
      }
      spent += vector.length;
      if (spent < COMPONENTS_PER_STEP) continue;
      spent = 0;
      yield;
    }
    chosen = best;
  }
  return hitsAt(pool, places);
}

const HALF = 2 ** 16;
/** The square of the number 1 in Q16.16. */
const ONE = 2 ** 32;

/**
 * Returns the squared distance. Each difference is split into parts of 17 and 16 bits, so that the three sums are exact integers
 * below 2^53 for all dimensions. Only the result is rounded, and so is equal on all machines.
 */
function distanceBetween(one: Int32Array, other: Int32Array): number {
  let high = 0;
  let mixed = 0;
  let low = 0;
  for (let i = 0; i < one.length; i++) {
    const difference = Math.abs(one[i]! - other[i]!);
    const h = Math.floor(difference / HALF);
    const l = difference - h * HALF;
    high += h * h;
    mixed += h * l;
    low += l * l;
  }
  return high + (2 * mixed * HALF + low) / ONE;
}
