// Covers: shard/search/nearestDecayed.ts, shard/search/decay.ts
import { expect } from 'chai';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { nearestDecayed } from '../../../../shard/search/nearestDecayed.js';
import type { Decay } from '../../../../shared/protocol/calls.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { noPause, randomVector } from '../kernel/kernelOracle.js';
import { Aging, HALF_LIVES_SECS, listedDecayed, NOW_MS, SPREADS } from './decayOracle.js';

const DIMENSION = 4;
const ROWS = 20_000;
const BOUND = 2 ** 17;
const DAY_SECS = 86_400;

describe('an indexed search with decay', () => {
  const random = seededRandom(testSeed());
  const filled = (rows: number, spread: (typeof SPREADS)[string], bound = BOUND): Aging => {
    const aging = new Aging(DIMENSION);
    for (let i = 0; i < rows; i++) aging.insert(randomVector(random, DIMENSION, bound), spread(random, i / rows));
    return aging;
  };
  const query = (bound = BOUND): Int32Array => randomVector(random, DIMENSION, bound);
  const lasting = (days: number): Decay => ({ nowMs: NOW_MS, halfLifeSecs: days * DAY_SECS });

  /** Returns the number of candidates in each request to the index. */
  const check = async (aging: Aging, at: Int32Array, n: number, decay: Decay, share?: number): Promise<number[]> => {
    const { vectors, rows } = aging.collection;
    const chosen = share === undefined ? undefined : new Set([...rows.keys()].filter(() => random.next() < share));
    const eligible = chosen && new SlotSet(vectors.shape);
    for (const slot of chosen ?? []) eligible!.add(slot);
    const decaying = aging.decaying('hnsw');
    const found = await nearestDecayed(decaying, { query: at, n, decay, eligible }, noPause);
    expect(listedDecayed(found)).to.deep.equal(aging.nearest(at, n, decay, chosen));
    return decaying.requested;
  };

  for (const [name, spread] of Object.entries(SPREADS)) {
    it(`orders by decayed distance with insertion times ${name}`, async () => {
      for (const bound of [4, BOUND, 2 ** 31]) {
        const aging = filled(ROWS / 2, spread, bound);
        for (const slot of aging.collection.rows.keys()) if (random.next() < 0.05) aging.collection.retire(slot);
        for (const halfLifeSecs of HALF_LIVES_SECS) {
          const decay = { nowMs: NOW_MS, halfLifeSecs };
          await check(aging, query(bound), random.pick([1, 10, 20]), decay, random.pick([undefined, 0.01, 0.9]));
        }
      }
    });
  }

  it('requests candidates once if age changes little, or is equal for all rows', async () => {
    const inOrder = filled(ROWS, SPREADS.inOrder!);
    expect(await check(inOrder, query(), 10, lasting(36_500))).to.deep.equal([64]);
    const allAtOneTime = filled(ROWS, SPREADS.allAtOneTime!);
    for (const days of [0.001, 1, 100])
      expect(await check(allAtOneTime, query(), 10, lasting(days))).to.deep.equal([64]);
  });

  it('finds a young record that is the farthest of all, without another request', async () => {
    const aging = filled(ROWS, () => NOW_MS - 365 * DAY_SECS * 1_000);
    const slot = aging.insert(new Int32Array(DIMENSION).fill(8 * BOUND), NOW_MS - 1_000);
    const decaying = aging.decaying('hnsw');
    const found = await nearestDecayed(
      decaying,
      { query: query(), n: 3, decay: lasting(1), eligible: undefined },
      noPause,
    );
    expect(found.slots[0]).to.equal(slot);
    expect(found.aged!.factors[0]).to.be.above(0.99);
    expect(decaying.requested).to.deep.equal([64]);
  });

  it('requests more candidates if many rows may be among the best, and scans all if that costs less', async () => {
    const aging = filled(ROWS, () => NOW_MS - random.int(365 * DAY_SECS) * 1_000);
    const asked: number[] = [];
    for (let i = 0; i < 20; i++) asked.push(...(await check(aging, query(), 10, lasting(2 ** random.int(10)))));
    expect(asked).to.include(256);
    expect(Math.max(...asked)).to.equal(256);
    expect(await check(aging, query(), 10, lasting(0.001))).to.deep.equal([64, 256]);
  });

  it('scans if that is cheaper than the index', async () => {
    const aging = filled(3_000, SPREADS.inOrder!);
    expect(await check(aging, query(), 10, lasting(30))).to.deep.equal([]);
    const large = filled(ROWS, SPREADS.inOrder!);
    expect(await check(large, query(), 500, lasting(30))).to.deep.equal([]);
    expect(await check(large, query(), 10, lasting(30), 0.01)).to.deep.equal([]);
  });

  it('returns all rows if there are fewer than requested', async () => {
    const aging = filled(ROWS, SPREADS.inOrder!);
    const { vectors } = aging.collection;
    const decaying = aging.decaying('hnsw');
    const few = {
      ...decaying,
      index: { ...decaying.index, search: (at: Int32Array) => vectors.search(at, 40, noPause) },
    };
    const at = query();
    const found = await nearestDecayed(few, { query: at, n: 60, decay: lasting(10), eligible: undefined }, noPause);
    const nearest40 = new Set((await vectors.search(at, 40, noPause)).slots);
    expect(listedDecayed(found)).to.deep.equal(aging.nearest(at, 60, lasting(10), nearest40));
  });
});
