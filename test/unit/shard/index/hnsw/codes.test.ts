// Covers: shard/index/hnsw/segment.ts, shard/index/hnsw/builder.ts, shard/index/hnsw/vectorForm.ts
// Covers: shard/index/hnsw/equalRows.ts
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { SlotSet } from '../../../../../shard/kernel/slotSet.js';
import { Collection, hnswRig, K, ONE, times } from '../../../../support/rigs/hnswRig.js';

const CODED_DIMENSION = 32;

describe('the HNSW index with codes, for many rows of many dimensions', () => {
  const rig = hnswRig(CODED_DIMENSION);
  const coded = (): Int32Array => rig.vector();
  const shifted = (by: number) => (): Int32Array => Int32Array.from(coded(), (value) => value + by * ONE);

  async function codedOf(count: number, make = coded) {
    const collection = new Collection(rig.folder, CODED_DIMENSION);
    const slots = times(count, () => collection.insert(make()));
    return { collection, slots, serving: rig.kept(await collection.indexed()) };
  }

  it('finds nearly all nearest rows, also among eligible ones, in less memory than with floats', async () => {
    const { collection, slots, serving } = await codedOf(3000);
    expect(await serving.recall(times(50, coded))).to.be.at.least(0.95);
    const eligible = new SlotSet(collection.vectors.shape);
    for (const slot of slots) if (rig.random.next() < 0.3) eligible.add(slot);
    expect(await serving.recall(times(30, coded), K, eligible)).to.be.at.least(0.95);
    for (const slot of slots.slice(0, 300)) serving.remove(slot);
    expect(await serving.recall(times(30, coded))).to.be.at.least(0.95);
    const { size } = await stat(join(rig.folder, 'payload'));
    expect(size).to.be.below(3000 * (4 * CODED_DIMENSION + 4 + 8 * 16));
  });

  it('is linked by several threads', async () => {
    const { serving } = await codedOf(9000);
    expect(await serving.recall(times(50, coded))).to.be.at.least(0.95);
  });

  it('keeps floats if codes would not distinguish the rows', async () => {
    const collection = new Collection(rig.folder, CODED_DIMENSION);
    for (const row of times(2000, coded)) collection.insert(row);
    collection.insert(new Int32Array(CODED_DIMENSION).fill(20_000 * ONE));
    const serving = rig.kept(await collection.indexed());
    expect(await serving.recall(times(50, coded))).to.be.at.least(0.95);
  });

  it('finds rows with equal codes, which share a node', async () => {
    const collection = new Collection(rig.folder, CODED_DIMENSION);
    for (const row of times(3000, coded)) collection.insert(row);
    const base = coded();
    const alike = times(200, () => Int32Array.from(base, (value) => value + Math.floor(3 * rig.random.next())));
    for (const row of alike) collection.insert(row);
    const serving = rig.kept(await collection.indexed());
    for (const k of [10, 50, 150]) expect(await serving.recall([base, ...alike.slice(0, 5)], k)).to.equal(1);
  });

  it('leaves queries outside the range of its codes to an exact search', async () => {
    const { serving } = await codedOf(2000);
    expect(await serving.index.candidates(shifted(30)(), K, undefined)).to.have.length(0);
  });

  it('refuses rows outside the range of its codes, and a later build has a wider range', async () => {
    const { collection, serving } = await codedOf(2000);
    const far = shifted(30);
    for (const row of times(20, far)) expect(serving.absorb(collection.insert(row))).to.equal(false);
    for (const row of times(20, coded)) expect(serving.absorb(collection.insert(row))).to.equal(true);
    await serving.index.persist(join(rig.folder, 'absorbed'));
    for (const row of times(500, far)) collection.insert(row);
    const from = { path: join(rig.folder, 'absorbed'), rows: serving.rows };
    const { path, recordIds } = await collection.build('rebuilt', {}, from);
    const rebuilt = rig.kept(await collection.open(path, recordIds));
    for (const make of [coded, far]) expect(await rebuilt.recall(times(30, make))).to.be.at.least(0.95);
  });
});
