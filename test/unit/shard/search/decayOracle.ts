/** The reference for decay: computes the decayed distance of every row, and sorts the rows by it. */

import type { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import type { Found } from '../../../../shard/search/found.js';
import type { Decaying } from '../../../../shard/search/nearestDecayed.js';
import { InsertionTimes } from '../../../../shard/state/decayTimes.js';
import type { Decay } from '../../../../shared/protocol/calls.js';
import type { SeededRandom } from '../../../support/model/random.js';
import { Modelled, noPause, nearest as plainNearest, type Rows } from '../kernel/kernelOracle.js';

export const NOW_MS = 1_800_000_000_000;
const YEAR_MS = 365 * 86_400_000;
/** Bound of the exponent: HALF_LIVES_MAX of `shard/search/decay.ts`. */
const HALF_LIVES_MAX = 900;

export interface ExpectedDecayed {
  readonly ids: number[];
  readonly scores: number[];
  readonly factors: number[];
  readonly agesSecs: number[];
}

/** Functions that return the insertion time of a row. `share`: the share of the rows inserted before it, 0 to 1. */
export const SPREADS: Readonly<Record<string, (random: SeededRandom, share: number) => number>> = {
  inOrder: (_random, share) => NOW_MS - Math.floor(YEAR_MS * (1 - share)),
  anyOrder: (random) => NOW_MS - Math.floor(YEAR_MS * random.next() ** 4),
  recent: (random) => NOW_MS - random.int(100_000),
  allAtOneTime: () => NOW_MS - 7_654_321,
  inBatches: (_random, share) => NOW_MS - 3_600_000 * Math.ceil(5 * (1 - share)),
  partlyInTheFuture: (random) => NOW_MS + random.int(10_000_000) - 5_000_000,
};

export const HALF_LIVES_SECS = [1e-6, 0.5, 1, 60, 3_600, 86_400, 30 * 86_400, 1e9, 1e300];

/** Number of slots from which young rows are found separately: lower than the default. */
const YOUNG_SLOTS_MIN = 50;

/** A collection, its model, and the insertion times of its rows. */
export class Aging {
  readonly collection: Modelled;
  readonly times: InsertionTimes;
  readonly insertedMs = new Map<number, number>();

  constructor(dimension: number, memory?: VectorMemory) {
    this.collection = new Modelled(dimension, memory);
    this.times = new InsertionTimes(this.collection.vectors.shape, YOUNG_SLOTS_MIN);
  }

  insert(vector: Int32Array, insertedMs: number, id?: number): number {
    const slot = this.collection.insert(vector, id);
    this.times.set(slot, insertedMs);
    this.insertedMs.set(slot, insertedMs);
    return slot;
  }

  /** The collection as a search reads it, with an exact index that notes in `requested` how many rows each search asks for. */
  decaying(serving: Decaying['index']['serving']): Decaying & { readonly requested: number[] } {
    const { vectors } = this.collection;
    const requested: number[] = [];
    return {
      vectors,
      requested,
      index: {
        serving,
        search: (query, n, eligible) => {
          requested.push(n);
          return vectors.search(query, n, noPause, { eligible });
        },
      },
      insertions: this.times,
    };
  }

  /** Returns the nearest `n` by decayed distance. `rows`: the current ones, or those of an earlier time. */
  nearest(
    query: Int32Array,
    n: number,
    decay: Decay,
    eligible?: ReadonlySet<number>,
    rows: Rows = this.collection.rows,
  ): ExpectedDecayed {
    const { slots, ids, scores } = plainNearest(rows, query, Number.POSITIVE_INFINITY, eligible);
    const best = slots
      .map((slot, i) => {
        const age = Math.max(0, Math.floor((decay.nowMs - this.insertedMs.get(slot)!) / 1000));
        return {
          id: ids[i]!,
          score: scores[i]!,
          age,
          factor: 2 ** -Math.min(age / decay.halfLifeSecs, HALF_LIVES_MAX),
        };
      })
      .sort((a, b) => a.score / a.factor - b.score / b.factor || a.score - b.score || a.id - b.id)
      .slice(0, n);
    return {
      ids: best.map(({ id }) => id),
      scores: best.map(({ score }) => score),
      factors: best.map(({ factor }) => factor),
      agesSecs: best.map(({ age }) => age),
    };
  }
}

export const listedDecayed = ({ ids, scores, aged }: Found): ExpectedDecayed => ({
  ids: [...ids],
  scores: [...scores],
  factors: [...aged!.factors],
  agesSecs: [...aged!.agesSecs],
});
