// Covers: shard/index/ivf/ivf.ts, shard/index/ivf/codeShape.ts, shard/index/ivf/payload.ts
// Covers: shard/kernel/assembly/assign.ts, shard/kernel/assembly/train.ts
import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { CodeShape } from '../../../../../shard/index/ivf/codeShape.js';
import { type IvfPayload, NO_LIST, readIvfPayload } from '../../../../../shard/index/ivf/payload.js';
import { BuildProgress } from '../../../../../shard/index/progress.js';
import { VectorMemory } from '../../../../../shard/kernel/vectorMemory.js';
import { VouchError } from '../../../../../shared/errors/errors.js';
import type { IndexParameters } from '../../../../../shared/model/indexSpec.js';
import { nearest, type Vector } from '../../../../support/model/indexVectors.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';
import { IndexedRows } from '../../../../support/rigs/indexedRows.js';
import { MAX, MIN, randomVector } from '../../kernel/kernelOracle.js';

const squared = (one: Vector, other: Vector): bigint =>
  one.reduce((sum, value, i) => sum + BigInt(value - other[i]!) ** 2n, 0n);

describe('the IVF index', () => {
  const random = seededRandom(testSeed());
  const opened: IndexedRows[] = [];

  const rowsOf = (dimension: number, parameters: IndexParameters = {}, memory?: VectorMemory): IndexedRows => {
    const rows = new IndexedRows({ kind: 'ivf', parameters, dimension }, memory);
    opened.push(rows);
    return rows;
  };

  /** Rows around some centres; every 50th is far beyond the others. */
  const clustered = (count: number, dimension: number, bound: number): Vector[] => {
    const centres = Array.from({ length: 12 }, () => randomVector(random, dimension, bound));
    return Array.from({ length: count }, (_, at) => {
      const centre = random.pick(centres);
      const spread = randomVector(random, dimension, bound / 4);
      const far = at % 50 === 0 ? 6 : 1;
      return centre.map((value, i) => Math.max(MIN, Math.min(MAX, far * value + spread[i]!)));
    });
  };

  const centroidsOf = ({ centroids, lists, dimension }: IvfPayload): Vector[] =>
    Array.from({ length: lists }, (_, list) => centroids.subarray(list * dimension, (list + 1) * dimension));

  /** Returns the number of the nearest centroid, the first of equally near ones. */
  const nearestOf = (centroids: readonly Vector[], vector: Vector): number => {
    const distances = centroids.map((centroid) => squared(centroid, vector));
    const [least] = distances.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
    return distances.indexOf(least!);
  };

  afterEach(async () => {
    for (const rows of opened.splice(0)) await rows.dispose();
  });

  for (const [dimension, bound] of [
    [1, 2 ** 20],
    [3, 2 ** 17],
    [20, 2 ** 31],
    [100, 2 ** 18],
    [300, 200],
    [4_096, 2 ** 17],
  ] as const) {
    it(`puts each row into the list of its nearest centroid, at ${dimension} dimensions, components up to ${bound}`, async () => {
      const rows = rowsOf(dimension);
      rows.insert(clustered(dimension > 1_000 ? 60 : 600, dimension, bound));
      const { path } = await rows.build();
      const payload = await readIvfPayload({ path }, dimension);
      const centroids = centroidsOf(payload);
      const expected = [...rows.records.values()].map((vector) => nearestOf(centroids, vector));
      expect([...payload.assigned]).to.deep.equal(expected);
      expect(new Set(expected).size, 'no list is empty').to.equal(payload.lists);
    });
  }

  it('makes a list for each cluster of the rows', async () => {
    const rows = rowsOf(8, { nList: 4 });
    const corners = [0, 1, 2, 3].map((corner) => new Int32Array(8).fill(corner * 2 ** 20));
    rows.insert(Array.from({ length: 400 }, (_, at) => corners[at % 4]!.map((value) => value + random.int(1000))));
    const payload = await readIvfPayload({ path: (await rows.build()).path }, 8);
    const means = centroidsOf(payload).map((centroid, list) => {
      const members = [...rows.records.values()].filter((_, at) => payload.assigned[at] === list);
      expect(members.length).to.equal(100);
      const mean = centroid.map((_, i) => Math.round(members.reduce((sum, member) => sum + member[i]!, 0) / 100));
      return Math.max(...mean.map((value, i) => Math.abs(value - centroid[i]!)));
    });
    expect(Math.max(...means), 'each centroid is the mean of its rows').to.be.at.most(1);
  });

  it('builds equal files from equal rows', async () => {
    const rows = rowsOf(24);
    rows.insert(clustered(1_500, 24, 2 ** 18));
    const [one, other] = [await rows.build(), await rows.build()];
    expect(readFileSync(one.path).equals(readFileSync(other.path))).to.equal(true);
  });

  it('finds every row by its own vector in one list, whether it was built, extended or absorbed', async () => {
    for (const [dimension, bound] of [
      [2, 2 ** 10],
      [100, 2 ** 18],
      [6, 2 ** 31],
    ] as const) {
      const rows = rowsOf(dimension, { nProbe: 1 });
      rows.insert(clustered(500, dimension, bound));
      const base = await rows.build();
      rows.insert(clustered(300, dimension, bound));
      await rows.open(await rows.build(base));
      rows.insert(clustered(300, dimension, bound));
      expect(rows.absorb()).to.deep.equal([]);
      for (const vector of rows.records.values())
        expect((await rows.search(vector, 1))[0]?.score, `${dimension} dimensions`).to.equal(0);
    }
  });

  it('finds exactly the result of an exact search if it reads all lists', async () => {
    for (const [dimension, bound] of [
      [1, 2 ** 12],
      [3, 2 ** 17],
      [20, 2 ** 31],
      [100, 2 ** 18],
      [4_096, 2 ** 16],
    ] as const) {
      const rows = rowsOf(dimension, { nList: 20, nProbe: 20 });
      rows.insert(clustered(dimension > 1_000 ? 100 : 900, dimension, bound));
      await rows.buildAndOpen();
      for (const id of [...rows.records.keys()].filter(() => random.int(5) === 0)) rows.delete(id);
      rows.insert(clustered(60, dimension, bound));
      rows.absorb();
      for (const k of [1, 10, 70]) {
        // Queries inside, far beyond and far below the range of the rows.
        for (const scale of [1, 1 / 64, 5]) {
          const query = randomVector(random, dimension, bound * scale);
          expect(await rows.search(query, k)).to.deep.equal(nearest(rows.records, query, k));
        }
      }
    }
  });

  it('loses no row in several arenas, with and without codes', async () => {
    const rows = rowsOf(64, { nList: 8, nProbe: 8 }, new VectorMemory({ arenaBytes: 1 << 21 }));
    const vectors = clustered(9_000, 64, 2 ** 17);
    for (let at = 0; at < vectors.length; at += 700) vectors[at] = randomVector(random, 64, 2 ** 31);
    rows.insert(vectors);
    await rows.buildAndOpen();
    rows.insert(clustered(300, 64, 2 ** 17));
    rows.absorb();
    const eligible = [...rows.records.keys()].filter(() => random.int(10) === 0);
    for (let round = 0; round < 5; round++) {
      const query = randomVector(random, 64, round === 0 ? 2 ** 31 : 2 ** 17);
      expect(await rows.search(query, 20)).to.deep.equal(nearest(rows.records, query, 20));
      const among = new Map(eligible.map((id) => [id, rows.records.get(id)!]));
      expect(await rows.search(query, 20, rows.slotsOf(new Set(eligible)))).to.deep.equal(nearest(among, query, 20));
    }
  });

  it('loses no row if a list grows while a search pauses in it', async () => {
    const rows = rowsOf(16, { nList: 3_200, nProbe: 3_200 });
    const vectors = Array.from({ length: 6_400 }, () => randomVector(random, 16, 2 ** 17));
    rows.insert(vectors);
    await rows.buildAndOpen();
    let pauses = 0;
    rows.onPause = () => {
      // A row for most lists, including the list of the pause.
      if (pauses++ > 0) return;
      rows.insert(vectors.map((vector) => vector.map((component) => component + random.int(50) + 1)));
      rows.absorb();
    };
    const query = randomVector(random, 16, 2 ** 17);
    const before = nearest(rows.records, query, 10);
    const found = await rows.search(query, 10);
    expect(pauses).to.be.above(0);
    for (const [at, { score }] of before.entries()) expect(found[at]!.score).to.be.at.most(score);
  });

  it('proposes few more rows than requested', async () => {
    const rows = rowsOf(100, { nProbe: 16 });
    rows.insert(clustered(4_000, 100, 2 ** 18));
    await rows.buildAndOpen();
    // The excess depends on the query, so many queries are averaged.
    const queries = 32;
    let proposed = 0;
    for (let query = 0; query < queries; query++) {
      const rowsFound = await rows.index.candidates(randomVector(random, 100, 2 ** 18), 100, undefined);
      expect(rowsFound.length).to.be.within(100, 1_000);
      proposed += rowsFound.length;
    }
    expect(proposed / queries).to.be.within(100, 160);
  });

  it('reads further lists until it has found k rows, or has read all', async () => {
    const rows = rowsOf(10, { nList: 50, nProbe: 1 });
    const ids = rows.insert(clustered(1_000, 10, 2 ** 18));
    await rows.buildAndOpen();
    const query = randomVector(random, 10, 2 ** 18);
    expect(await rows.search(query, 400)).to.have.length(400);
    expect(await rows.search(query, 5_000)).to.have.length(1_000);
    const eligible = rows.slotsOf(new Set(ids.slice(0, 7)));
    expect((await rows.search(query, 10, eligible)).map(({ id }) => id)).to.have.members(ids.slice(0, 7));
  });

  it('extends a base: keeps its centroids and lists, without dead rows', async () => {
    const rows = rowsOf(12);
    const ids = rows.insert(clustered(800, 12, 2 ** 18));
    const base = await rows.build();
    for (const id of ids.slice(100, 200)) rows.delete(id);
    rows.insert(clustered(400, 12, 2 ** 18));
    const before = await readIvfPayload({ path: base.path }, 12);
    const after = await readIvfPayload({ path: (await rows.build(base)).path }, 12);
    expect(after.centroids).to.deep.equal(before.centroids);
    expect(after.count).to.equal(1_200);
    const kept = before.assigned.map((list, ordinal) => (ordinal >= 100 && ordinal < 200 ? NO_LIST : list));
    expect(after.assigned.subarray(0, 800)).to.deep.equal(kept);
  });

  it('answers as before after it was written and opened', async () => {
    const rows = rowsOf(33, { nProbe: 3 });
    const ids = rows.insert(clustered(700, 33, 2 ** 18));
    await rows.buildAndOpen();
    for (const id of ids.slice(0, 80)) rows.delete(id);
    rows.insert(clustered(90, 33, 2 ** 18));
    rows.absorb();
    const queries = Array.from({ length: 20 }, () => randomVector(random, 33, 2 ** 18));
    const answers = async (): Promise<unknown> => Promise.all(queries.map((query) => rows.search(query, 10)));
    const before = await answers();
    const written = await rows.persist();
    await rows.open(written);
    expect(await answers()).to.deep.equal(before);
    expect(readFileSync((await rows.persist()).path).equals(readFileSync(written.path))).to.equal(true);
  });

  it('has one list if all rows are equal, and never more lists than rows', async () => {
    const equal = rowsOf(5);
    equal.insert(Array.from({ length: 300 }, () => new Int32Array(5).fill(77)));
    expect(await readIvfPayload({ path: (await equal.buildAndOpen()).path }, 5)).to.include({ lists: 1, count: 300 });
    expect(await equal.search(new Int32Array(5).fill(77), 10)).to.have.length(10);
    const few = rowsOf(5, { nList: 1_000, nProbe: 1_000 });
    few.insert(clustered(3, 5, 2 ** 18));
    await few.buildAndOpen();
    expect(await few.search(new Int32Array(5), 10)).to.have.length(3);
    const none = rowsOf(5);
    await none.buildAndOpen();
    none.insert(clustered(40, 5, 2 ** 18));
    none.absorb();
    expect(await none.search(new Int32Array(5), 10)).to.have.length(10);
  });

  it('frees all memory when it is closed, and after a failed opening', async () => {
    const rows = rowsOf(16);
    rows.insert(clustered(500, 16, 2 ** 18));
    const payload = await rows.build();
    const before = rows.memory.usedBytes;
    await rows.open(payload);
    expect(rows.memory.usedBytes).to.be.above(before);
    rows.insert(clustered(300, 16, 2 ** 18));
    const grown = rows.memory.usedBytes;
    rows.absorb();
    expect(rows.memory.usedBytes).to.be.above(grown);
    await rows.close();
    const blocks = rows.vectors.bytes;
    expect(rows.memory.usedBytes).to.equal(blocks);
  });

  it('leaves a row to the exact search if memory is short, and stays unchanged', async () => {
    const rows = rowsOf(16);
    rows.insert(clustered(1_000, 16, 2 ** 18));
    const payload = await rows.buildAndOpen();
    rows.insert(clustered(1_000, 16, 2 ** 18));
    const { memory } = rows;
    const allocateBlock = memory.allocateBlock.bind(memory);
    let blocksLeft = 3;
    memory.allocateBlock = (sizeBytes) => {
      if (blocksLeft-- > 0) return allocateBlock(sizeBytes);
      throw new VouchError('capacity_exceeded', 'no more');
    };
    const left = new Set(rows.absorb());
    expect(left.size).to.be.within(1, 999);
    const found = [...rows.records].filter(([id]) => !left.has(id));
    const query = randomVector(random, 16, 2 ** 18);
    expect(await rows.search(query, 5_000)).to.deep.equal(nearest(found, query, 5_000));
    blocksLeft = 5;
    expect(await rows.open(payload).catch((thrown: unknown) => thrown)).to.have.property('code', 'capacity_exceeded');
    expect(memory.usedBytes).to.equal(rows.vectors.bytes);
  });

  it('refuses a damaged payload, and says in one line what is wrong', async () => {
    const rows = rowsOf(7);
    rows.insert(clustered(200, 7, 2 ** 18));
    const payload = await rows.build();
    const whole = readFileSync(payload.path);
    const damaged = async (change: (bytes: Buffer) => Uint8Array): Promise<unknown> => {
      writeFileSync(payload.path, change(Buffer.from(whole)));
      const error = await rows.open(payload).catch((thrown: unknown) => thrown);
      return error instanceof Error ? error.message : error;
    };
    const word = (at: number, value: number) => (bytes: Buffer) => {
      bytes.writeUInt32LE(value, at < 0 ? bytes.length + at : at);
      return bytes;
    };
    expect(await damaged((bytes) => bytes.subarray(0, 10))).to.match(/^[^\n]+$/);
    expect(await damaged((bytes) => bytes.subarray(0, -1))).to.match(/^an IVF payload of \d+ bytes, not \d+$/);
    expect(await damaged(word(0, 1))).to.equal('this is not an IVF payload');
    expect(await damaged(word(4, 9))).to.equal('an IVF payload of version 9; this reads version 1');
    expect(await damaged(word(8, 8))).to.equal('an IVF payload of 8 dimensions, not 7');
    expect(await damaged(word(-4, 9_999))).to.match(/^an IVF payload with a row in list 9999 of \d+$/);
    expect(await damaged(word(-4, NO_LIST))).to.equal('an IVF payload with row 199 in no list');
    expect(rows.memory.usedBytes).to.equal(rows.vectors.bytes);
  });

  it('stops its build when that is cancelled', async () => {
    const rows = rowsOf(16);
    rows.insert(clustered(2_000, 16, 2 ** 18));
    const progress = new BuildProgress();
    progress.cancel();
    const error = await rows.build(undefined, progress).catch((thrown: unknown) => thrown);
    expect(error).to.have.property('message', 'the build was cancelled');
    const whole = new BuildProgress();
    await rows.build(undefined, whole);
    expect(whole.done).to.equal(whole.total);
  });
});

describe('the codes of an IVF build', () => {
  it('never exceed the sums of the kernel', () => {
    for (const dimension of [1, 2, 4, 100, 4_096, 32_768]) {
      const shape = new CodeShape(dimension);
      expect(dimension * shape.differenceMax ** 2).to.be.below(2 ** 32);
      for (const reach of [0, 1, 1_000, 2 ** 20, 2 ** 32]) {
        const shift = shape.shiftFor(reach);
        expect(reach / 2 ** shift + 1).to.be.at.most(shape.differenceMax);
        expect(shift).to.be.at.most(31);
      }
    }
  });
});
