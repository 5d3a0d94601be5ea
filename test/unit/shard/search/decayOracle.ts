/** The reference for decay: every row is weighed, and then sorted. */

import type { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import type { Found } from '../../../../shard/search/found.js';
import type { Decaying } from '../../../../shard/search/nearestDecayed.js';
import { InsertionTimes } from '../../../../shard/state/decayTimes.js';
import type { Decay } from '../../../../shared/protocol/calls.js';
import type { SeededRandom } from '../../../support/model/random.js';
import { Modelled, noPause, nearest as plainNearest, type Rows } from '../kernel/kernelOracle.js';

export const NOW_MS = 1_800_000_000_000;
const YEAR_MS = 365 * 86_400_000;

export interface ExpectedDecayed {
  readonly ids: number[];
  readonly scores: number[];
  readonly factors: number[];
  readonly agesSecs: number[];
}

/**
 * Insertion times of rows, at `share` of the way through them: in order or not, at once, over a year, or in the future.
 */
export const SPREADS: Readonly<Record<string, (random: SeededRandom, share: number) => number>> = {
  inOrder: (_random, share) => NOW_MS - Math.floor(YEAR_MS * (1 - share)),
  anyOrder: (random) => NOW_MS - Math.floor(YEAR_MS * random.next() ** 4),
  lately: (random) => NOW_MS - random.int(100_000),
  atOnce: () => NOW_MS - 7_654_321,
  inBatches: (_random, share) => NOW_MS - 3_600_000 * Math.ceil(5 * (1 - share)),
  partlyInTheFuture: (random) => NOW_MS + random.int(10_000_000) - 5_000_000,
};

export const HALF_LIVES_SECS = [1e-6, 0.5, 1, 60, 3_600, 86_400, 30 * 86_400, 1e9, 1e300];

/** Number of rows from which young rows are treated separately: lower than in a service. */
const YOUNG_FROM = 50;

/** A collection, its model, and the insertion times of its rows. */
export class Aging {
  readonly collection: Modelled;
  readonly times: InsertionTimes;
  readonly insertedMs = new Map<number, number>();

  constructor(dimension: number, memory?: VectorMemory) {
    this.collection = new Modelled(dimension, memory);
    this.times = new InsertionTimes(this.collection.vectors.shape, YOUNG_FROM);
  }

  insert(vector: Int32Array, insertedMs: number, id?: number): number {
    const slot = this.collection.insert(vector, id);
    this.times.set(slot, insertedMs);
    this.insertedMs.set(slot, insertedMs);
    return slot;
  }

  /** The collection as the search sees it, with an exact index that counts its requests. */
  decaying(serving: Decaying['index']['serving']): Decaying & { readonly asked: number[] } {
    const { vectors } = this.collection;
    const asked: number[] = [];
    return {
      vectors,
      asked,
      index: {
        serving,
        search: (query, n, eligible) => {
          asked.push(n);
          return vectors.search(query, n, noPause, { eligible });
        },
      },
      insertions: this.times,
    };
  }

  /** The nearest of `rows`, current or earlier ones. */
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
        return { id: ids[i]!, score: scores[i]!, age, factor: 2 ** -Math.min(age / decay.halfLifeSecs, 900) };
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
