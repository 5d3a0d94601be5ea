// Covers: shard/kernel/exactScan.ts, shard/kernel/assembly/scan.ts, shard/kernel/assembly/rows.ts
// Covers: shard/kernel/assembly/narrow.ts, shard/kernel/assembly/wide.ts, shard/kernel/assembly/nearness.ts
// Covers: shard/kernel/assembly/consider.ts, shard/kernel/assembly/heap.ts, shard/kernel/assembly/index.ts
// Covers: shard/kernel/assembly/lanes.ts, shard/kernel/assembly/way.ts, shard/kernel/kernel.ts
// Covers: shard/kernel/movingScratch.ts
import { expect } from 'chai';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { K_MAX } from '../../../../shared/limits.js';
import { rejection } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { component, listed, MAX, MIN, Modelled, nearest, noPause, randomVector } from './kernelOracle.js';

describe('an exact search', () => {
  const random = seededRandom(testSeed());

  for (const dimension of [1, 2, 3, 4, 5, 7, 8, 12, 100, 128, 768, 4_096, 32_768]) {
    it(`finds the nearest rows at ${dimension} dimensions, at any scale of the components`, async () => {
      const rows = Math.max(24, Math.min(900, Math.floor(200_000 / dimension)));
      for (const bits of [3, 17, 21, 25, 29, 31]) {
        const collection = new Modelled(dimension);
        for (let i = 0; i < rows; i++) collection.insert(randomVector(random, dimension, 2 ** bits));
        for (const k of [1, 10]) await collection.check(randomVector(random, dimension, 2 ** bits), k);
      }
    });
  }

  it('is exact at the ends of the range, where a sum takes 79 bits', async () => {
    for (const dimension of [1, 5, 128, 32_768]) {
      const collection = new Modelled(dimension);
      for (let i = 0; i < 20; i++)
        collection.insert(Int32Array.from({ length: dimension }, () => random.pick([MIN, MAX, MIN + 1, 0, -1])));
      collection.insert(new Int32Array(dimension).fill(MAX));
      collection.insert(new Int32Array(dimension).fill(MIN));
      for (const end of [MIN, MAX]) await collection.check(new Int32Array(dimension).fill(end), 30);
    }
  });

  it('refuses an invalid k, and then still answers', async () => {
    const collection = new Modelled(3);
    for (let i = 0; i < 900; i++) collection.insert(randomVector(random, 3, 2 ** 20));
    const query = randomVector(random, 3, 2 ** 20);
    for (const k of [-1, -(2 ** 31), 2.5, Number.NaN]) {
      const error = await rejection(Promise.resolve().then(() => collection.vectors.search(query, k, noPause)));
      expect(error, `${k}`).to.be.instanceOf(RangeError);
    }
    expect(collection.vectors.liveCount).to.equal(900);
    await collection.check(query, 900);
  });

  it('returns scores that are rounded once', async () => {
    const collection = new Modelled(2);
    collection.insert(Int32Array.of(MAX, 0));
    const { scores } = await collection.vectors.search(Int32Array.of(MIN, 1), 1, noPause);
    expect(scores[0]).to.equal(Number((2n ** 32n - 1n) ** 2n + 1n) / 2 ** 32);
  });

  it('orders equal distances by id, not by slot', async () => {
    const collection = new Modelled(6);
    const ids = Array.from({ length: 700 }, (_, i) => i + 1).sort(() => random.next() - 0.5);
    for (const id of ids) collection.insert(randomVector(random, 6, 1.99), id);
    for (const k of [1, 7, 100, 699, 700, 701]) await collection.check(randomVector(random, 6, 1.99), k);
  });

  it('finds the nearest rows if each row is nearer, or farther, than all before it', async () => {
    for (const direction of [-1, 1]) {
      const collection = new Modelled(16);
      for (let i = 0; i < 1_500; i++)
        collection.insert(new Int32Array(16).fill(100_000 + direction * 60 * i + random.int(60)));
      for (const k of [1, 10, 300]) await collection.check(new Int32Array(16), k);
    }
  });

  it('finds the nearest among rows that differ in the last bit only', async () => {
    for (const [dimension, scale] of [
      [128, 2 ** 20],
      [20, 2 ** 24],
      [1_100, 2 ** 15],
    ] as const) {
      const collection = new Modelled(dimension);
      const centre = randomVector(random, dimension, scale);
      for (let i = 0; i < 300; i++) collection.insert(centre.map((value) => value + random.int(3) - 1));
      await collection.check(randomVector(random, dimension, scale), 10);
      await collection.check(centre, 10);
    }
  });

  it('finds near rows in blocks that contain outliers of all sizes', async () => {
    const collection = new Modelled(4_096);
    const centre = randomVector(random, 4_096, 2 ** 14);
    const nearby = (): Int32Array => {
      const spread = 2 ** (6 + 8 * random.next());
      return centre.map((value) => value + component(random, spread));
    };
    for (let block = 0; block < 10; block++) {
      const outlier = 2 ** random.pick([14, 18, 21, 31]) - 1;
      const rows = collection.vectors.shape.rows(block);
      for (let i = 0; i < rows; i++) {
        const vector = nearby();
        if (i % 20 === 0) vector[random.int(4_096)] = outlier;
        collection.insert(vector);
      }
    }
    for (const k of [1, 5, 60]) await collection.check(centre, k);
  });

  it('finds rows nearer than 2^64 after rows at exactly that distance', async () => {
    const collection = new Modelled(4);
    const far = collection.vectors.shape.rows(0);
    for (let i = 0; i < far; i++) collection.insert(new Int32Array(4).fill(MIN));
    for (let i = 0; i < 20; i++) collection.insert(randomVector(random, 4, 2 ** 20));
    for (const k of [1, far]) await collection.check(new Int32Array(4), k);
  });

  it('accepts k from 1 to the maximum, below and above the number of rows', async () => {
    const collection = new Modelled(3);
    for (let i = 0; i < K_MAX + 300; i++) {
      collection.insert(randomVector(random, 3, 2 ** 20));
      if ([1, 2, 63, 64, 65, 4_999].includes(collection.rows.size)) await collection.check(new Int32Array(3), K_MAX);
    }
    for (const k of [1, 2, 1_000, K_MAX]) await collection.check(randomVector(random, 3, 2 ** 20), k);
  });

  it('finds nothing in an empty collection, and among dead rows', async () => {
    const collection = new Modelled(9);
    await collection.check(new Int32Array(9), 10);
    const slot = collection.insert(new Int32Array(9));
    collection.retire(slot);
    await collection.check(new Int32Array(9), 10);
    expect(await collection.vectors.search(new Int32Array(9), 10, noPause)).to.have.nested.property('ids.length', 0);
  });

  it('finds the live rows after inserts, soft and hard deletes in any order', async () => {
    for (const dimension of [4, 31, 128]) {
      const collection = new Modelled(dimension);
      for (let i = 0; i < 2_000; i++) {
        const slots = [...collection.rows.keys()];
        const dice = random.int(10);
        if (dice < 6 || slots.length === 0) collection.insert(randomVector(random, dimension, 2 ** 18));
        else if (dice < 8) collection.retire(random.pick(slots));
        else collection.release(random.pick(slots));
        if (i % 100 === 99) await collection.check(randomVector(random, dimension, 2 ** 18), 1 + random.int(40));
      }
      const live = [...collection.rows.values()].filter((row) => row.live).length;
      expect(collection.vectors.liveCount).to.equal(live);
    }
  });

  it('considers only eligible rows', async () => {
    const collection = new Modelled(10);
    for (let i = 0; i < 5_000; i++) collection.insert(randomVector(random, 10, 2 ** 18));
    for (const slot of collection.rows.keys()) if (random.next() < 0.1) collection.retire(slot);
    for (const share of [0, 0.001, 0.05, 0.5, 1]) {
      const chosen = new Set([...collection.rows.keys()].filter(() => random.next() < share));
      const eligible = new SlotSet(collection.vectors.shape);
      for (const slot of chosen) eligible.add(slot);
      const query = randomVector(random, 10, 2 ** 18);
      const hits = await collection.vectors.search(query, 25, noPause, { eligible });
      expect(listed(hits)).to.deep.equal(nearest(collection.rows, query, 25, chosen));
    }
  });

  it('reads a query at any alignment', async () => {
    const collection = new Modelled(5);
    for (let i = 0; i < 50; i++) collection.insert(randomVector(random, 5, 2 ** 20));
    const query = Int32Array.from({ length: 5 }, () => component(random, 2 ** 20));
    const shifted = new Uint8Array(21);
    shifted.set(new Uint8Array(query.buffer), 1);
    const hits = await collection.vectors.search(shifted.subarray(1), 8, noPause);
    expect(listed(hits)).to.deep.equal(nearest(collection.rows, query, 8));
  });
});
