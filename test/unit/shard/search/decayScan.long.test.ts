// Covers: shard/search/nearestDecayed.ts, shard/search/decay.ts, shard/kernel/weightedScan.ts
import { expect } from 'chai';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import type { TopK } from '../../../../shard/kernel/topK.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { topWeighted, WeightedScan, weightedHits } from '../../../../shard/kernel/weightedScan.js';
import { aged, DecayWeights } from '../../../../shard/search/decay.js';
import { nearestDecayed } from '../../../../shard/search/nearestDecayed.js';
import type { Decay } from '../../../../shared/protocol/calls.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { noPause, randomVector } from '../kernel/kernelOracle.js';
import { Aging, type ExpectedDecayed, HALF_LIVES_SECS, listedDecayed, NOW_MS, SPREADS } from './decayOracle.js';

const ANY_ORDER = SPREADS.anyOrder!;

describe('an exact search with decay', () => {
  const random = seededRandom(testSeed());
  const anyDecay = (): Decay => ({ nowMs: NOW_MS + random.int(3) * 500, halfLifeSecs: random.pick(HALF_LIVES_SECS) });

  const filled = (dimension: number, rows: number, bound: number, spread = ANY_ORDER, memory?: VectorMemory): Aging => {
    const aging = new Aging(dimension, memory);
    for (let i = 0; i < rows; i++) aging.insert(randomVector(random, dimension, bound), spread(random, i / rows));
    return aging;
  };

  const check = async (aging: Aging, query: Int32Array, n: number, decay: Decay, share?: number): Promise<void> => {
    const { vectors, rows } = aging.collection;
    const chosen = share === undefined ? undefined : new Set([...rows.keys()].filter(() => random.next() < share));
    const eligible = chosen && new SlotSet(vectors.shape);
    for (const slot of chosen ?? []) eligible!.add(slot);
    const found = await nearestDecayed(aging.decaying('brute'), { query, n, decay, eligible }, noPause);
    expect(listedDecayed(found)).to.deep.equal(aging.nearest(query, n, decay, chosen));
    for (const [i, slot] of found.slots.entries()) expect(rows.get(slot)!.id).to.equal(found.ids[i]);
  };

  for (const [name, spread] of Object.entries(SPREADS)) {
    it(`orders by decayed distance with insertion times ${name}`, async () => {
      for (let round = 0; round < 40; round++) {
        const dimension = random.pick([1, 2, 3, 5, 8, 24]);
        const bound = 2 ** random.pick([1, 3, 17, 20, 26, 31]);
        const aging = filled(dimension, random.int(500), bound, spread);
        for (const slot of [...aging.collection.rows.keys()]) {
          const dice = random.int(10);
          if (dice === 0) aging.collection.retire(slot);
          if (dice === 1) aging.collection.release(slot);
        }
        for (let i = 0; i < 10; i++) {
          const share = random.pick([undefined, undefined, 0, 0.02, 0.5, 1]);
          const query = randomVector(random, dimension, bound);
          await check(aging, query, random.pick([1, 2, 10, 70, 300, 1_000]), anyDecay(), share);
        }
      }
    });
  }

  it('yields while thousands of rows are among the best so far, however few bytes they have', async () => {
    const aging = filled(128, 12_000, 2 ** 17);
    const query = randomVector(random, 128, 2 ** 17);
    const decay = { nowMs: NOW_MS, halfLifeSecs: 3_600 };
    const pauses = async (n: number): Promise<number> => {
      let count = 0;
      const pause = async (): Promise<void> => {
        count++;
      };
      await nearestDecayed(aging.decaying('brute'), { query, n, decay, eligible: undefined }, pause);
      return count;
    };
    expect(await pauses(10)).to.equal(0);
    expect(await pauses(5_000)).to.be.at.least(1);
  });

  it('finds the nearest rows in large blocks, with codes and without', async () => {
    for (const [dimension, rows] of [
      [128, 4_000],
      [1_100, 700],
    ] as const)
      for (const [bits, spread] of [
        [17, SPREADS.inOrder],
        [17, SPREADS.allAtOneTime],
        [24, SPREADS.anyOrder],
        [31, SPREADS.inOrder],
      ] as const) {
        const aging = filled(dimension, rows, 2 ** bits, spread);
        for (const halfLifeSecs of [3_600, 30 * 86_400, 1e9])
          for (const n of [1, 10, 400])
            await check(aging, randomVector(random, dimension, 2 ** bits), n, { nowMs: NOW_MS, halfLifeSecs });
      }
  });

  it('computes the factors of few rows if young and old rows are mixed, at any half-life', async () => {
    const ROWS = 6_000;
    const QUERIES = 16;
    const aging = filled(16, ROWS, 2 ** 17, (among) => NOW_MS - among.int(100 * 86_400_000));
    for (const [halfLifeSecs, n] of [
      [86_400, 10],
      [86_400, 60],
      [20 * 86_400, 10],
    ] as const) {
      let weighed = 0;
      class Counting extends DecayWeights {
        override atMost(slot: number): number {
          weighed++;
          return super.atMost(slot);
        }
      }
      const decay = { nowMs: NOW_MS, halfLifeSecs };
      // One query alone may be atypical, so many are averaged.
      for (let i = 0; i < QUERIES; i++) {
        const query = randomVector(random, 16, 2 ** 17);
        const weights = new Counting(aging.times, decay);
        const hits = await aging.collection.vectors.searchWeighted(query, n, { weights }, noPause);
        expect([...hits.ids]).to.deep.equal(aging.nearest(query, n, decay).ids);
      }
      expect(weighed / QUERIES).to.be.below(ROWS / 4);
    }
  });

  it('orders equal decayed distances by score, then by id', async () => {
    const aging = new Aging(1);
    const atAge = (component: number, ageSecs: number, id: number): void =>
      void aging.insert(Int32Array.of(component), NOW_MS - 1000 * ageSecs, id);
    // With squares of 1, 4 and 16 and a half-life of 60 s: all at 16.
    atAge(4, 0, 3);
    atAge(2, 120, 9);
    atAge(1, 240, 6);
    atAge(-4, 0, 2);
    atAge(-2, 120, 8);
    atAge(-1, 240, 7);
    atAge(0, 9_999, 50);
    atAge(0, 0, 51);
    for (const n of [1, 2, 3, 5, 8, 20]) await check(aging, Int32Array.of(0), n, { nowMs: NOW_MS, halfLifeSecs: 60 });
    const found = await nearestDecayed(
      aging.decaying('brute'),
      { query: Int32Array.of(0), n: 8, decay: { nowMs: NOW_MS, halfLifeSecs: 60 }, eligible: undefined },
      noPause,
    );
    expect([...found.ids]).to.deep.equal([50, 51, 6, 7, 8, 9, 2, 3]);
  });

  it('distinguishes factors that differ in the last bits only', async () => {
    for (let round = 0; round < 30; round++) {
      const aging = new Aging(6);
      const near = randomVector(random, 6, 2 ** 20);
      for (let i = 0; i < 200; i++)
        aging.insert(
          near.map((value) => value + random.int(2)),
          NOW_MS - 1_000 * random.int(1_000),
        );
      await check(aging, randomVector(random, 6, 2 ** 20), 20, {
        nowMs: NOW_MS,
        halfLifeSecs: 1e15 / 2 ** random.int(20),
      });
    }
  });

  it('finds a young record that is the farthest of all', async () => {
    const aging = filled(24, 5_000, 2 ** 10, () => NOW_MS - 365 * 86_400_000);
    const slot = aging.insert(new Int32Array(24).fill(2 ** 16), NOW_MS - 1_000);
    const query = new Int32Array(24);
    const found = await nearestDecayed(
      aging.decaying('brute'),
      { query, n: 3, decay: { nowMs: NOW_MS, halfLifeSecs: 86_400 }, eligible: undefined },
      noPause,
    );
    expect(found.slots[0]).to.equal(slot);
    expect(found.scores[0]).to.be.above(1_000 * found.scores[1]!);
  });

  it('finds the nearest rows in several arenas', async () => {
    const memory = new VectorMemory({ arenaBytes: 1 << 21 });
    for (const spread of [SPREADS.inOrder, ANY_ORDER]) {
      const aging = filled(256, 5_000, 2 ** 17, spread, memory);
      const { vectors } = aging.collection;
      expect(new Set(vectors.blocks.map(({ region }) => region.arena)).size).to.be.above(2);
      for (const n of [1, 10, 100]) await check(aging, randomVector(random, 256, 2 ** 17), n, anyDecay());
      vectors.destroy();
    }
  });

  it('pauses in a large collection, and ignores rows that are released meanwhile', async () => {
    const dimension = 2_048;
    const aging = filled(dimension, 10_000, 2 ** 17, SPREADS.inOrder);
    const { collection } = aging;
    const query = randomVector(random, dimension, 2 ** 17);
    const decay = { nowMs: NOW_MS, halfLifeSecs: 365 * 86_400 };
    const expected = aging.nearest(query, 20, decay, undefined, collection.frozen());
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses++;
      for (const slot of [...collection.rows.keys()]) if (random.next() < 0.5) collection.release(slot);
      await new Promise(setImmediate);
      aging.insert(query, NOW_MS);
    };
    const found = await nearestDecayed(aging.decaying('brute'), { query, n: 20, decay, eligible: undefined }, pause);
    expect(pauses).to.be.above(0);
    expect(listedDecayed(found)).to.deep.equal(expected);
  });

  it('finds nothing in an empty collection, and among dead rows', async () => {
    const aging = new Aging(9);
    await check(aging, new Int32Array(9), 10, anyDecay());
    aging.collection.retire(aging.insert(new Int32Array(9), NOW_MS));
    await check(aging, new Int32Array(9), 10, anyDecay());
  });

  it('finds the nearest rows of its start, whatever is written between its slices', () => {
    interface UnderWay {
      readonly scan: WeightedScan;
      readonly best: TopK;
      readonly decay: Decay;
      readonly expected: ExpectedDecayed;
    }
    const aging = filled(24, 1_000, 2 ** 17);
    const { collection } = aging;
    const begin = (): UnderWay => {
      const query = randomVector(random, 24, 2 ** 17);
      const decay = anyDecay();
      const best = topWeighted(15, collection.vectors);
      const scan = new WeightedScan(collection.vectors, query, best, {
        weights: new DecayWeights(aging.times, decay),
      });
      const expected = aging.nearest(query, 15, decay, undefined, collection.frozen());
      scan.step(1);
      return { scan, best, decay, expected };
    };
    const change = (): void => {
      const slots = [...collection.rows.keys()];
      for (let i = 0; i < 40; i++) {
        const slot = random.pick(slots);
        const dice = random.int(4);
        if (dice < 2 || !collection.rows.has(slot))
          aging.insert(randomVector(random, 24, 2 ** 17), ANY_ORDER(random, 0));
        else if (dice === 2) collection.retire(slot);
        else collection.release(slot);
      }
    };
    const finish = ({ scan, best, decay, expected }: UnderWay): void => {
      while (!scan.step(1));
      const found = aged(weightedHits(best, collection.vectors), aging.times, decay);
      scan.close();
      expect(listedDecayed(found)).to.deep.equal(expected);
    };
    const underWay: UnderWay[] = [];
    for (let round = 0; round < 150; round++) {
      if (underWay.length < 6) underWay.push(begin());
      change();
      for (const { scan } of underWay) if (random.next() < 0.5) scan.step(1);
      if (random.next() < 0.6) finish(underWay.splice(random.int(underWay.length), 1)[0]!);
    }
    for (const each of underWay) finish(each);
    const { vectors, memory } = collection;
    expect(vectors.blocks[0]!.region.arena.usedBytes, 'scans leave nothing behind').to.equal(memory.usedBytes);
  });
});
