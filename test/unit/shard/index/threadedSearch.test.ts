// Covers: shard/index/searchQueue.ts, shard/index/batchForm.ts, shard/index/indexWork.ts, shard/index/loans.ts
// Covers: shard/index/ivf/readLists.ts, shard/index/ivf/openLists.ts, shard/index/ivf/listsBatch.ts
// Covers: shard/index/ivf/threadedLists.ts, shard/index/ivf/chunkMemory.ts, shard/index/bq/codesBatch.ts
// Covers: shard/index/bq/codeTable.ts, shard/index/bq/threadedCodes.ts, shard/index/searchProgram.ts
// Covers: shard/index/searchWorker.ts
/** Searches of lists and of codes by threads. Those of a graph are in `hnsw/threadedSearch.test.ts`. */
import { expect } from 'chai';
import { SEARCH_PROGRAM } from '../../../../shard/index/searchProgram.js';
import { ScanThreads } from '../../../../shard/kernel/scanThreads.js';
import type { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { IndexParameters } from '../../../../shared/model/indexSpec.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { eventually } from '../../../support/expectations.js';
import type { Vector } from '../../../support/model/indexVectors.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { DYING } from '../../../support/rigs/dyingThread.js';
import { IndexedRows } from '../../../support/rigs/indexedRows.js';
import { randomVector } from '../kernel/kernelOracle.js';

const ROWS = 3_000;
const SEARCHES = 40;
const K = 10;
const ARENA_BYTES = 1 << 24;
const FILLED_BYTES = 1 << 16;

interface Case {
  readonly kind: 'ivf' | 'bq';
  readonly dimension: number;
  readonly bound: number;
  readonly parameters: IndexParameters;
}

const CASES: readonly Case[] = [
  { kind: 'ivf', dimension: 12, bound: 2 ** 17, parameters: { nProbe: 3 } },
  { kind: 'ivf', dimension: 96, bound: 2 ** 17, parameters: {} },
  { kind: 'ivf', dimension: 96, bound: 2 ** 17, parameters: { nList: 10, nProbe: 10 } },
  { kind: 'ivf', dimension: 20, bound: 2 ** 31, parameters: { nList: 20 } },
  { kind: 'bq', dimension: 3, bound: 2 ** 17, parameters: {} },
  { kind: 'bq', dimension: 96, bound: 2 ** 17, parameters: {} },
  { kind: 'bq', dimension: 130, bound: 2 ** 31, parameters: { candidates: 50 } },
];

for (const { kind, dimension, bound, parameters } of CASES)
  describe(`searches by threads, ${kind} ${JSON.stringify(parameters)}, ${dimension} dimensions to ${bound}`, () => {
    const random = seededRandom(testSeed());
    let threads: ScanThreads;
    /** Number of searches that were handed to threads. */
    let made: number;
    let rows: IndexedRows;
    let centres: readonly Vector[];

    /** Rows around some centres, so that lists differ in length. */
    const clustered = (count: number): Vector[] =>
      Array.from({ length: count }, () => {
        const spread = randomVector(random, dimension, bound / 8);
        return random.pick(centres).map((component, i) => component + spread[i]!);
      });

    const open = async (program = SEARCH_PROGRAM): Promise<void> => {
      made = 0;
      const onSearches = (where: 'loop' | 'threads', count: number): void => {
        if (where === 'threads') made += count;
      };
      threads = new ScanThreads({ count: 2, logger: silentLogger, costMinBytes: 0, onSearches }, program);
      rows = new IndexedRows({ kind, parameters, dimension }, new VectorMemory({ threads, arenaBytes: ARENA_BYTES }));
      centres = Array.from({ length: 12 }, () => randomVector(random, dimension, bound / 2));
      rows.insert(clustered(ROWS / 2));
      // The first arena is full until the other rows and the index are in another.
      const first = rows.vectors.place.arenas[0]!;
      const held: number[] = [];
      for (let address = first.allocate(FILLED_BYTES); address !== undefined; address = first.allocate(FILLED_BYTES))
        held.push(address);
      rows.insert(clustered(ROWS / 2));
      await rows.buildAndOpen();
      for (const address of held) first.free(address);
      threads.warm();
      await eventually('a thread has started', () => threads.ready > 0);
    };

    /** Makes searches by threads, all together, and then one by one in the event loop. */
    const expectAlike = async (k: number, eligible?: SlotSet): Promise<void> => {
      const queries = clustered(SEARCHES);
      const found = await Promise.all(queries.map((query) => rows.index.search!(query, k, eligible)));
      for (const [at, query] of queries.entries()) {
        const slots = await rows.index.candidates(query, k, eligible);
        expect(found[at]).to.deep.equal(await rows.vectors.rank(query, k, { slots, eligible }, nextTurn));
      }
    };

    afterEach(async () => {
      await rows.dispose();
      await threads.close();
    });

    it('find what the event loop finds, before and after changes', async () => {
      await open();
      const { arenas } = rows.vectors.place;
      expect(arenas.length).to.be.above(1);
      const used = (): number => arenas.reduce((sum, { usedBytes }) => sum + usedBytes, 0);
      const before = used();
      for (const k of [1, K, 300, 2 * ROWS]) await expectAlike(k);
      expect(made).to.be.above(SEARCHES);
      expect(used(), 'no scratch is left').to.equal(before);
      for (const id of [...rows.records.keys()].filter((id) => id % 3 === 0)) rows.delete(id);
      rows.insert(clustered(200));
      rows.absorb();
      await expectAlike(K);
      await expectAlike(ROWS);
    });

    it('find the eligible rows that the event loop finds', async () => {
      await open();
      for (const share of [0.5, 0.05, 0.002]) {
        const ids = [...rows.records.keys()].filter((id) => id === 1 || random.next() < share);
        await expectAlike(K, rows.slotsOf(new Set(ids)));
      }
    });

    it('are made in the event loop if all threads die', async () => {
      await open(DYING);
      await expectAlike(K);
    });
  });
