// Covers: shard/index/recordSet.ts
/**
 * Records that get new vectors while an index serves: searches find the new vectors and not the old ones, and no record twice.
 */
import { expect } from 'chai';
import { ReplacedSince } from '../../../../shard/index/replaced.js';
import { systemClock } from '../../../../shared/clock.js';
import type { Results, SearchCall } from '../../../../shared/protocol/calls.js';
import { nextTurn, Slice } from '../../../../shared/scheduling/slice.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { batchOf, fixed, soon } from '../../../support/rigs/engine.js';
import { type IndexRig, openIndexRig } from '../../../support/rigs/indexRig.js';

const DIMENSION = 8;
const ROWS = 1_500;
const K = 10;
const PARAMETERS = { hnsw: {}, ivf: { nList: 16, nProbe: 16 }, bq: { candidates: 400 } } as const;

type Vector = readonly number[];

const numbers = (bytes: Uint8Array): number[] => [...new Float64Array(new Uint8Array(bytes).buffer)];

describe('the records that were replaced since an event', () => {
  const times = (replaced: (n: number) => number, replacements: number): ReplacedSince =>
    new ReplacedSince({ replacementsAt: () => 0, replacements, replacedRecord: replaced }, 0);

  it('are each listed once, in the order of their first replacements', async () => {
    const records = [7, 3, 7, 9, 3];
    const replaced = times((n) => records[n]!, records.length);
    await replaced.read(new Slice(systemClock));
    expect([...replaced.records()]).to.deep.equal([7, 3, 9]);
    expect([3, 4].map((id) => replaced.has(id))).to.deep.equal([true, false]);
  });

  it('may be more than a Set has room for', async () => {
    const count = 2 ** 24 + 1;
    const replaced = times((n) => n + 1, count);
    await replaced.read(new Slice(systemClock));
    expect(replaced.records()).to.have.length(count);
    expect([count, count + 1].map((id) => replaced.has(id))).to.deep.equal([true, false]);
  }).timeout(60_000);
});

for (const kind of ['hnsw', 'ivf', 'bq'] as const)
  describe(`records that are replaced under an index of kind ${kind}`, () => {
    let random: SeededRandom;
    let rig: IndexRig;
    /** Vector of record id n at n − 1. */
    let vectors: Vector[];

    beforeEach(async () => {
      random = seededRandom(testSeed());
      rig = await openIndexRig({ dimension: DIMENSION });
      vectors = [];
    });
    afterEach(() => rig.dispose());

    const someVector = (): Vector => Array.from({ length: DIMENSION }, () => random.int(10_000));
    /** Gives records new vectors. Returns the old ones. */
    async function upsert(places: readonly number[]): Promise<Vector[]> {
      const before = places.map((place) => vectors[place]!);
      const batch = places.map(someVector);
      const call = {
        ...batchOf(batch.map((row) => fixed(...row))),
        externalIds: places.map((place) => `doc ${place}`),
      };
      const { ids } = (await rig.collection.hosted.run(call, soon())) as Results['insertBatch'];
      expect(numbers(ids)).to.deep.equal(places.map((place) => place + 1));
      for (const [i, place] of places.entries()) vectors[place] = batch[i]!;
      return before;
    }
    const all = Array.from({ length: ROWS }, (_, place) => place);
    const some = (count: number): number[] => [...new Set(Array.from({ length: count }, () => random.int(ROWS)))];
    async function search(query: Vector, options: Partial<SearchCall> = {}): Promise<Map<number, number>> {
      const call = { op: 'search', query: fixed(...query), k: K, ...options } as const;
      const { ids, scores } = (await rig.collection.hosted.run(call, soon())) as Results['search'];
      const found = new Map(numbers(ids).map((id, i) => [id, numbers(scores)[i]!]));
      expect(found.size, 'no record twice').to.equal(numbers(ids).length);
      expect(found.size).to.equal(K);
      return found;
    }
    async function expectReplaced(places: readonly number[], before: readonly Vector[]): Promise<void> {
      for (const [i, place] of places.entries()) {
        expect((await search(vectors[place]!)).get(place + 1), `the new vector of ${place}`).to.equal(0);
        const atOld = (await search(before[i]!)).get(place + 1);
        const distance = vectors[place]!.reduce((sum, value, n) => sum + (value - before[i]![n]!) ** 2, 0);
        expect(atOld ?? distance, `the old vector of ${place}`).to.equal(distance);
      }
    }

    it('are found by their new vectors: at once, absorbed, after a restart, and in a new build', async () => {
      await upsert(all);
      await rig.collection.configure(kind, PARAMETERS[kind]);
      await rig.collection.settled();
      const places = some(150);
      const before = await upsert(places);
      await expectReplaced(places, before);
      await rig.restart();
      await rig.collection.settled();
      await expectReplaced(places, before);
      const more = some(150);
      const beforeMore = await upsert(more);
      await rig.restart();
      await rig.collection.settled();
      await expectReplaced(more, beforeMore);
      await rig.collection.rebuild(null);
      await expectReplaced(more, beforeMore);
    });

    it('are found exactly once by concurrent searches', async () => {
      await upsert(all);
      await rig.collection.configure(kind, PARAMETERS[kind]);
      await rig.collection.settled();
      let isWriting = true;
      const fields = { fields: ['text'], maxBytes: 1 << 20 } as const;
      const options = [
        {},
        fields,
        { text: { query: 'a', hybrid: true } },
        { decay: { halfLifeSecs: 1e9, nowMs: 4e12 } },
      ];
      const searching = (async () => {
        for (let n = 0; isWriting; n++) {
          await search(someVector(), options[n % options.length]);
          await nextTurn();
        }
      })();
      for (let round = 0; round < 40; round++) {
        await upsert(some(40));
        await nextTurn();
      }
      isWriting = false;
      await searching;
    });
  });
