// Covers: shard/snapshot/snapshotFile.ts, shard/snapshot/restore.ts, shard/snapshot/readJob.ts, shard/snapshot/folder.ts
// Covers: shard/snapshot/recordChunk.ts, shard/snapshot/rows.ts
/** Damaged snapshots: they are never used; an older snapshot or the log serves instead. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { snapshotPath } from '../../../../shard/snapshot/folder.js';
import { readHere } from '../../../../shard/snapshot/readJob.js';
import { restoreSnapshot } from '../../../../shard/snapshot/restore.js';
import { openSnapshot } from '../../../../shard/snapshot/snapshotFile.js';
import { writeSnapshot } from '../../../../shard/snapshot/writeSnapshot.js';
import { hash, toHex } from '../../../../shared/hashing/hash.js';
import { expectCode } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { CollectionLife } from '../../../support/rigs/collectionLife.js';
import { expectSameAnswers } from '../../../support/rigs/sameAnswers.js';
import { config, SnapshotRig, WINDOW } from '../../../support/rigs/snapshotRig.js';

const memory = new VectorMemory();

describe('a damaged or foreign snapshot', () => {
  let rig: SnapshotRig;
  beforeEach(async () => {
    rig = await SnapshotRig.start();
  });
  afterEach(() => rig.stop());

  it('with any byte flipped is detected and renamed, and the collection is served', async () => {
    await new CollectionLife(() => rig.collection, seededRandom(5)).live(14);
    const expected = await rig.stateHash();
    const path = await rig.snapshot();
    const whole = await readFile(path);
    await rig.close();
    for (let at = 0; at < whole.length; at++) {
      const damaged = Uint8Array.from(whole);
      damaged[at]! ^= 1 << (at % 8);
      await expectRefused(path, damaged, `byte ${at}`);
    }
    // Through the opening of the collection too, for some of them.
    for (const at of [0, 5, 17, whole.length >> 1, whole.length - 200, whole.length - 1]) {
      const damaged = Uint8Array.from(whole);
      damaged[at]! ^= 0x40;
      await writeFile(path, damaged);
      await rig.open();
      expect(await rig.stateHash(), `byte ${at}`).to.equal(expected);
      expect(rig.snapshots.damages, `byte ${at}`).to.have.length(1);
      await rig.close();
    }
    expect((await rig.names()).filter((name) => name.includes('.damaged'))).to.have.length(6);
    expect((await rig.names()).filter((name) => name.endsWith('.snapshot'))).to.deep.equal([]);
    await rig.open();
  });

  it('is detected if it is truncated or has bytes behind its end', async () => {
    await new CollectionLife(() => rig.collection, seededRandom(6)).live(14);
    const path = await rig.snapshot();
    const whole = await readFile(path);
    for (let length = 0; length < whole.length; length++)
      await expectRefused(path, whole.subarray(0, length), `${length} bytes`);
    await expectRefused(path, Buffer.concat([whole, Buffer.of(0)]), 'one byte more');
    await rm(path);
  });

  it('is detected by reader threads too, which restore a sound one', async () => {
    await new CollectionLife(() => rig.collection, seededRandom(testSeed())).live(60);
    const path = await rig.snapshot(undefined, 200);
    const { read, count: readers } = rig.snapshots.threads;
    const restoring = { config, memory, dedupWindow: WINDOW, read, readers };
    const { state, history } = await restoreSnapshot(await openSnapshot(path), restoring);
    const { configHash, end, sequence } = history;
    const { chainHead, lastTimeMs: timeMs } = end;
    expect(toHex(state.hash({ configHash, chainHead, sequence, timeMs }))).to.equal(await rig.stateHash());
    state.vectors.destroy();
    const whole = await readFile(path);
    const { chunks } = await openSnapshot(path);
    for (const { kind, offset, length } of chunks) {
      const damaged = Uint8Array.from(whole);
      damaged[offset + length - 1]! ^= 1;
      await writeFile(path, damaged);
      const outcome = await restoreSnapshot(await openSnapshot(path), restoring).catch((error: Error) => error.name);
      expect(outcome, kind).to.equal('DamagedSnapshot');
      expect(memory.usedBytes, kind).to.equal(0);
    }
    await rm(path);
  });

  it('is refused by its number, and kept, if its version is unknown', async () => {
    await rig.collection.insert([1, 1]);
    const path = await rig.snapshot();
    const bytes = await readFile(path);
    bytes.writeUInt32LE(9, 4);
    bytes.set(hash(bytes.subarray(0, 8)).subarray(0, 8), 8);
    await writeFile(path, bytes);
    const refusal = await openSnapshot(path).catch((error: Error) => error.message);
    expect(refusal).to.equal('snapshot version 9 is not known here; this program reads version 3');
    await rig.reopen();
    expect(await rig.collection.found()).to.deep.equal([1]);
    expect(await rig.names()).to.deep.equal([basename(path)]);
  });

  it('is skipped by openings and past states, and kept, if the disk cannot read it', async () => {
    const life = new CollectionLife(() => rig.collection, seededRandom(testSeed()));
    await life.live(80);
    const path = await rig.snapshot();
    await life.live(40);
    // For deleted records, so that memory lacks them.
    for (const id of [1, 2, 3]) await rig.collection.write({ op: 'delete', id }).catch(() => undefined);
    await rm(path);
    // A folder cannot be read as a file.
    await mkdir(path);
    await expectSameAnswers(rig.collection, rig.replayed());
    await rig.close();
    await rig.open();
    expect(await rig.openedFrom()).to.equal(undefined);
    await expectSameAnswers(rig.collection, rig.replayed());
    expect(rig.snapshots.damages).to.deep.equal([]);
    expect(await rig.names()).to.deep.equal([basename(path)]);
  });

  it('is replaced by the previous one', async () => {
    const life = new CollectionLife(() => rig.collection, seededRandom(testSeed()));
    await life.live(30);
    await rig.snapshot();
    const second = await life.live(30).then(() => rig.snapshot());
    await life.live(5);
    await rig.close();
    const bytes = await readFile(second);
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(second, bytes);
    await rig.open();
    await expectSameAnswers(rig.collection, rig.replayed());
    expect(await rig.openedFrom()).to.equal('snapshot');
    expect(rig.snapshots.damages).to.have.length(1);
    expect(await rig.names()).to.have.length(2);
  });

  it('is renamed if it belongs to another log', async () => {
    await rig.collection.insert([1, 1]);
    const path = await rig.snapshot();
    await rig.close();
    await rig.logs.remove(config.id);
    const other = rig.replayed();
    await other.insert([2, 2]);
    await other.insert([3, 3]);
    await rig.open();
    expect(await rig.collection.found()).to.deep.equal([1, 2]);
    expect(rig.snapshots.damages).to.deep.equal(['it does not belong to the log']);
    expect(await rig.names()).to.deep.equal([`${basename(path)}.damaged`]);
  });

  it('is not suspected if it verifies and its log is shorter: then the log is reported as lost', async () => {
    await rig.collection.insert([1, 1]);
    const path = await rig.snapshot();
    await rig.collection.insert([2, 2]);
    const newest = await rig.snapshot();
    await rig.close();
    for (const [kept, end] of [
      [1, 'ends with event 1'],
      [0, 'is empty'],
    ] as const) {
      await rig.logs.remove(config.id);
      if (kept === 1) await rig.replayed().insert([1, 1]);
      await rig.open();
      const refused = await expectCode(rig.collection.found(), 'internal_error');
      expect(refused.message).to.contain(
        `quarantined, its stored log does not verify: it ${end}, but event 2 was in it when a snapshot was made; put the log`,
      );
      await expectCode(rig.collection.insert([3, 3]), 'internal_error');
      await rig.close();
    }
    expect(rig.snapshots.damages).to.deep.equal([]);
    expect(await rig.names()).to.deep.equal([basename(path), basename(newest)]);
  });

  it('is renamed if it verifies but contradicts the log', async () => {
    for (let n = 0; n < 5; n++) await rig.collection.insert([n, n]);
    const node = { type: 'addNode', sequence: 5, timeMs: 0, actor: null, nodeId: 1, recordId: null, kind: 0 } as const;
    const path = await rig.snapshot(({ state }) => state.graph.apply(node));
    await rig.collection.write({ op: 'addNode', kind: 1, recordId: null });
    await rig.reopen();
    await expectSameAnswers(rig.collection, rig.replayed());
    expect(rig.snapshots.damages).to.have.length(1);
    expect(await rig.names()).to.deep.equal([`${basename(path)}.damaged`]);
  });

  it('from an interrupted write is ignored, and removed at the next start', async () => {
    await new CollectionLife(() => rig.collection, seededRandom(7)).live(30);
    await mkdir(rig.ownFolder, { recursive: true });
    const { state, journal } = await rig.state();
    const made = { state, history: journal.history, describedBytes: 0 };
    for (let step = 0; ; step++) {
      let rests = 0;
      const cut = async (): Promise<void> => {
        if (rests++ === step) throw new Error('cut');
      };
      const outcome = await writeSnapshot(
        snapshotPath(rig.ownFolder, 30),
        { ...made, collectionId: config.id, madeAtMs: 0 },
        cut,
      ).catch((error: Error) => error.message);
      if (outcome !== 'cut') break;
      expect(await rig.names(), `step ${step}`).to.deep.equal([]);
    }
    expect(await rig.names()).to.deep.equal(['0000000000000030.snapshot']);
    // Leftovers of killed processes: one whose id is unused, and one whose id is now this process's.
    await writeFile(join(rig.ownFolder, '.4194999-0-1.tmp'), 'half');
    await writeFile(join(rig.ownFolder, `.${process.pid}-0-9999999.tmp`), 'half');
    await rig.reopen();
    expect(await rig.names()).to.deep.equal(['0000000000000030.snapshot']);
    state.vectors.destroy();
  });
});

/** Asserts that the snapshot is neither opened nor restored. */
async function expectRefused(path: string, bytes: Uint8Array, what: string): Promise<void> {
  await writeFile(path, bytes);
  const restoring = { config, memory, dedupWindow: WINDOW, read: readHere, readers: 1 };
  const outcome = await openSnapshot(path)
    .then((snapshot) => restoreSnapshot(snapshot, restoring))
    .catch((error: Error) => error.name);
  expect(outcome, what).to.equal('DamagedSnapshot');
  expect(memory.usedBytes, what).to.equal(0);
}
