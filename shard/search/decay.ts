/** How much a record counts for as it ages; see `Decay`. All pure. */
import type { Decay } from '../../shared/calls.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { Found } from './found.js';

/** Half-lives after which a record ages no further: a score / 2^-900 is still finite, a score * 2^-900 still normal. */
const HALF_LIVES_MAX = 900;

/** Whole seconds from the insertion to `nowMs`; 0 where it is still to come. */
export const ageSecs = (nowMs: number, insertedMs: number): number =>
  Math.max(0, Math.floor((nowMs - insertedMs) / 1000));

/** In (0, 1]: 1 at age 0, half of it at each half-life. Never rises with the age but by a rounding error. */
export const ageFactor = (ageSecs: number, halfLifeSecs: number): number =>
  2 ** -Math.min(ageSecs / halfLifeSecs, HALF_LIVES_MAX);

/** 2 ** -n. */
const POWERS = Float64Array.from({ length: HALF_LIVES_MAX + 1 }, (_, n) => 2 ** -n);

/**
 * At least `ageFactor`, but for a rounding error, and at most 1.07 times it, for a fraction of what a power costs: on
 * the chord from one whole number of half-lives to the next, below which a power of two hangs.
 */
export function ageFactorMost(ageSecs: number, halfLifeSecs: number): number {
  const halfLives = Math.min(ageSecs / halfLifeSecs, HALF_LIVES_MAX);
  const whole = Math.floor(halfLives);
  return POWERS[whole]! * (1 - (halfLives - whole) / 2);
}

/** The hits with their factors and ages, in the order they are in. `insertedMsOf`: by slot, unix milliseconds. */
export function aged(hits: Hits, insertedMsOf: (slot: number) => number, { nowMs, halfLifeSecs }: Decay): Found {
  const { ids, slots, scores } = hits;
  const agesSecs = Float64Array.from(slots, (slot) => ageSecs(nowMs, insertedMsOf(slot)));
  const factors = agesSecs.map((age) => ageFactor(age, halfLifeSecs));
  return { ids, slots, scores, aged: { factors, agesSecs } };
}
