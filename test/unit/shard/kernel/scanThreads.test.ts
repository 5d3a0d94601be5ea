import { availableParallelism } from 'node:os';
import { expect } from 'chai';
import { SEARCH_PROGRAM } from '../../../../shard/index/searchProgram.js';
import { ExactScan } from '../../../../shard/kernel/exactScan.js';
import { ScanThreads, threadsOf } from '../../../../shard/kernel/scanThreads.js';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { silentLogger } from '../../../../shared/logger.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { type Expected, listed, Modelled, nearest, randomVector } from './kernelOracle.js';

const DIMENSION = 64;
const K = 15;
const ROWS = 12_000;
/** Size of an arena: small, so that the rows need several. */
const ARENA_BYTES = 1 << 21;

/** A program whose thread exits when it receives a scan. */
const DYING_PROGRAM = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', ({ op }) => op === 'scan' && process.exit(1));
    parentPort.postMessage(null);`)}`,
);

describe('threads that share scans', () => {
  const random = seededRandom(testSeed());
  const opened: ScanThreads[] = [];
  /** `loop` or `threads` for each scan. */
  const scannedBy: string[] = [];

  const open = (count: number, costMinBytes = 0, program = SEARCH_PROGRAM): ScanThreads => {
    const options = { count, costMinBytes, logger: silentLogger, onScan: (by: string) => scannedBy.push(by) };
    const threads = new ScanThreads(options, program);
    opened.push(threads);
    return threads;
  };

  beforeEach(() => scannedBy.splice(0));
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((threads) => threads.close()));
  });

  const vector = (bound = 2 ** 17): Int32Array => randomVector(random, DIMENSION, bound);

  const filled = (threads: ScanThreads, rows = ROWS, bound?: number): Modelled => {
    const collection = new Modelled(DIMENSION, new VectorMemory({ threads, arenaBytes: ARENA_BYTES }));
    for (let i = 0; i < rows; i++) collection.insert(vector(bound));
    return collection;
  };

  /** Starts a search. The returned function checks that its hits are those of this call, whatever is written meanwhile. */
  const search = ({ vectors, rows }: Modelled, k = K): (() => Promise<void>) => {
    const query = vector();
    const expected: Expected = nearest(rows, query, k);
    const found = vectors.search(query, k, nextTurn);
    return async () => {
      expect(listed(await found)).to.deep.equal(expected);
    };
  };

  const change = (collection: Modelled): void => {
    const slots = [...collection.rows.keys()];
    for (let i = 0; i < 300; i++) {
      const slot = random.pick(slots);
      const dice = random.int(5);
      if (dice < 3 || !collection.rows.has(slot)) collection.insert(vector(dice === 0 ? 2 ** 20 : 2 ** 17));
      else if (dice === 3) collection.retire(slot);
      else collection.release(slot);
    }
  };

  /** Blocks the event loop for 20 ms, in which only the threads scan. */
  const blockLoop = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);

  const usedByScans = ({ vectors, memory }: Modelled): number => {
    const arenas = new Set(vectors.blocks.map(({ region }) => region.arena));
    return [...arenas].reduce((sum, { usedBytes }) => sum + usedBytes, 0) - memory.usedBytes;
  };

  for (const count of [0, 1, 2]) {
    it(`find the nearest rows of the start of each search, during writes, with ${count} threads`, async () => {
      const collection = filled(open(count));
      expect(new Set(collection.vectors.blocks.map(({ region }) => region.arena)).size).to.be.above(1);
      for (let round = 0; round < 25; round++) {
        const searches = Array.from({ length: 1 + random.int(6) }, () => search(collection, random.pick([1, K, 400])));
        change(collection);
        if (round % 3 > 0) blockLoop();
        change(collection);
        for (const found of searches) await found();
      }
      expect(new Set(scannedBy)).to.deep.equal(new Set([count === 0 ? 'loop' : 'threads']));
      expect(opened[0]!.running).to.equal(count);
      expect(usedByScans(collection)).to.equal(0);
    });
  }

  it('find the nearest eligible rows, also with components so large that sums of squares exceed 64 bits', async () => {
    for (const bound of [2 ** 17, 2 ** 31]) {
      const { vectors, rows } = filled(open(2), 3_000, bound);
      const eligible = new SlotSet(vectors.shape);
      const slots = [...rows.keys()].filter(() => random.next() < 0.3);
      for (const slot of slots) eligible.add(slot);
      for (let round = 0; round < 10; round++) {
        const query = vector(bound);
        const found = vectors.search(query, K, nextTurn, { eligible });
        blockLoop();
        expect(listed(await found)).to.deep.equal(nearest(rows, query, K, new Set(slots)));
      }
    }
  });

  it('order hits at equal distances by id, whichever threads find them', async () => {
    const collection = filled(open(2), 0);
    const same = vector();
    for (let i = 0; i < 4_000; i++) collection.insert(same);
    for (let round = 0; round < 5; round++) {
      const found = search(collection, 100);
      blockLoop();
      await found();
    }
  });

  it('leave small scans to the event loop', async () => {
    const collection = filled(open(2, DIMENSION * 4 * ROWS), 500);
    const scan = new ExactScan(collection.vectors, vector(), K);
    expect(scan.costBytes).to.be.within(1, 500 * DIMENSION * 4);
    await search(collection)();
    expect(scannedBy).to.deep.equal(['loop']);
    expect(opened[0]!.running).to.equal(0);
  });

  it('keep the memory of a destroyed collection until their scan has ended', async () => {
    const collection = filled(open(2));
    for (let round = 0; round < 3; round++) await search(collection)();
    const searches = [search(collection), search(collection)];
    collection.vectors.destroy();
    expect(collection.memory.usedBytes).to.be.above(0);
    for (const found of searches) await found();
    expect(collection.memory.usedBytes).to.equal(0);
  });

  it('delay the reuse of a slot until the scans that may read it have ended', async () => {
    const collection = filled(open(2));
    const found = search(collection);
    collection.release(5);
    expect(collection.insert(vector())).to.equal(ROWS);
    await found();
    expect(collection.insert(vector())).to.equal(5);
  });

  it('lose no search when they die, and are then started again', async () => {
    const threads = open(1, 0, DYING_PROGRAM);
    const collection = filled(threads);
    // Until a thread is started.
    while (threads.running === 0) await search(collection)();
    // Until the thread has received a scan, and died of it.
    while (threads.running > 0) {
      const found = search(collection);
      blockLoop();
      change(collection);
      await found();
    }
    expect(usedByScans(collection)).to.equal(0);
    while (threads.running === 0) await search(collection)();
  });

  it('leave running searches to the event loop when they are closed', async () => {
    const collection = filled(open(2));
    for (let round = 0; round < 3; round++) await search(collection)();
    const searches = Array.from({ length: 4 }, () => search(collection));
    await opened[0]!.close();
    for (const found of searches) await found();
    expect(usedByScans(collection)).to.equal(0);
    await search(collection)();
    expect(scannedBy.at(-1)).to.equal('loop');
  });

  it('are as many as configured; by default one fewer than the cores, at most 8', () => {
    expect(threadsOf(0)).to.equal(0);
    expect(threadsOf(5)).to.equal(5);
    expect(threadsOf('auto')).to.equal(Math.min(8, availableParallelism() - 1));
  });
});
