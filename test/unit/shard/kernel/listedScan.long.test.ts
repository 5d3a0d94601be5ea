// Covers: shard/kernel/listedScan.ts, shard/kernel/ascending.ts, shard/kernel/assembly/listScan.ts
import { expect } from 'chai';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { listed, Modelled, nearest, noPause, type Rows, randomVector } from './kernelOracle.js';

const ARENA_BYTES = 1 << 21;

describe('the ranking of rows', () => {
  const random = seededRandom(testSeed());

  const filled = (dimension: number, rows: number, bound = 2 ** 18, memory = new VectorMemory()): Modelled => {
    const collection = new Modelled(dimension, memory);
    for (let i = 0; i < rows; i++) collection.insert(randomVector(random, dimension, bound));
    return collection;
  };

  const retireSome = (collection: Modelled, share: number): void => {
    for (const slot of collection.rows.keys()) if (random.next() < share) collection.retire(slot);
  };

  const some = (rows: Rows, share: number): number[] => [...rows.keys()].filter(() => random.next() < share);

  const shuffled = (slots: readonly number[]): number[] =>
    slots
      .map((slot) => ({ slot, place: random.next() }))
      .sort((a, b) => a.place - b.place)
      .map(({ slot }) => slot);

  const setOf = ({ vectors }: Modelled, slots: Iterable<number>): SlotSet => {
    const set = new SlotSet(vectors.shape);
    for (const slot of slots) set.add(slot);
    return set;
  };

  const checkRank = async (collection: Modelled, slots: readonly number[], k: number, bound = 2 ** 18) => {
    const query = randomVector(random, collection.dimension, bound);
    const hits = await collection.vectors.rank(query, k, { slots: Uint32Array.from(slots) }, noPause);
    expect(listed(hits)).to.deep.equal(nearest(collection.rows, query, k, new Set(slots)));
  };

  describe('in a list', () => {
    for (const dimension of [1, 3, 4, 100, 768]) {
      it(`is exact at ${dimension} dimensions, at any scale of the components`, async () => {
        for (const bits of [3, 17, 21, 25, 31]) {
          const collection = filled(dimension, Math.floor(120_000 / (dimension + 60)), 2 ** bits);
          retireSome(collection, 0.1);
          for (const share of [0.01, 0.3, 1])
            for (const k of [1, 10, 300])
              await checkRank(collection, shuffled(some(collection.rows, share)), k, 2 ** bits);
        }
      });
    }

    it('counts a repeated slot once, and skips dead, free and absent slots', async () => {
      const collection = filled(7, 900);
      retireSome(collection, 0.2);
      for (const slot of some(collection.rows, 0.2)) collection.release(slot);
      const slots = [...Array(900).keys()].filter(() => random.next() < 0.5);
      const all = [...slots, ...slots, 900, 901, 65_536, 1_000_000_007, 2 ** 32 - 2, 2 ** 32 - 1];
      for (const given of [shuffled(all), [...all].sort((a, b) => a - b)]) await checkRank(collection, given, 400);
    });

    it('finds nothing in an empty list, and among dead rows', async () => {
      const collection = filled(5, 20);
      await checkRank(collection, [], 10);
      retireSome(collection, 1);
      await checkRank(collection, [1, 2, 3], 10);
      await checkRank(new Modelled(5), [0, 1, 2], 10);
    });

    it('considers only eligible rows', async () => {
      const collection = filled(12, 3_000);
      retireSome(collection, 0.1);
      for (const share of [0, 0.01, 0.5, 1]) {
        const chosen = new Set(some(collection.rows, share));
        const slots = some(collection.rows, 0.3);
        const both = new Set(slots.filter((slot) => chosen.has(slot)));
        const query = randomVector(random, 12, 2 ** 18);
        for (const given of [slots, shuffled(slots)]) {
          const list = Uint32Array.from(given);
          const hits = await collection.vectors.rank(
            query,
            20,
            { slots: list, eligible: setOf(collection, chosen) },
            noPause,
          );
          expect(listed(hits)).to.deep.equal(nearest(collection.rows, query, 20, both));
        }
      }
    });

    it('is exact for tens of thousands in any order, over several arenas', async () => {
      const memory = new VectorMemory({ arenaBytes: ARENA_BYTES });
      const collection = filled(64, 15_000, 2 ** 18, memory);
      const arenas = new Set(collection.vectors.blocks.map(({ region }) => region.arena));
      expect(arenas.size).to.be.above(1);
      retireSome(collection, 0.1);
      const slots = some(collection.rows, 0.7);
      for (const given of [slots, shuffled(slots)]) {
        await checkRank(collection, given, 50);
        const chosen = new Set(some(collection.rows, 0.5));
        const query = randomVector(random, 64, 2 ** 18);
        const list = Uint32Array.from(given);
        const hits = await collection.vectors.rank(
          query,
          50,
          { slots: list, eligible: setOf(collection, chosen) },
          noPause,
        );
        const both = new Set(slots.filter((slot) => chosen.has(slot)));
        expect(listed(hits)).to.deep.equal(nearest(collection.rows, query, 50, both));
      }
    });

    it('frees all scratch memory', async () => {
      const collection = filled(9, 500);
      await checkRank(collection, shuffled(some(collection.rows, 0.5)), 10);
      const { vectors, memory } = collection;
      expect(vectors.blocks[0]!.region.arena.usedBytes).to.equal(memory.usedBytes);
    });

    it('counts a repeated slot once when a pause is between its places', async () => {
      const collection = filled(768, 3_000);
      const query = randomVector(random, 768, 2 ** 18);
      const slots = some(collection.rows, 0.9).flatMap((slot) => [slot, slot, slot]);
      let pauses = 0;
      const hits = await collection.vectors.rank(query, 3_000, { slots: Uint32Array.from(slots) }, async () => {
        pauses++;
      });
      expect(pauses).to.be.above(0);
      expect(listed(hits)).to.deep.equal(nearest(collection.rows, query, 3_000, new Set(slots)));
    });

    it('pauses for many rows, and ranks the rows that were live at its start', async () => {
      const collection = filled(1_024, 8_000, 2 ** 31);
      const query = randomVector(random, 1_024, 2 ** 31);
      const slots = some(collection.rows, 0.9);
      const expected = nearest(collection.frozen(), query, 30, new Set(slots));
      let pauses = 0;
      const hits = await collection.vectors.rank(query, 30, { slots: Uint32Array.from(slots) }, async () => {
        pauses++;
        for (const slot of expected.slots) if (collection.rows.has(slot)) collection.release(slot);
        collection.insert(query);
      });
      expect(pauses).to.be.above(0);
      expect(listed(hits)).to.deep.equal(expected);
      expect(collection.insert(query), 'slots are free again').to.be.below(8_000);
    });
  });

  describe('outside a set', () => {
    it('considers all other rows, or only eligible ones', async () => {
      const collection = filled(10, 5_000);
      retireSome(collection, 0.1);
      const live = new Map([...collection.rows].filter(([, row]) => row.live));
      for (const share of [0, 0.5, 0.99, 1]) {
        const covered = new Set(some(live, share));
        const eligible = new Set(some(collection.rows, 0.5));
        const query = randomVector(random, 10, 2 ** 18);
        const except = setOf(collection, covered);
        const rest = [...live.keys()].filter((slot) => !covered.has(slot));
        const tail = await collection.vectors.search(query, 25, noPause, { except });
        expect(listed(tail)).to.deep.equal(nearest(collection.rows, query, 25, new Set(rest)));
        const chosen = await collection.vectors.search(query, 25, noPause, {
          except,
          eligible: setOf(collection, eligible),
        });
        const both = new Set(rest.filter((slot) => eligible.has(slot)));
        expect(listed(chosen)).to.deep.equal(nearest(collection.rows, query, 25, both));
      }
    });

    it('considers the rows of its start, however the sets change during a pause', async () => {
      const collection = filled(1_024, 8_000, 2 ** 31);
      const query = randomVector(random, 1_024, 2 ** 31);
      const covered = some(collection.rows, 0.1);
      const rest = [...collection.rows.keys()].filter((slot) => !covered.includes(slot) && slot % 3 > 0);
      const expected = nearest(collection.frozen(), query, 30, new Set(rest));
      const except = setOf(collection, covered);
      const eligible = setOf(
        collection,
        [...collection.rows.keys()].filter((slot) => slot % 3 > 0),
      );
      let pauses = 0;
      const hits = await collection.vectors.search(
        query,
        30,
        async () => {
          pauses++;
          for (const slot of expected.slots) except.add(slot);
          for (const slot of covered) except.delete(slot);
          for (const slot of collection.rows.keys()) if (slot % 3 === 1) eligible.delete(slot);
        },
        { eligible, except },
      );
      expect(pauses).to.be.above(0);
      expect(listed(hits)).to.deep.equal(expected);
    });
  });

  describe('in a set of slots', () => {
    it('considers live and retired rows, and keeps rows that are released during a pause', async () => {
      const collection = filled(1_024, 3_000, 2 ** 31);
      retireSome(collection, 0.3);
      const kept = new Set(some(collection.rows, 0.9));
      const then = new Map([...collection.frozen()].map(([slot, row]) => [slot, { ...row, live: true }]));
      const query = randomVector(random, 1_024, 2 ** 31);
      const scan = collection.vectors.beginScan();
      let pauses = 0;
      const release = async (): Promise<void> => {
        pauses++;
        for (const slot of some(collection.rows, 0.1)) collection.release(slot);
      };
      const hits = await collection.vectors.search(query, 40, release, { only: setOf(collection, kept) });
      collection.vectors.endScan(scan);
      expect(pauses).to.be.above(0);
      expect(listed(hits)).to.deep.equal(nearest(then, query, 40, kept));
    });
  });
});
