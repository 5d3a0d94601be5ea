import type { Decay } from '../../shared/calls.js';
import type { HeavyRows, Weights } from '../kernel/weightedScan.js';
import { ageFactor, ageFactorMost, ageSecs } from './decay.js';
import type { Young } from './decayTimes.js';

/** Insertion times of a collection's slots, and the newest of each block's; unix milliseconds. */
export interface Insertions {
  insertedMsOf(slot: number): number;
  /** No row of block `index` was inserted later. */
  newestMsIn(index: number): number;
  young(): Young | undefined;
}

/** The factors of a collection's rows, as weights for a scan. The youngest rows are the heavy ones. */
export class DecayWeights implements Weights {
  /** Rows that come together were often inserted together. */
  #lastAgeSecs = 0;
  #lastFactor = 1;

  constructor(
    private readonly insertions: Insertions,
    private readonly decay: Decay,
  ) {}

  of(slot: number): number {
    return this.#factorAt(this.insertions.insertedMsOf(slot));
  }

  atMost(slot: number): number {
    const { nowMs, halfLifeSecs } = this.decay;
    return ageFactorMost(ageSecs(nowMs, this.insertions.insertedMsOf(slot)), halfLifeSecs);
  }

  most(index: number): number {
    return this.#factorAt(this.insertions.newestMsIn(index));
  }

  heavy(): HeavyRows | undefined {
    const young = this.insertions.young();
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
