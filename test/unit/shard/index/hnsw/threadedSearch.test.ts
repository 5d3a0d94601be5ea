// Covers: shard/index/hnsw/, shard/index/searchQueue.ts, shard/kernel/rowTable.ts, shard/kernel/lentArena.ts
/** Searches of a graph by threads. */
import { expect } from 'chai';
import { SEARCH_PROGRAM } from '../../../../../shard/index/searchProgram.js';
import { ScanThreads } from '../../../../../shard/kernel/scanThreads.js';
import { SlotSet } from '../../../../../shard/kernel/slotSet.js';
import { VectorMemory } from '../../../../../shard/kernel/vectorMemory.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { eventually } from '../../../../support/expectations.js';
import { DYING } from '../../../../support/rigs/dyingThread.js';
import { Collection, hnswRig, K, times } from '../../../../support/rigs/hnswRig.js';

const ROWS = 2_000;
const SEARCHES = 60;
const ARENA_BYTES = 1 << 21;
const FILLED_BYTES = 1 << 16;

for (const dimension of [12, 48])
  describe(`searches of a graph by threads, ${dimension} dimensions`, () => {
    const rig = hnswRig(dimension);
    let threads: ScanThreads;
    afterEach(() => threads.close());

    const open = (count: number, program = SEARCH_PROGRAM): VectorMemory => {
      const options = { count, logger: silentLogger, costMinBytes: 0 };
      threads = new ScanThreads(options, program);
      return new VectorMemory({ threads, arenaBytes: ARENA_BYTES });
    };
    const started = async (): Promise<void> => {
      threads.warm();
      await eventually('a thread has started', () => threads.ready > 0);
    };
    /** Makes searches by threads, all together, and then one by one in the event loop. */
    const expectAlike = async (
      { index, search }: Pick<Awaited<ReturnType<Collection['indexed']>>, 'index' | 'search'>,
      k = K,
      eligible?: SlotSet,
    ): Promise<void> => {
      const queries = times(SEARCHES, rig.vector);
      const found = await Promise.all(queries.map((query) => index.search!(query, k, eligible)));
      // Few different rows leave some queries outside of the range of their codes.
      expect(found.filter((hits) => hits !== undefined).length).to.be.above(SEARCHES / 4);
      for (const [at, query] of queries.entries())
        if (found[at] !== undefined) expect(found[at]).to.deep.equal(await search(query, k, eligible));
    };

    const indexed = async (memory: VectorMemory, vector = rig.vector) => {
      const collection = new Collection(rig.folder, dimension, memory);
      times(ROWS / 4, () => collection.insert(vector()));
      // The other rows, and the graph, are in another arena.
      const [first] = collection.vectors.place.arenas;
      while (first!.allocate(FILLED_BYTES) !== undefined);
      times((3 * ROWS) / 4, () => collection.insert(vector()));
      const opened = rig.kept(await collection.indexed('payload', { m: 8, efConstruction: 60 }));
      return { collection, opened, alike: { index: opened.index, search: opened.search.bind(opened) } };
    };

    for (const count of [2, 3])
      it(`find what the event loop finds, before and after changes, with ${count} threads`, async () => {
        const { collection, opened, alike } = await indexed(open(count));
        const { arenas } = collection.vectors.place;
        expect(arenas.length).to.be.above(1);
        await started();
        const used = (): number => arenas.reduce((sum, { usedBytes }) => sum + usedBytes, 0);
        const before = used();
        for (const k of [1, K, 300]) await expectAlike(alike, k);
        expect(used(), 'no scratch is left').to.equal(before);
        times(200, () => opened.absorb(collection.insert(rig.vector())));
        for (let slot = 0; slot < ROWS; slot += 3) opened.remove(slot);
        await expectAlike(alike);
        const eligible = new SlotSet(collection.vectors.shape);
        for (const slot of opened.rows.covered) if (rig.random.next() < 0.2) eligible.add(slot);
        await expectAlike(alike, K, eligible);
      });

    for (const different of [30, 100])
      it(`find rows with equal vectors, of ${different} different vectors`, async () => {
        const alike = times(different, rig.vector);
        const one = await indexed(open(2), () => rig.random.pick(alike));
        await started();
        await expectAlike(one.alike, 100);
      });

    it('find rows with components so large that sums of squares exceed 64 bits', async () => {
      const far = (): Int32Array => rig.vector().map((component) => 8_000 * component);
      const one = await indexed(open(2), far);
      await started();
      await expectAlike(one.alike);
    });

    it('are made in the event loop while no thread has started, and if all threads die', async () => {
      const { alike } = await indexed(open(2, DYING));
      expect(threads.ready).to.equal(0);
      await expectAlike(alike);
      await started();
      await expectAlike(alike);
    });
  });
