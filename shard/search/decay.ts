/** Decay: the factor by which a record counts less as it ages. The decayed distance is score / factor. */
import type { Decay } from '../../shared/protocol/calls.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { HeavyRows, Weights } from '../kernel/weightedScan.js';
import type { InsertionTimes } from '../state/decayTimes.js';
import type { Found } from './found.js';

/** Half-lives after which a record ages no further: score / 2^-900 is still finite, and score * 2^-900 a normal double. */
const HALF_LIVES_MAX = 900;

/** Returns the whole seconds from the insertion to `nowMs`; 0 if the insertion is later. */
export const ageSecs = (nowMs: number, insertedMs: number): number =>
  Math.max(0, Math.floor((nowMs - insertedMs) / 1000));

/** Returns the factor at an age: 1 at age 0, halved with each half-life. It falls with the age, except for rounding errors. */
export const ageFactor = (ageSecs: number, halfLifeSecs: number): number =>
  2 ** -Math.min(ageSecs / halfLifeSecs, HALF_LIVES_MAX);

/** The powers 2 ** -n, by n. */
const POWERS = Float64Array.from({ length: HALF_LIVES_MAX + 1 }, (_, n) => 2 ** -n);

/**
 * Returns an upper bound of `ageFactor`, except for a rounding error: at most 1.07 times the factor, at much less cost. Between
 * whole numbers of half-lives it is the chord of the factor, which is convex.
 */
export function ageFactorMost(ageSecs: number, halfLifeSecs: number): number {
  const halfLives = Math.min(ageSecs / halfLifeSecs, HALF_LIVES_MAX);
  const whole = Math.floor(halfLives);
  return POWERS[whole]! * (1 - (halfLives - whole) / 2);
}

/** Adds factors and ages to the hits, in their order. */
export function aged(hits: Hits, insertions: Pick<InsertionTimes, 'of'>, { nowMs, halfLifeSecs }: Decay): Found {
  const { ids, slots, scores } = hits;
  const agesSecs = new Float64Array(slots.length);
  const factors = new Float64Array(slots.length);
  for (let i = 0; i < slots.length; i++) {
    agesSecs[i] = ageSecs(nowMs, insertions.of(slots[i]!));
    factors[i] = ageFactor(agesSecs[i]!, halfLifeSecs);
  }
  return { ids, slots, scores, aged: { factors, agesSecs } };
}

/** The factors of a collection's rows, as weights for a scan. The youngest rows are the heavy ones. */
export class DecayWeights implements Weights {
  /** Cache of the last age, since consecutive rows were often inserted together. */
  #lastAgeSecs = 0;
  #lastFactor = 1;

  constructor(
    private readonly insertions: InsertionTimes,
    private readonly decay: Decay,
  ) {}

  of(slot: number): number {
    return this.#factorAt(this.insertions.of(slot));
  }

  atMost(slot: number): number {
    const { nowMs, halfLifeSecs } = this.decay;
    return ageFactorMost(ageSecs(nowMs, this.insertions.of(slot)), halfLifeSecs);
  }

  most(index: number): number {
    return this.#factorAt(this.insertions.newestIn(index));
  }

  heavy(): HeavyRows | undefined {
    const { young } = this.insertions;
    return young && { rows: young.rows, othersMost: this.#factorAt(young.afterMs) };
  }

  #factorAt(insertedMs: number): number {
    const age = ageSecs(this.decay.nowMs, insertedMs);
    if (age !== this.#lastAgeSecs) {
      this.#lastAgeSecs = age;
      this.#lastFactor = ageFactor(age, this.decay.halfLifeSecs);
    }
    return this.#lastFactor;
  }
}
