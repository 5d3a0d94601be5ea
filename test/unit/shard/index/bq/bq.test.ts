// Covers: shard/index/bq/bq.ts, shard/index/bq/builder.ts
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { bq } from '../../../../../shard/index/bq/bq.js';
import { bqBuilder } from '../../../../../shard/index/bq/builder.js';
import { FrozenRows, freeze } from '../../../../../shard/index/builds/frozenRows.js';
import type { BuildBase, Index } from '../../../../../shard/index/kind.js';
import { BuildProgress } from '../../../../../shard/index/progress.js';
import { NO_SLOT, Rows } from '../../../../../shard/index/rows.js';
import { SlotSet } from '../../../../../shard/kernel/slotSet.js';
import { VectorMemory } from '../../../../../shard/kernel/vectorMemory.js';
import { VouchError } from '../../../../../shared/errors/errors.js';
import type { IndexParameters } from '../../../../../shared/model/indexSpec.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';
import { Modelled, noPause, randomVector } from '../../kernel/kernelOracle.js';
import { estimatesOf, leastEstimated } from './estimates.js';

const random = seededRandom(testSeed());

/** A collection, and an open BQ index of it. */
class Indexed {
  rows: Rows;
  index: Index | undefined;

  constructor(
    readonly model: Modelled,
    readonly parameters: IndexParameters = {},
  ) {
    this.rows = new Rows(new SlotSet(model.vectors.shape));
  }

  /** Returns the record ids by ordinal. */
  async build(path: string, base?: BuildBase, baseIds?: Float64Array): Promise<Float64Array> {
    const { vectors } = this.model;
    const saved = baseIds && { recordIds: baseIds, leftOut: new Set<number>() };
    const scan = vectors.beginScan();
    const rows = new FrozenRows(freeze(vectors), vectors.shape, saved);
    const progress = new BuildProgress();
    const { leftOut } = await bqBuilder.build({ rows, parameters: this.parameters, path, base, progress });
    vectors.endScan(scan);
    expect(leftOut).to.deep.equal([]);
    expect(progress.done).to.equal(progress.total);
    return rows.recordIds;
  }

  async open(path: string, recordIds: Float64Array): Promise<Index> {
    const slots = new Map([...this.model.rows].filter(([, { live }]) => live).map(([slot, { id }]) => [id, slot]));
    this.rows = new Rows(new SlotSet(this.model.vectors.shape));
    for (const id of recordIds) this.rows.add(id, slots.get(id) ?? NO_SLOT);
    const { vectors } = this.model;
    this.index = await bq.open({ path, vectors, rows: this.rows, parameters: this.parameters, pause: noPause });
    return this.index;
  }

  absorb(slot: number): void {
    expect(this.index!.absorb(this.rows.count, slot)).to.equal(true);
    this.rows.add(this.model.rows.get(slot)!.id, slot);
  }

  release(slot: number): void {
    const ordinal = this.rows.remove(slot);
    if (ordinal !== undefined) this.index?.remove(ordinal, slot);
    this.model.release(slot);
  }

  async found(query: Int32Array, k = 10): Promise<number[]> {
    return [...(await this.index!.candidates(query, k, undefined))];
  }

  /** Expected result of `found`, with codes relative to `mean`. */
  expected(query: Int32Array, mean: Int32Array, wanted: number): number[] {
    const covered = [...this.model.rows].filter(([slot]) => this.rows.covered.has(slot));
    const vectors = covered.map(([slot, { vector }]) => [slot, vector] as const);
    return leastEstimated(estimatesOf(vectors, query, mean), wanted);
  }
}

const meanOf = (vectors: readonly Int32Array[], dimension: number): Int32Array =>
  Int32Array.from({ length: dimension }, (_, i) =>
    Math.round(vectors.reduce((sum, vector) => sum + vector[i]!, 0) / vectors.length),
  );

describe('a BQ index', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-bq-'));
  });
  after(() => rm(folder, { recursive: true }));
  let files = 0;
  const newPath = (): string => join(folder, `payload${files++}`);

  const filled = (dimension: number, rows: number, parameters?: IndexParameters): Indexed => {
    const model = new Modelled(dimension);
    const centre = randomVector(random, dimension, 2 ** 20);
    for (let i = 0; i < rows; i++)
      model.insert(randomVector(random, dimension, 2 ** 18).map((value, at) => value + centre[at]!));
    return new Indexed(model, parameters);
  };

  const vectorsOf = ({ model }: Indexed): Int32Array[] => [...model.rows.values()].map(({ vector }) => vector);

  for (const dimension of [1, 3, 100, 768]) {
    it(`proposes the rows with the least estimated distances, at ${dimension} dimensions`, async () => {
      const indexed = filled(dimension, 1_200, { candidates: 37 });
      const mean = meanOf(vectorsOf(indexed), dimension);
      const path = newPath();
      await indexed.open(path, await indexed.build(path));
      for (let round = 0; round < 5; round++) {
        const query = random.pick(vectorsOf(indexed)).map((value) => value + random.int(2 ** 17));
        expect(await indexed.found(query)).to.deep.equal(indexed.expected(query, mean, 37));
        expect(await indexed.found(query, 50)).to.deep.equal(indexed.expected(query, mean, 50));
      }
    });
  }

  it('proposes ten times as many rows as requested, and at least 200', async () => {
    const indexed = filled(64, 3_000);
    const path = newPath();
    await indexed.open(path, await indexed.build(path));
    const query = randomVector(random, 64, 2 ** 18);
    expect(await indexed.found(query, 1)).to.have.lengthOf(200);
    expect(await indexed.found(query, 100)).to.have.lengthOf(1_000);
    expect(await indexed.found(query, 3_000)).to.have.lengthOf(3_000);
  });

  it('finds each row by its own vector, absorbed rows too, and no released row', async () => {
    const indexed = filled(6, 1_000, { candidates: 1 });
    const path = newPath();
    await indexed.open(path, await indexed.build(path));
    for (let i = 0; i < 300; i++) indexed.absorb(indexed.model.insert(randomVector(random, 6, 2 ** 18)));
    for (let i = 0; i < 300; i++) {
      const slot = random.pick([...indexed.model.rows.keys()]);
      const { vector } = indexed.model.rows.get(slot)!;
      indexed.release(slot);
      expect(await indexed.found(vector, 1)).not.to.include(slot);
    }
    for (const [slot, { vector }] of indexed.model.rows) expect(await indexed.found(vector, 1)).to.include(slot);
  });

  it('finds all rows of a collection of equal rows, and the only row of another', async () => {
    for (const rows of [1, 2, 1_500]) {
      const model = new Modelled(3);
      for (let i = 0; i < rows; i++) model.insert(Int32Array.of(7, -7, 0));
      const indexed = new Indexed(model);
      const path = newPath();
      await indexed.open(path, await indexed.build(path));
      expect(await indexed.found(Int32Array.of(7, -7, 0))).to.deep.equal([...model.rows.keys()]);
    }
  });

  it('proposes the same rows after its file is opened again', async () => {
    const indexed = filled(100, 1_000);
    const built = newPath();
    await indexed.open(built, await indexed.build(built));
    for (let i = 0; i < 400; i++) indexed.absorb(indexed.model.insert(randomVector(random, 100, 2 ** 21)));
    for (let i = 0; i < 200; i++) indexed.release(random.pick([...indexed.model.rows.keys()]));
    const queries = Array.from({ length: 5 }, () => randomVector(random, 100, 2 ** 21));
    const before = await Promise.all(queries.map((query) => indexed.found(query)));
    const persisted = newPath();
    await indexed.index!.persist(persisted);
    await indexed.index!.free();
    await indexed.open(persisted, Float64Array.from(indexed.rows.recordIds));
    expect(await Promise.all(queries.map((query) => indexed.found(query)))).to.deep.equal(before);
  });

  it('extends a base: keeps its mean and codes, adds new rows, and does not find released ones', async () => {
    const indexed = filled(20, 1_000, { candidates: 60 });
    const mean = meanOf(vectorsOf(indexed), 20);
    const base = newPath();
    const baseIds = await indexed.build(base);
    for (let i = 0; i < 700; i++) indexed.model.insert(randomVector(random, 20, 2 ** 21));
    for (let i = 0; i < 300; i++) indexed.release(random.pick([...indexed.model.rows.keys()]));
    const path = newPath();
    const ids = await indexed.build(path, { path: base, count: baseIds.length }, baseIds);
    await indexed.open(path, ids);
    for (let round = 0; round < 10; round++) {
      const query = random.pick(vectorsOf(indexed));
      expect(await indexed.found(query)).to.deep.equal(indexed.expected(query, mean, 60));
    }
  });

  it('builds equal files from equal rows', async () => {
    const indexed = filled(33, 500);
    const [one, other] = [newPath(), newPath()];
    await indexed.build(one);
    await indexed.build(other);
    expect((await readFile(one)).equals(await readFile(other))).to.equal(true);
  });

  it('refuses an inconsistent payload with a one-line message, and keeps no memory', async () => {
    const indexed = filled(50, 300);
    const whole = newPath();
    const ids = await indexed.build(whole);
    const bytes = await readFile(whole);
    const { usedBytes } = indexed.model.memory;
    const damaged = [
      Buffer.alloc(0),
      bytes.subarray(0, 10),
      bytes.subarray(0, -1),
      Buffer.concat([bytes, Buffer.alloc(1)]),
      Buffer.concat([Buffer.from('nothing of the kind'), bytes.subarray(19)]),
      Buffer.concat([bytes.subarray(0, 12), Buffer.from([1, 0, 0, 0]), bytes.subarray(16)]),
      Buffer.concat([bytes.subarray(0, 4), Buffer.from([51, 0, 0, 0]), bytes.subarray(8)]),
    ];
    for (const content of damaged) {
      const path = newPath();
      await writeFile(path, content);
      const error: unknown = await indexed.open(path, ids).catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Error);
      expect((error as Error).message).to.match(/^.*BQ payload.*$/);
      expect(indexed.model.memory.usedBytes).to.equal(usedBytes);
    }
  });

  it('takes vector memory only while it is open, and fails with capacity_exceeded without memory', async () => {
    const source = filled(128, 2_000);
    const path = newPath();
    const ids = await source.build(path);
    const usedBefore = source.model.memory.usedBytes;
    const index = await source.open(path, ids);
    expect(source.model.memory.usedBytes).to.be.within(usedBefore + index.bytes, usedBefore + 2 * index.bytes);
    expect(index.bytes).to.be.at.least(2_000 * 16);
    await index.free();
    expect(source.model.memory.usedBytes).to.equal(usedBefore);

    const full = new Modelled(128, new VectorMemory({ boundBytes: usedBefore + 16_384 }));
    for (const { vector, id } of source.model.rows.values()) full.insert(vector, id);
    const error: unknown = await new Indexed(full).open(path, ids).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(VouchError).and.have.property('code', 'capacity_exceeded');
    expect(full.memory.usedBytes).to.equal(usedBefore);
  });
});
