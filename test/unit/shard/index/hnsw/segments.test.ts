// Covers: shard/index/hnsw/segments.ts, shard/index/hnsw/segmentRows.ts, shard/index/hnsw/builder.ts, shard/index/hnsw/payload.ts
/** An index of more rows than one graph has room for: the bound of a graph is low here. */
import { copyFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { Segments } from '../../../../../shard/index/hnsw/segments.js';
import { SEARCH_PROGRAM } from '../../../../../shard/index/searchProgram.js';
import { ScanThreads } from '../../../../../shard/kernel/scanThreads.js';
import { SlotSet } from '../../../../../shard/kernel/slotSet.js';
import { VectorMemory } from '../../../../../shard/kernel/vectorMemory.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { eventually, rejection } from '../../../../support/expectations.js';
import { Collection, DIMENSION, hnswRig, K, times } from '../../../../support/rigs/hnswRig.js';

/** Some 1,300 nodes of 12 floats with 32 links. */
const GRAPH_BYTES = 1 << 18;
const ROWS = 4_000;
const HEAD_BYTES = 64 + 48;

/** Returns the rows of each graph of a payload, in order. */
async function graphsIn(path: string): Promise<number[]> {
  const bytes = await readFile(path);
  const rows: number[] = [];
  for (let at = bytes.indexOf('VHN2'); at >= 0; at = bytes.indexOf('VHN2', at + 4))
    rows.push(bytes.readUInt32LE(at + 36));
  return rows;
}

describe('an HNSW index of several segments', () => {
  const rig = hnswRig();
  const vector = (): Int32Array => rig.vector();

  const bounded = (memory?: VectorMemory): Collection => {
    const collection = new Collection(rig.folder, DIMENSION, memory);
    collection.graphBytesMax = GRAPH_BYTES;
    return collection;
  };

  async function filled(count: number, name = 'payload', memory?: VectorMemory) {
    const collection = bounded(memory);
    const slots = times(count, () => collection.insert(vector()));
    const path = join(rig.folder, name);
    return { collection, slots, path, serving: rig.kept(await collection.indexed(name)) };
  }

  it('has as many segments as its rows need, and one segment if they need one', async () => {
    const { path, serving } = await filled(ROWS);
    const rows = await graphsIn(path);
    expect(rows).to.have.length(4);
    expect(rows.reduce((sum, count) => sum + count, 0)).to.equal(ROWS);
    expect(serving.index).to.be.instanceOf(Segments);
    expect(serving.rows.covered.count).to.equal(ROWS);
    const small = await filled(1_000, 'small');
    expect(await graphsIn(small.path)).to.deep.equal([]);
    expect(small.serving.index).not.to.be.instanceOf(Segments);
  });

  it('finds as many near rows as one graph, and each row by its own vector', async () => {
    const { collection, slots, serving } = await filled(ROWS);
    collection.graphBytesMax = undefined;
    const one = rig.kept(await collection.indexed('one'));
    expect(one.index).not.to.be.instanceOf(Segments);
    const queries = times(100, vector);
    expect(await serving.recall(queries)).to.be.at.least(await one.recall(queries));
    for (const slot of slots.filter((_, at) => at % 10 === 0)) {
      const own = new Int32Array(collection.vectors.vectorBytes(slot).buffer);
      expect([...(await serving.search(own, 1)).slots]).to.deep.equal([slot]);
    }
  });

  it('finds no removed row, and all rows of a segment with fewer than k', async () => {
    const { collection, slots, path, serving } = await filled(ROWS);
    const [first] = await graphsIn(path);
    for (const slot of slots.slice(3, first)) serving.remove(slot);
    expect(await serving.recall(times(50, vector))).to.be.at.least(0.95);
    const own = new Int32Array(collection.vectors.vectorBytes(slots[1]!).buffer);
    expect((await serving.search(own)).slots[0]).to.equal(slots[1]);
    for (const slot of slots.slice(0, 3)) serving.remove(slot);
    expect(await serving.recall(times(50, vector))).to.be.at.least(0.95);
    for (const slot of slots.slice(first)) serving.remove(slot);
    expect((await serving.search(vector())).ids).to.have.length(0);
  });

  it('finds the nearest eligible rows, of all segments or of one', async () => {
    const { collection, slots, path, serving } = await filled(ROWS);
    const [first = 0] = await graphsIn(path);
    for (const [share, end] of [
      [0.5, ROWS],
      [0.1, ROWS],
      [0.05, first],
    ] as const) {
      const eligible = new SlotSet(collection.vectors.shape);
      for (const slot of slots.slice(0, end)) if (rig.random.next() < share) eligible.add(slot);
      const proposed = await serving.index.candidates(vector(), K, eligible);
      expect([...proposed].every((slot) => eligible.has(slot))).to.equal(true);
      expect(await serving.recall(times(30, vector), K, eligible)).to.be.at.least(0.95);
    }
  });

  it('finds all rows if k is larger than their number', async () => {
    const { serving } = await filled(ROWS);
    expect((await serving.search(vector(), 2 * ROWS)).ids).to.have.length(ROWS);
  });

  it('is extended by rows of its last segment and by further segments', async () => {
    const { collection, path, serving } = await filled(ROWS);
    const before = await graphsIn(path);
    for (const slot of [...serving.rows.covered].slice(0, 300)) serving.remove(slot);
    const added = times(2_000, () => collection.insert(vector()));
    const { path: extended, recordIds } = await collection.build('extended', {}, { path, rows: serving.rows });
    const rows = await graphsIn(extended);
    expect(rows.slice(0, 3)).to.deep.equal(before.slice(0, 3));
    expect(rows.length).to.be.above(4);
    expect(rows.reduce((sum, count) => sum + count, 0)).to.equal(ROWS + 2_000);
    const [one, other] = await Promise.all([readFile(path), readFile(extended)]);
    const end = one.indexOf('VHN2', HEAD_BYTES);
    expect(other.subarray(0, end).equals(one.subarray(0, end))).to.equal(true);
    const again = rig.kept(await collection.open(extended, recordIds));
    expect(again.rows.covered.count).to.equal(ROWS + 2_000 - 300);
    expect(await again.recall(times(50, vector))).to.be.at.least(0.95);
    for (const slot of added.filter((_, at) => at % 10 === 0)) {
      const own = new Int32Array(collection.vectors.vectorBytes(slot).buffer);
      expect((await again.search(own, 1)).slots[0]).to.equal(slot);
    }
  });

  it('is extended from a saved index of one graph', async () => {
    const { collection, path, serving } = await filled(1_000);
    times(1_500, () => collection.insert(vector()));
    const { path: extended, recordIds } = await collection.build('extended', {}, { path, rows: serving.rows });
    expect((await readFile(path)).subarray(0, 4).toString()).to.equal('VHN1');
    expect(await graphsIn(extended)).to.have.length(2);
    const again = rig.kept(await collection.open(extended, recordIds));
    expect(await again.recall(times(50, vector))).to.be.at.least(0.95);
  });

  it('absorbs rows into its last segment until that is full', async () => {
    const { collection, serving } = await filled(ROWS);
    const added: number[] = [];
    while (serving.index.capacityLeft > 0) {
      added.push(collection.insert(vector()));
      expect(serving.absorb(added.at(-1)!)).to.equal(true);
    }
    expect(added).not.to.have.length(0);
    expect(serving.absorb(collection.insert(vector()))).to.equal(false);
    for (const slot of added.filter((_, at) => at % 10 === 0)) {
      const own = new Int32Array(collection.vectors.vectorBytes(slot).buffer);
      expect([...(await serving.search(own, 1)).slots]).to.deep.equal([slot]);
    }
  });

  it('answers as before after it was written and read', async () => {
    const { collection, slots, path, serving } = await filled(ROWS);
    for (const slot of slots.splice(0, 500)) serving.remove(slot);
    for (let i = 0; i < 100; i++) expect(serving.absorb(collection.insert(vector()))).to.equal(true);
    const saved = join(rig.folder, 'saved');
    await serving.index.persist(saved);
    const before = await graphsIn(path);
    expect(await graphsIn(saved)).to.deep.equal([...before.slice(0, -1), before.at(-1)! + 100]);
    const again = rig.kept(await collection.open(saved, serving.rows.recordIds));
    for (const query of times(20, vector)) expect(await again.search(query)).to.deep.equal(await serving.search(query));
    expect(again.index.capacityLeft).to.equal(serving.index.capacityLeft);
    expect(again.index.bytes).to.be.closeTo(serving.index.bytes, 65_536);
    expect(again.index.cost(K)).to.equal(serving.index.cost(K));
  });

  it('finds by threads what it finds in the event loop, also after changes', async () => {
    const threads = new ScanThreads({ count: 2, logger: silentLogger, costMinBytes: 0 }, SEARCH_PROGRAM);
    try {
      const { collection, slots, serving } = await filled(ROWS, 'payload', new VectorMemory({ threads }));
      threads.warm();
      await eventually('a thread has started', () => threads.ready > 0);
      const eligible = new SlotSet(collection.vectors.shape);
      for (const slot of slots.slice(0, ROWS / 2)) if (rig.random.next() < 0.1) eligible.add(slot);
      const expectAlike = async (among?: SlotSet): Promise<void> => {
        const queries = times(40, vector);
        const found = await Promise.all(queries.map((query) => serving.index.search!(query, K, among)));
        for (const [at, query] of queries.entries())
          expect(found[at]).to.deep.equal(await serving.search(query, K, among));
      };
      await expectAlike();
      await expectAlike(eligible);
      for (let i = 0; i < 100; i++) serving.absorb(collection.insert(vector()));
      for (let at = 0; at < ROWS; at += 3) serving.remove(slots[at]!);
      await expectAlike();
    } finally {
      await threads.close();
    }
  });

  it('is refused with a one-line message if its payload is inconsistent', async () => {
    const { collection, path, serving } = await filled(ROWS);
    const { recordIds } = serving.rows;
    const { size } = await stat(path);
    const refusal = async (
      damage: (path: string) => Promise<void>,
      ids: Iterable<number> = recordIds,
    ): Promise<string> => {
      const damaged = join(rig.folder, 'damaged');
      await copyFile(path, damaged);
      await damage(damaged);
      const { message } = await rejection(collection.open(damaged, ids));
      expect(message).not.to.include('\n');
      return message;
    };
    expect(await refusal((path) => truncate(path, size - 1_000))).to.match(/ends before byte \d+$/);
    expect(await refusal((path) => writeFile(path, 'x', { flag: 'a' }))).to.match(
      /the first 1 bytes are not the header/,
    );
    expect(await refusal(async () => undefined, recordIds.slice(1))).to.match(/of 4000 rows, not 3999$/);
    const second = (await readFile(path)).indexOf('VHN2', HEAD_BYTES);
    expect(await refusal((path) => truncate(path, second))).to.match(/of \d+ rows, not 4000$/);
  });
});
