// Covers: shard/index/hnsw/segments.ts, shard/index/hnsw/builder.ts, shard/index/generationMaker.ts, shard/index/builds/frozenRows.ts
/** A collection whose index has several segments: growth, restart, deletion and short memory. */
import { expect } from 'chai';
import { eventually } from '../../../../support/expectations.js';
import { bytesOf, take, type Vector, vectorSource } from '../../../../support/model/indexVectors.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';
import { batchOf, soon } from '../../../../support/rigs/engine.js';
import { type IndexRig, openIndexRig } from '../../../../support/rigs/indexRig.js';

/** So many that searches read two graphs rather than all rows. */
const DIMENSION = 768;
/** Some 2,500 nodes of 768 codes with 16 links. */
const GRAPH_BYTES = 1 << 21;
const PARAMETERS = { m: 8, efConstruction: 60, efSearch: 40 };
const ROWS = 4_000;
/** So many that one segment has room for the others, even if three in ten of its rows are gone. */
const DELETED = 2_500;
/** Enough for the rows, too little for their index. */
const BYTES_MAX = 13 << 20;

describe('a collection whose HNSW index has several segments', () => {
  let rig: IndexRig;
  let next: () => Vector;
  afterEach(() => rig.dispose());

  async function open(vectorBytesMax?: number): Promise<void> {
    const random = seededRandom(testSeed());
    next = vectorSource(random, DIMENSION, 'clustered');
    rig = await openIndexRig({ dimension: DIMENSION, graphBytesMax: GRAPH_BYTES, vectorBytesMax });
  }

  const index = () => rig.collection.hosted.openCollection!.index;

  const segments = async (): Promise<number | null> => (await rig.collection.settled()).segments;

  const named = (from: number, count: number) => ({
    ...batchOf(take(count, next).map(bytesOf)),
    externalIds: Array.from({ length: count }, (_, at) => `r${from + at}`),
  });
  const upsert = async (from: number, to: number): Promise<void> => {
    for (let at = from; at < to; at += 500) await rig.collection.hosted.run(named(at, 500), soon());
  };

  it('gets further segments as it grows, also after a restart', async () => {
    await open();
    const { collection } = rig;
    await collection.insertAll(take(ROWS / 2, next));
    await collection.configure('hnsw', PARAMETERS);
    expect(await segments()).to.equal(1);
    await rig.restart();
    expect((await collection.settled()).activeKind).to.equal('hnsw');
    await collection.insertAll(take(ROWS / 2, next));
    await eventually('all rows are in the index', () => index().tail === 0);
    expect(await segments()).to.equal(2);
    expect(await collection.recall(take(20, next), 10)).to.be.at.least(0.9);
    await rig.restart();
    expect((await collection.settled()).activeKind).to.equal('hnsw');
    expect(await collection.recall(take(20, next), 10)).to.be.at.least(0.9);
  });

  it('stays small when records are replaced, and shrinks when they are deleted', async () => {
    await open();
    const { collection } = rig;
    await upsert(0, ROWS);
    await collection.configure('hnsw', PARAMETERS);
    expect(await segments()).to.equal(2);
    const { bytes } = index();
    // At most three rows in ten of an index are gone, so that three segments have room for all.
    for (let times = 0; times < 2; times++) await upsert(0, ROWS / 2);
    await eventually('the index has the new rows', async () => (await segments())! <= 3 && index().tail === 0);
    for (let from = 0; from < DELETED; from += 500) {
      const externalIds = Array.from({ length: 500 }, (_, at) => `r${from + at}`);
      await collection.hosted.run({ op: 'deleteMany', of: { externalIds } }, soon());
    }
    await eventually('the index is small', async () => (await segments()) === 1 && index().tail === 0);
    expect(index().bytes).to.be.below(bytes);
  });

  it('is searched exactly, and its state says why, while memory is refused', async () => {
    await open(BYTES_MAX);
    const { collection } = rig;
    await collection.insertAll(take(ROWS, next));
    const usedBytes = rig.usedBytes();
    await collection.configure('hnsw', PARAMETERS);
    const { status, activeKind, error } = await collection.settled();
    expect({ status, activeKind }).to.deep.equal({ status: 'failed', activeKind: 'none' });
    expect(error).to.equal(`this node keeps ${BYTES_MAX} bytes of vectors at most`);
    expect(rig.usedBytes()).to.equal(usedBytes);
    expect(await collection.recall(take(10, next), 10)).to.equal(1);
  });
});
