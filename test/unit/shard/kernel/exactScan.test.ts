// Covers: shard/kernel/exactScan.ts, shard/kernel/slicedScan.ts, shard/kernel/rowChoice.ts, shard/kernel/slotReuse.ts
// Covers: shard/kernel/scanScratch.ts, shard/kernel/sharedScan.ts, shard/kernel/way.ts
/** Slices, slots and memory of exact scans. `codePlane.test.ts` tests the bound by which they exclude rows. */
import { expect } from 'chai';
import { ExactScan } from '../../../../shard/kernel/exactScan.js';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { type Expected, listed, Modelled, nearest, randomVector } from './kernelOracle.js';

const DIMENSION = 24;
const K = 15;

interface RunningScan {
  readonly scan: ExactScan;
  readonly expected: Expected;
}

describe('a search in slices', () => {
  const random = seededRandom(testSeed());
  const vector = (): Int32Array => randomVector(random, DIMENSION, 2 ** 17);

  const filled = (rows: number): Modelled => {
    const collection = new Modelled(DIMENSION);
    for (let i = 0; i < rows; i++) collection.insert(vector());
    return collection;
  };

  /** Starts a scan of one block per step. `expected`: the hits that the rows of its start give. */
  const begin = (collection: Modelled): RunningScan => {
    const query = vector();
    const scan = new ExactScan(collection.vectors, query, K);
    const expected = nearest(collection.frozen(), query, K);
    scan.step(1);
    return { scan, expected };
  };

  const finish = ({ scan, expected }: RunningScan): void => {
    while (!scan.step(1));
    expect(listed(scan.hits())).to.deep.equal(expected);
    scan.close();
  };

  const change = (collection: Modelled): void => {
    const slots = [...collection.rows.keys()];
    for (let i = 0; i < 40; i++) {
      const slot = random.pick(slots);
      const dice = random.int(4);
      if (dice < 2 || !collection.rows.has(slot)) collection.insert(vector());
      else if (dice === 2) collection.retire(slot);
      else collection.release(slot);
    }
  };

  it('finds the nearest rows of its start, whatever is written meanwhile', () => {
    const collection = filled(1_000);
    for (let round = 0; round < 20; round++) {
      const running = begin(collection);
      change(collection);
      running.scan.step(1);
      change(collection);
      finish(running);
    }
  });

  it('finds the nearest rows of its start beside concurrent searches, and all free their memory', async () => {
    const collection = filled(600);
    const running: RunningScan[] = [];
    for (let round = 0; round < 120; round++) {
      if (running.length < 6) running.push(begin(collection));
      change(collection);
      for (const { scan } of running) if (random.next() < 0.5) scan.step(1);
      if (random.next() < 0.6) finish(running.splice(random.int(running.length), 1)[0]!);
    }
    for (const each of running) finish(each);
    await collection.check(vector(), K);
    const { vectors, memory } = collection;
    expect(vectors.blocks[0]!.region.arena.usedBytes, 'all memory of scans is freed').to.equal(memory.usedBytes);
  });

  it('takes less of a slice for a few rows of each block than for all of them', () => {
    const collection = filled(20_000);
    const { vectors } = collection;
    const few = new SlotSet(vectors.shape);
    for (let slot = 0; slot < 20_000; slot += 500) few.add(slot);
    const query = vector();
    const stepsOf = (eligible: SlotSet | undefined): number => {
      const scan = new ExactScan(vectors, query, K, { eligible });
      let steps = 1;
      while (!scan.step(64 * 1024)) steps++;
      scan.close();
      return steps;
    };
    expect(stepsOf(undefined)).to.be.above(1);
    expect(stepsOf(few)).to.equal(1);
  });

  it('delays the reuse of a released slot until every scan that began before the release has ended', () => {
    const collection = filled(300);
    const early = begin(collection);
    collection.release(5);
    const late = begin(collection);
    collection.release(6);
    expect(collection.insert(vector())).to.equal(300);
    finish(early);
    expect(collection.insert(vector())).to.equal(5);
    expect(collection.insert(vector())).to.equal(301);
    finish(late);
    expect(collection.insert(vector())).to.equal(6);
  });

  it('ends normally if the collection is destroyed meanwhile, and then frees the memory', () => {
    const collection = filled(500);
    const running = begin(collection);
    collection.vectors.destroy();
    expect(collection.memory.usedBytes).to.be.above(0);
    finish(running);
    expect(collection.memory.usedBytes).to.equal(0);
  });

  it('frees its memory and the slots that it reserved when it is closed early, also twice', () => {
    const collection = filled(500);
    const { scan } = begin(collection);
    collection.release(3);
    scan.close();
    scan.close();
    expect(collection.insert(vector())).to.equal(3);
    expect(collection.vectors.blocks[0]!.region.arena.usedBytes).to.equal(collection.memory.usedBytes);
  });

  it('pauses between slices of a large collection, and never in a small one', async () => {
    let pauses = 0;
    const pause = async (): Promise<void> => {
      pauses++;
      await new Promise(setImmediate);
    };
    const small = filled(3_000);
    await small.vectors.search(vector(), K, pause);
    expect(pauses).to.equal(0);

    const large = new Modelled(2_048);
    for (let i = 0; i < 10_000; i++) large.insert(new Int32Array(2_048).fill(random.int(2 ** 17)));
    const query = randomVector(random, 2_048, 2 ** 17);
    const hits = await large.vectors.search(query, 3, pause);
    // Reading codes costs less than the 82 MB of vectors: three slices of 12 MiB, with a pause between two.
    expect(pauses).to.equal(2);
    expect([...hits.scores]).to.deep.equal([...hits.scores].sort((a, b) => a - b));
  });
});
