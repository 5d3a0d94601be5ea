// Covers: shard/index/hnsw/hnsw.ts, shard/index/hnsw/segment.ts, shard/index/hnsw/builder.ts, shard/index/hnsw/payload.ts
// Covers: shard/kernel/assembly/graph.ts, shard/kernel/assembly/graphCheck.ts, shard/kernel/assembly/graphLink.ts
// Covers: shard/kernel/assembly/graphWalk.ts
import { copyFile, open, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { hnswBuilder } from '../../../../../shard/index/hnsw/builder.js';
import { hnsw } from '../../../../../shard/index/hnsw/hnsw.js';
import { BuildProgress, Cancelled } from '../../../../../shard/index/progress.js';
import { SlotSet } from '../../../../../shard/kernel/slotSet.js';
import type { IndexParameters } from '../../../../../shared/model/indexSpec.js';
import { Collection, DIMENSION, flat, hnswRig, K, ONE, times } from '../../../../support/rigs/hnswRig.js';

async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error('it was not refused');
}

describe('the HNSW index', () => {
  const rig = hnswRig();
  const vector = (): Int32Array => rig.vector();

  /** A collection with an index over `count` clustered rows, and their slots. */
  async function filled(count: number, parameters: IndexParameters = {}) {
    const collection = new Collection(rig.folder);
    const slots = times(count, () => collection.insert(vector()));
    return { collection, slots, serving: rig.kept(await collection.indexed('payload', parameters)) };
  }

  it('finds nearly all nearest rows, and more with a larger ef_search', async () => {
    const { collection, serving } = await filled(4000);
    const queries = times(100, vector);
    expect(await serving.recall(queries)).to.be.at.least(0.95);
    const { path, recordIds } = await collection.build('again');
    const wide = rig.kept(await collection.open(path, recordIds, { efSearch: 512 }));
    expect(await wide.recall(queries)).to.be.at.least(0.995);
  });

  it('builds equal graphs from equal rows', async () => {
    const { collection } = await filled(1500);
    await collection.build('again');
    expect((await readFile(join(rig.folder, 'again'))).equals(await readFile(join(rig.folder, 'payload')))).to.equal(
      true,
    );
  });

  it('finds every row by its own vector, absorbed rows too', async () => {
    const { collection, slots, serving } = await filled(2000, { m: 4, efConstruction: 8, efSearch: 1 });
    for (const row of times(500, vector)) {
      const slot = collection.insert(row);
      slots.push(slot);
      expect(serving.absorb(slot)).to.equal(true);
      expect([...(await serving.index.candidates(row, 1, undefined))]).to.include(slot);
    }
    for (const slot of slots) {
      const own = new Int32Array(collection.vectors.vectorBytes(slot).buffer);
      expect([...(await serving.search(own, 1)).slots]).to.deep.equal([slot]);
    }
  });

  it('absorbs as many rows as its capacity', async () => {
    const { collection, serving } = await filled(1000);
    const { capacityLeft: room } = serving.index;
    expect(room).to.be.at.least(1000);
    for (let i = 0; i < room; i++) expect(serving.absorb(collection.insert(vector()))).to.equal(true);
    expect(serving.index.capacityLeft).to.equal(0);
    expect(serving.absorb(collection.insert(vector()))).to.equal(false);
  });

  it('absorbs rows only if linking one takes at most a few milliseconds', async () => {
    const absorbs = async (parameters: IndexParameters): Promise<boolean> => {
      const collection = new Collection(rig.folder);
      for (let i = 0; i < 100; i++) collection.insert(vector());
      return rig.kept(await collection.indexed(`of m ${parameters.m}`, parameters)).index.absorbs;
    };
    expect(await absorbs({})).to.equal(true);
    expect(await absorbs({ m: 128, efConstruction: 4_096 })).to.equal(false);
  });

  it('proposes no removed row, and finds the remaining ones', async () => {
    const { slots, serving } = await filled(3000);
    for (const slot of slots) if (rig.random.next() < 0.3) serving.remove(slot);
    const proposed = await serving.index.candidates(vector(), 100, undefined);
    expect([...proposed].filter((slot) => serving.rows.ordinalOf(slot) === undefined)).to.deep.equal([]);
    expect(await serving.recall(times(50, vector))).to.be.at.least(0.95);
  });

  it('finds k rows although the nearest ones are removed, and absorbs new rows among these', async () => {
    const collection = new Collection(rig.folder);
    const near = times(1500, () => collection.insert(vector()));
    const far = times(300, () => collection.insert(Int32Array.from(vector(), (value) => value + 50 * ONE)));
    const serving = rig.kept(await collection.indexed());
    for (const slot of near) serving.remove(slot);
    const query = vector();
    expect((await serving.search(query)).ids).to.have.length(K);
    expect((await serving.search(query, 300)).slots.every((slot) => far.includes(slot))).to.equal(true);
    for (let i = 0; i < 200; i++) expect(serving.absorb(collection.insert(vector()))).to.equal(true);
  });

  it('finds the nearest eligible rows', async () => {
    const { collection, slots, serving } = await filled(4000);
    for (const share of [0.5, 0.1]) {
      const eligible = new SlotSet(collection.vectors.shape);
      for (const slot of slots) if (rig.random.next() < share) eligible.add(slot);
      const proposed = await serving.index.candidates(vector(), K, eligible);
      expect([...proposed].every((slot) => eligible.has(slot))).to.equal(true);
      expect(await serving.recall(times(30, vector), K, eligible)).to.be.at.least(0.95);
    }
    expect(await serving.index.candidates(vector(), K, new SlotSet(collection.vectors.shape))).to.have.length(0);
  });

  it('proposes all rows if k is larger', async () => {
    const { serving } = await filled(1200);
    expect((await serving.search(vector(), 5000)).ids).to.have.length(1200);
  });

  it('extends an earlier build: leaves out rows removed since, and adds new ones', async () => {
    const { collection, slots, serving } = await filled(2000);
    for (const slot of slots.splice(0, 400)) serving.remove(slot);
    const added = times(800, () => collection.insert(vector()));
    const { path, recordIds } = await collection.build(
      'extended',
      {},
      { path: join(rig.folder, 'payload'), rows: serving.rows },
    );
    expect(recordIds).to.have.length(2800);
    const extended = rig.kept(await collection.open(path, recordIds));
    expect(extended.rows.covered.count).to.equal(2400);
    expect(extended.index.capacityLeft).to.be.at.least(1000);
    expect(await extended.recall(times(50, vector))).to.be.at.least(0.95);
    for (const slot of added) {
      const own = new Int32Array(collection.vectors.vectorBytes(slot).buffer);
      expect((await extended.search(own, 1)).slots[0]).to.equal(slot);
    }
  });

  it('answers as before after it was written and read during searches', async () => {
    const { collection, serving } = await filled(1500);
    for (let i = 0; i < 300; i++) serving.absorb(collection.insert(vector()));
    const path = join(rig.folder, 'saved');
    const query = vector();
    const [, hits] = await Promise.all([serving.index.persist(path), serving.search(query)]);
    const again = rig.kept(await collection.open(path, serving.rows.recordIds));
    expect(await again.search(query)).to.deep.equal(hits);
    expect(again.index.capacityLeft).to.equal(serving.index.capacityLeft);
    expect(again.index.bytes).to.be.closeTo(serving.index.bytes, 65_536);
  });

  it('finds rows of few distinct vectors, which would disconnect a graph', async () => {
    const collection = new Collection(rig.folder);
    const values = times(20, () => vector());
    for (const value of values) for (let i = 0; i < 150; i++) collection.insert(value);
    const serving = rig.kept(await collection.indexed());
    expect(serving.index.capacityLeft).to.be.at.least(1024 + 3000 - 20);
    expect(await serving.recall(values)).to.equal(1);
  });

  it('finds equal rows after the first of them is removed, also after a restart', async () => {
    const collection = new Collection(rig.folder);
    const equal = times(1500, () => collection.insert(flat(1)));
    const serving = rig.kept(await collection.indexed());
    for (const slot of equal.splice(0, 1000)) serving.remove(slot);
    equal.push(collection.insert(flat(1)));
    expect(serving.absorb(equal.at(-1)!)).to.equal(true);
    expect([...(await serving.search(flat(3), 1000)).slots].sort()).to.deep.equal([...equal].sort());
    const path = join(rig.folder, 'saved');
    await serving.index.persist(path);
    const again = rig.kept(await collection.open(path, serving.rows.recordIds));
    expect([...(await again.search(flat(3), 1000)).slots].sort()).to.deep.equal([...equal].sort());
  });

  it('finds a record that is replaced by an equal vector again and again', async () => {
    const { collection, serving } = await filled(1500);
    const row = vector();
    let slot = collection.insert(row);
    expect(serving.absorb(slot)).to.equal(true);
    for (let i = 0; i < 100; i++) {
      serving.remove(slot);
      slot = collection.insert(row);
      expect(serving.absorb(slot)).to.equal(true);
    }
    const near = Int32Array.from(row, (value) => value + 1);
    expect([...(await serving.search(near, 1)).slots]).to.deep.equal([slot]);
  });

  it('opens when it is full and the row of a shared node is gone', async () => {
    const { collection, serving } = await filled(1000);
    const twice = vector();
    const [first, second] = [collection.insert(twice), collection.insert(twice)];
    for (const slot of [first, second]) expect(serving.absorb(slot)).to.equal(true);
    while (serving.index.capacityLeft > 0) serving.absorb(collection.insert(vector()));
    serving.remove(first);
    const path = join(rig.folder, 'full');
    await serving.index.persist(path);
    const again = rig.kept(await collection.open(path, serving.rows.recordIds));
    expect(again.index.capacityLeft).to.equal(0);
    expect([
      ...(
        await again.search(
          Int32Array.from(twice, (value) => value + 1),
          1,
        )
      ).slots,
    ]).to.deep.equal([second]);
  });

  it('stops its build when that is cancelled', async () => {
    const collection = new Collection(rig.folder);
    for (let i = 0; i < 50; i++) collection.insert(vector());
    const progress = new BuildProgress();
    progress.cancel();
    const order = {
      rows: collection.frozen(),
      parameters: {},
      path: join(rig.folder, 'never'),
      base: undefined,
      progress,
    };
    const stopped = await hnswBuilder.build(order).catch((error: unknown) => error);
    expect(stopped).to.be.instanceOf(Cancelled);
  });

  it('refuses an inconsistent payload with a one-line message', async () => {
    const { collection, serving } = await filled(1000);
    const good = join(rig.folder, 'payload');
    const ids = serving.rows.recordIds;
    const damaged = async (damage: (path: string) => Promise<void>): Promise<string> => {
      const path = join(rig.folder, 'damaged');
      await copyFile(good, path);
      await damage(path);
      const message = await refusal(collection.open(path, ids));
      expect(message).not.to.include('\n');
      return message;
    };
    const overwrite = (at: number, value: number) => async (path: string) => {
      const file = await open(path, 'r+');
      await file.write(Buffer.from(Uint32Array.of(value).buffer), 0, 4, at);
      await file.close();
    };
    const middles = Math.ceil((4 * DIMENSION) / 16) * 16;
    const { size } = await stat(good);
    expect(await damaged((path) => truncate(path, 50))).to.match(/the first 50 bytes are not the header/);
    expect(await damaged((path) => truncate(path, 5000))).to.match(/ends before byte \d+$/);
    expect(await damaged((path) => writeFile(path, 'x', { flag: 'a' }))).to.match(/bytes, not \d+$/);
    expect(await damaged(overwrite(0, 1))).to.match(/are not the header/);
    expect(await damaged(overwrite(24, 2 ** 30))).to.match(/of 1073741824 nodes with capacity/);
    expect(await damaged(overwrite(28, 1000))).to.match(/entry 1000$/);
    expect(await damaged(overwrite(32, 2 ** 28))).to.match(/words of higher levels/);
    expect(await damaged(overwrite(64 + middles, 1000))).to.match(/ordinals of 1000 and more/);
    // Fields of the last node: its first neighbour, their number, and its offset on higher levels.
    expect(await damaged(overwrite(size - 4 * 32, 1000))).to.match(/node 999 has a link to no node/);
    expect(await damaged(overwrite(size - 4 * 33, 33))).to.match(/node 999 has a link to no node/);
    expect(await damaged(overwrite(size - 4 * 34, 2 ** 30))).to.match(/node 999 has a link to no node/);
    expect(await refusal(collection.open(good, ids.slice(1)))).to.match(/ordinals of 999 and more/);
    expect(await refusal(collection.open(good, ids, { m: 8 }))).to.match(/not/);
    expect(await refusal(new Collection(rig.folder, 40).open(good, ids))).to.match(/not/);
    expect(await refusal(collection.open(join(rig.folder, 'absent'), ids))).to.match(/ENOENT/);
  });

  it('extends no build with other parameters', () => {
    expect(hnsw.sameBuild({}, { m: 16, efConstruction: 200, efSearch: 500 })).to.equal(true);
    expect(hnsw.sameBuild({ m: 8 }, {})).to.equal(false);
    expect(hnsw.sameBuild({ efConstruction: 100 }, {})).to.equal(false);
  });
});
