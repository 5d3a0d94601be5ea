// Covers: shard/kernel/codePlane.ts, shard/kernel/assembly/nearness.ts, shard/kernel/assembly/plane.ts
// Covers: shard/kernel/assembly/cut.ts, shard/kernel/planeMemory.ts, shard/kernel/slotSet.ts
/** Exact search through the codes of the rows, compared with BigInt, on data of every kind. */
import { expect } from 'chai';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { EVEN } from '../../../../shard/kernel/weightedScan.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { component, listed, Modelled, nearest, noPause } from './kernelOracle.js';

type Vector = (random: SeededRandom, dimension: number, row: number) => Int32Array;

const filledWith = (of: (random: SeededRandom, at: number, row: number) => number): Vector => {
  return (random, dimension, row) => Int32Array.from({ length: dimension }, (_, at) => of(random, at, row));
};

/** Approximately normal, with standard deviation 1. */
const normal = (random: SeededRandom): number =>
  (random.next() + random.next() + random.next() - random.next() - random.next() - random.next()) * Math.SQRT2;

/** The largest component with which rows of up to 128 dimensions have codes. */
const CODED_MAX = 2 ** 27 - 256;

const KINDS: Readonly<Record<string, Vector>> = {
  even: filledWith((random) => component(random, 65_536)),
  normal: filledWith((random) => Math.round(normal(random) * 20_000)),
  clustered: filledWith((random, at, row) => (((row % 7) * 31 * at) % 65_536) + component(random, 900)),
  'of one value': filledWith(() => 4_711),
  'of one value but in one dimension': filledWith((random, at) => (at === 3 ? component(random, 1 << 20) : -9)),
  'of few values, with ties': filledWith((random) => random.int(2)),
  'far from 0': filledWith((random) => 60_000_000 + component(random, 500)),
  'of the largest components with codes': filledWith((random) => (random.int(2) === 0 ? CODED_MAX : -CODED_MAX)),
  'of components beyond codes': filledWith((random) => component(random, 2 ** 29)),
  'of the whole range': filledWith((random) => component(random, 2 ** 31)),
  'of dimensions of every width': filledWith((random, at) => component(random, 2 ** (at % 27))),
  'with outliers among the components': filledWith((random) =>
    component(random, random.next() < 0.01 ? 50_000_000 : 3_000),
  ),
  'with outliers among the rows': filledWith((random, _, row) =>
    component(random, row % 53 === 0 ? 50_000_000 : 3_000),
  ),
  'mostly zeros': filledWith((random) => (random.next() < 0.03 ? component(random, 65_536) : 0)),
  'that drift': filledWith((random, at, row) => row * 300 + at + component(random, 900)),
  'near the query': filledWith((random) => component(random, 3)),
};

/** Returns the version of the middles and steps of a plane. */
const versionAt = (buffer: SharedArrayBuffer, plane: number): number => new Uint32Array(buffer, plane, 1)[0]!;

/** Number of erased rows. */
const ERASED = 10;

const DIMENSIONS = [16, 17, 31, 64, 100, 128];

describe('the codes of rows', () => {
  const random = seededRandom(testSeed());

  for (const [kind, vector] of Object.entries(KINDS)) {
    it(`lose no row during writes, erasures and searches, with data ${kind}`, async () => {
      for (const dimension of DIMENSIONS) {
        const collection = new Modelled(dimension);
        const rows = 100 + random.int(500);
        for (let row = 0; row < rows; row++) collection.insert(vector(random, dimension, row));
        for (let round = 0; round < 3; round++) {
          await collection.check(vector(random, dimension, random.int(rows)), 1 + random.int(20));
          await collection.check(random.pick([...collection.rows.values()]).vector, 5);
          await collection.check(KINDS.even!(random, dimension, 0), 300);
          for (let i = 0; i < 30; i++) collection.release(random.pick([...collection.rows.keys()]));
          for (let i = 0; i < 60; i++) collection.insert(vector(random, dimension, random.int(2 * rows)));
        }
      }
    });
  }

  it('lose no row of a search among few eligible ones, in a list, or within a largest distance', async () => {
    for (const vector of [KINDS.normal!, KINDS.clustered!, KINDS['with outliers among the rows']!]) {
      const collection = new Modelled(48);
      for (let row = 0; row < 1_500; row++) collection.insert(vector(random, 48, row));
      const { vectors, rows } = collection;
      for (const share of [0.01, 0.1, 0.3, 0.5, 0.9]) {
        const query = vector(random, 48, random.int(1_500));
        const eligible = new SlotSet(vectors.shape);
        const slots = [...rows.keys()].filter(() => random.next() < share);
        for (const slot of slots) eligible.add(slot);
        const expected = nearest(rows, query, 10, new Set(slots));
        const of = `${slots.length} rows`;
        expect(listed(await vectors.search(query, 10, noPause, { eligible })), of).to.deep.equal(expected);
        expect(listed(await vectors.rank(query, 10, { slots: Uint32Array.from(slots) }, noPause)), of).to.deep.equal(
          expected,
        );
        const within = { weightedMost: expected.scores.at(-1) ?? 0, scoreLeast: 0 };
        const weighting = { weights: EVEN, bounds: within };
        const weighted = await vectors.searchWeighted(query, 10, { ...weighting, eligible }, noPause);
        expect(listed(weighted), of).to.deep.equal(expected);
      }
    }
  });

  it('exist for rows of at least 16 dimensions, in blocks of at least 16 rows', () => {
    const blockOf = (dimension: number, count: number) => {
      const { vectors } = filled(dimension, count);
      return vectors.blocks.at(-1)!;
    };
    expect(blockOf(15, 1_000).planeAddress).to.equal(0);
    expect(blockOf(16, 1_000).planeAddress).to.be.above(0);
    expect(blockOf(128, 4).planeAddress).to.equal(0);
  });

  it('share middles and steps in most blocks of like rows', () => {
    const { vectors } = filled(512, 15_000);
    const full = vectors.blocks.filter(({ planeAddress }) => planeAddress > 0);
    const versions = new Set(full.map(({ region, planeAddress }) => versionAt(region.arena.buffer, planeAddress)));
    expect(full.length).to.be.above(20);
    expect(versions.size).to.be.below(full.length / 3);
  });

  it('are erased with their row', () => {
    const { vectors } = filled(32, 200);
    const block = vectors.blocks.find(({ planeAddress }) => planeAddress > 0)!;
    const { buffer } = block.region.arena;
    const [, codeBytes, , , gains, residuals, codes] = new Uint32Array(buffer, block.planeAddress, 7);
    const ofAll = [
      new Uint8Array(buffer, gains, 4 * block.rows),
      new Uint8Array(buffer, residuals, 4 * block.rows),
      new Uint8Array(buffer, codes, codeBytes! * block.rows),
    ];
    const areErased = () =>
      ofAll.map((bytes) => bytes.subarray(0, (bytes.length / block.rows) * ERASED).every((byte) => byte === 0));
    for (let row = 0; row < ERASED; row++) {
      expect(areErased()).to.deep.equal([false, false, false]);
      vectors.release(block.firstSlot + row);
    }
    expect(areErased()).to.deep.equal([true, true, true]);
  });

  function filled(dimension: number, count: number): Modelled {
    const collection = new Modelled(dimension);
    for (let row = 0; row < count; row++) collection.insert(KINDS.normal!(random, dimension, row));
    return collection;
  }
});
