// Covers: shard/kernel/rowForm.ts, shard/kernel/block.ts, shard/kernel/rowTable.ts, shard/kernel/slotReuse.ts
// Covers: shard/kernel/assembly/splitRows.ts
/** Rows in every form, compared with a plain model. */
import { expect } from 'chai';
import { FrozenRows, freeze } from '../../../../shard/index/builds/frozenRows.js';
import { SEARCH_PROGRAM } from '../../../../shard/index/searchProgram.js';
import { BYTES, PLAIN, type RowForm, WORDS } from '../../../../shard/kernel/rowForm.js';
import { ScanThreads } from '../../../../shard/kernel/scanThreads.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { EVEN } from '../../../../shard/kernel/weightedScan.js';
import { silentLogger } from '../../../../shared/logger.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { bytesOf, listed, Modelled, nearest, noPause, randomVector } from './kernelOracle.js';

/** Bounds of components with which rows take a form. */
const BOUNDS: readonly (readonly [form: RowForm, name: string, bound: number])[] = [
  [BYTES, 'residuals of 8 bits', 2 ** 14],
  [WORDS, 'residuals of 16 bits', 2 ** 18],
  [PLAIN, 'plain components', 2 ** 26],
];

const ROWS = 1_500;

describe('the rows of full blocks', () => {
  const random = seededRandom(testSeed());
  const opened: ScanThreads[] = [];

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((threads) => threads.close()));
  });

  const filled = (dimension: number, bound: number, rows = ROWS, memory = new VectorMemory()): Modelled => {
    const collection = new Modelled(dimension, memory);
    for (let row = 0; row < rows; row++) collection.insert(randomVector(random, dimension, bound));
    return collection;
  };

  const withThreads = (): VectorMemory => {
    const threads = new ScanThreads({ count: 2, costMinBytes: 0, logger: silentLogger }, SEARCH_PROGRAM);
    opened.push(threads);
    return new VectorMemory({ threads });
  };

  const formsOf = ({ vectors }: Modelled): Set<RowForm> =>
    new Set(vectors.blocks.filter(({ planeAddress }) => planeAddress !== 0).map(({ form }) => form));

  const expectVectors = ({ vectors, rows }: Modelled): void => {
    for (const [slot, { vector, id }] of rows) {
      expect(vectors.vectorBytes(slot), `slot ${slot}`).to.deep.equal(bytesOf(vector));
      expect(vectors.idOf(slot)).to.equal(id);
    }
  };

  /** Searches in every way, with a query of these bounds. */
  const expectFound = async (collection: Modelled, bound: number): Promise<void> => {
    const { vectors, rows, dimension } = collection;
    const query = randomVector(random, dimension, bound);
    const all = [...rows.keys()].sort((a, b) => a - b);
    const slots = Uint32Array.from(all.filter(() => random.next() < 0.3));
    for (const k of [1, 10, 400]) await collection.check(query, k);
    const expected = nearest(rows, query, 20, new Set(slots));
    expect(listed(await vectors.rank(query, 20, { slots }, noPause))).to.deep.equal(expected);
    const { arenas, table } = vectors.place;
    const measured = table
      .nearest(
        arenas,
        query,
        20,
        slots.filter((slot) => rows.get(slot)!.live),
      )
      .next().value;
    expect(listed(measured!)).to.deep.equal(expected);
    const bounds = { weightedMost: expected.scores[5] ?? 0, scoreLeast: 0 };
    const within = await vectors.searchWeighted(query, 5, { weights: EVEN, bounds }, noPause);
    expect(listed(within)).to.deep.equal(nearest(rows, query, 5));
  };

  for (const [form, name, bound] of BOUNDS) {
    describe(`with ${name}`, () => {
      it('are those that were written, in every search and to a build', async () => {
        for (const dimension of [16, 20, 61, 128, 300]) {
          const collection = filled(dimension, bound);
          expect(formsOf(collection)).to.include(form);
          if (form !== PLAIN)
            expect([...formsOf(collection)].every((each) => each === form || each === PLAIN)).to.equal(true);
          expectVectors(collection);
          for (const reach of [bound, 8 * bound, 2 ** 31]) await expectFound(collection, reach);
          const { vectors, rows } = collection;
          const frozen = new FrozenRows(freeze(vectors), vectors.shape);
          const written = [...rows].sort(([one], [other]) => one - other);
          for (const [ordinal, [, { vector }]] of written.entries())
            expect(frozen.components(ordinal)).to.deep.equal(vector);
        }
      });

      it('are right while rows are erased and written, and rows leave the range of their block', async () => {
        for (const dimension of [17, 64]) {
          const collection = filled(dimension, bound, 600);
          for (let round = 0; round < 12; round++) {
            for (let i = 0; i < 90; i++) {
              const slots = [...collection.rows.keys()];
              const wide = random.next() < 0.1 ? 2 ** random.int(32) : bound;
              if (random.next() < 0.55) collection.insert(randomVector(random, dimension, wide));
              else if (random.next() < 0.3) collection.retire(random.pick(slots));
              else collection.release(random.pick(slots));
            }
            expectVectors(collection);
            await expectFound(collection, random.pick([bound, 2 ** 31]));
          }
          const { memory, vectors } = collection;
          expect(memory.usedBytes).to.equal(vectors.bytes);
          vectors.destroy();
          expect(memory.usedBytes).to.equal(0);
        }
      });

      it('are right to threads that search while blocks become full', async () => {
        const collection = filled(48, bound, 2_000, withThreads());
        const { vectors, rows } = collection;
        for (let round = 0; round < 12; round++) {
          const query = randomVector(random, 48, bound);
          const expected = nearest(rows, query, 10);
          const searches = Array.from({ length: 3 }, () => vectors.search(query, 10, nextTurn));
          for (let i = 0; i < 150; i++) collection.insert(randomVector(random, 48, bound));
          await nextTurn();
          for (let i = 0; i < 250; i++) {
            const slot = random.pick([...rows.keys()]);
            if (i % 2 === 0) collection.release(slot);
            else collection.insert(randomVector(random, 48, bound));
          }
          for (const found of searches) expect(listed(await found)).to.deep.equal(expected);
        }
        expectVectors(collection);
        expect(vectors.bytes).to.equal(collection.memory.usedBytes);
      });
    });
  }

  it('take two or three bytes a component if all residuals have 8 or 16 bits', () => {
    for (const [bytes, bound] of [
      [2, 2 ** 14],
      [3, 2 ** 18],
    ] as const) {
      const { vectors, rows } = filled(384, bound, 8_000);
      expect(vectors.bytes / rows.size / 384).to.be.within(bytes, 1.25 * bytes);
    }
  });

  it('take three bytes a component if one component is far beyond those of the blocks before', () => {
    const dimension = 100;
    const collection = new Modelled(dimension);
    for (let row = 0; row < 3 * ROWS; row++) {
      const vector = randomVector(random, dimension, 40_000);
      if (row === 2 * ROWS) vector[7] = 150_000;
      collection.insert(vector);
    }
    const { blocks } = collection.vectors;
    const block = blocks.find(({ firstSlot, rows }) => firstSlot + rows > 2 * ROWS)!;
    expect(block.firstSlot + block.rows, 'the block is full').to.be.at.most(3 * ROWS);
    expect(block.form).to.equal(WORDS);
    expectVectors(collection);
  });

  it('stay where a scan reads them until it ends, and what came later is freed at once', () => {
    const collection = filled(128, 2 ** 14, 40);
    const { vectors, memory } = collection;
    const beside = (): number => memory.usedBytes - vectors.bytes;
    const build = vectors.beginScan(true);
    const places = freeze(vectors);
    const insert = (rows: number): void => {
      for (let row = 0; row < rows; row++) collection.insert(randomVector(random, 128, 2 ** 14));
    };
    insert(60);
    const left = beside();
    expect(left).to.be.above(0);
    insert(4_000);
    expect(beside()).to.equal(left);
    const frozen = new FrozenRows(places, vectors.shape);
    for (const [ordinal, { vector }] of [...collection.rows.values()].slice(0, 40).entries())
      expect(frozen.components(ordinal)).to.deep.equal(vector);
    const search = vectors.beginScan();
    insert(4_000);
    expect(beside()).to.be.above(left);
    vectors.endScan(search);
    expect(beside()).to.equal(left);
    vectors.endScan(build);
    expect(beside()).to.equal(0);
  });

  it('keep their codes for a scan, while others are written into the block that it reads', () => {
    const collection = filled(64, 2 ** 14, 3_000);
    const { vectors, rows } = collection;
    const { firstSlot, rows: blockRows } = vectors.blocks.filter(({ form }) => form === BYTES).at(-1)!;
    for (let row = 0; row < blockRows / 2; row++) collection.release(firstSlot + row);
    const scan = vectors.beginScan();
    const frozen = new FrozenRows(freeze(vectors), vectors.shape);
    const written = [...rows].sort(([one], [other]) => one - other);
    for (let row = 0; row < 3_000; row++) collection.insert(randomVector(random, 64, 30_000));
    expect(rows.has(firstSlot), 'the erased slots are used again').to.equal(true);
    for (const [ordinal, [, { vector }]] of written.entries()) expect(frozen.components(ordinal)).to.deep.equal(vector);
    vectors.endScan(scan);
    expectVectors(collection);
    expect(collection.memory.usedBytes).to.equal(vectors.bytes);
  });

  it('give back the room of erased rows before another block is added', () => {
    const collection = filled(64, 2 ** 14, 3_000);
    const { vectors } = collection;
    const blocks = vectors.blocks.length;
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 300; i++) collection.release(random.pick([...collection.rows.keys()]));
      for (let i = 0; i < 300; i++) collection.insert(randomVector(random, 64, 2 ** 14));
    }
    expect(vectors.blocks.length).to.be.at.most(blocks + 2);
    expectVectors(collection);
  });

  it('are read in a memory that has nothing else', () => {
    const collection = filled(16, 2 ** 14, 60);
    expect(formsOf(collection)).to.include(BYTES);
    expectVectors(collection);
  });

  it('keep nothing of an erased row', () => {
    const collection = filled(64, 2 ** 14, 400);
    const { vectors, rows } = collection;
    const block = vectors.blocks.find(({ form }) => form === BYTES)!;
    const rowOf = (slot: number): Uint8Array => vectors.vectorBytes(slot);
    const [one, other] = [block.firstSlot, block.firstSlot + 1];
    expect(rowOf(one)).to.not.deep.equal(rowOf(other));
    for (const slot of [one, other]) collection.release(slot);
    expect(rowOf(one)).to.deep.equal(rowOf(other));
    expect(rows.has(one)).to.equal(false);
  });
});
