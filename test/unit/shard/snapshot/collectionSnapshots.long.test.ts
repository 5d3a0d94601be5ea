// Covers: shard/snapshot/snapshotServices.ts
/** Snapshots: a collection opened from a snapshot equals one replayed from its whole log. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { CollectionSnapshots } from '../../../../shard/snapshot/collectionSnapshots.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import { eventually } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { CollectionLife } from '../../../support/rigs/collectionLife.js';
import { requestIdOf } from '../../../support/rigs/engine.js';
import { expectSameAnswers } from '../../../support/rigs/sameAnswers.js';
import { savedNumbers } from '../../../support/rigs/savedNumbers.js';
import { config, SnapshotRig, WINDOW } from '../../../support/rigs/snapshotRig.js';

describe('the snapshots of a collection', () => {
  let rig: SnapshotRig;
  beforeEach(async () => {
    rig = await SnapshotRig.start();
  });
  afterEach(() => rig.stop());

  it('lead to the answers of a replay of the whole log', async () => {
    const random = seededRandom(testSeed());
    const life = new CollectionLife(() => rig.collection, random);
    for (let round = 0; round < 4; round++) {
      await life.live(40);
      // Chunks of one row, of some rows, and of all rows.
      await rig.snapshot(undefined, random.pick([1, 500, 1 << 20]));
      await life.live(random.int(20));
      const before = await rig.stateHash();
      await rig.reopen();
      expect(await rig.stateHash()).to.equal(before);
      expect(await rig.openedFrom()).to.equal('snapshot');
      await expectSameAnswers(rig.collection, rig.replayed());
    }
    expect(rig.snapshots.damages).to.deep.equal([]);
  });

  it('lead to the request ids, versions and changes of a replay, to the last number', async () => {
    const life = new CollectionLife(() => rig.collection, seededRandom(testSeed()));
    await life.live(120);
    const path = await rig.snapshot();
    await life.live(30);
    const one = await rig.state(rig.snapshots);
    const other = await rig.state();
    expect(one.snapshot?.sizeBytes).to.equal((await readFile(path)).length);
    expect(other.snapshot).to.equal(undefined);
    expect([...one.state.requests.entries()]).to.deep.equal([...other.state.requests.entries()]);
    expect(one.state.requests.size).to.equal(WINDOW);
    expect(savedNumbers(one.state.versions)).to.deep.equal(savedNumbers(other.state.versions));
    expect(one.state.tree.changes.length).to.equal(other.state.tree.changes.length);
    expect([...one.state.encrypted.all()]).to.deep.equal([...other.state.encrypted.all()]);
    expect([...one.state.encrypted.shreddedKeys()]).to.deep.equal([...other.state.encrypted.shreddedKeys()]);
    expect(one.journal.history.end).to.deep.equal(other.journal.history.end);
    expect(one.journal.history.frames).to.equal(other.journal.history.frames);
    expect(toHex(one.journal.stateHash())).to.equal(toHex(other.journal.stateHash()));
    for (const { state } of [one, other]) state.vectors.destroy();
  });

  it('preserve the first receipts of repeated requests, within the window', async () => {
    const first = await rig.collection.insert([1, 1], { requestId: requestIdOf(0) });
    for (let n = 1; n <= WINDOW; n++) await rig.collection.insert([n, 0], { requestId: requestIdOf(n) });
    const known = await rig.collection.replay(requestIdOf(1));
    await rig.snapshot();
    await rig.reopen();
    expect(await rig.collection.replay(requestIdOf(1))).to.deep.equal(known);
    expect((await rig.collection.insert([1, 1], { requestId: requestIdOf(0) })).deduplicated).to.equal(false);
    expect(first.deduplicated).to.equal(false);
  });

  it('with fewer request ids than configured are not used, and kept', async () => {
    for (let n = 0; n < 2 * WINDOW; n++) await rig.collection.insert([n, 0], { requestId: requestIdOf(n) });
    await rig.snapshot();
    await rig.reopen({ dedupWindow: 2 * WINDOW });
    expect((await rig.collection.replay(requestIdOf(0))).sequence).to.equal(1);
    expect(await rig.openedFrom()).to.equal('log');
    expect(await rig.names()).to.have.length(1);
  });

  it('with a window that was never full are used with any configured window', async () => {
    for (let n = 0; n < WINDOW - 1; n++) await rig.collection.insert([n, 0], { requestId: requestIdOf(n) });
    await rig.snapshot();
    await rig.reopen({ dedupWindow: 2 * WINDOW });
    expect((await rig.collection.replay(requestIdOf(0))).sequence).to.equal(1);
    expect(await rig.openedFrom()).to.equal('snapshot');
  });

  it('are made one at a time, and a closing collection does not wait for its turn', async () => {
    await rig.close();
    await rig.open({ everyBytes: 100 });
    let end = (): void => undefined;
    const ending = new Promise<void>((resolve) => {
      end = resolve;
    });
    const made: string[] = [];
    const at = { sequence: 1, logBytes: 100 };
    const one = new CollectionSnapshots({ id: 1, project: 'p' }, rig.snapshots, undefined, {
      now: () => at,
      make: async () => {
        made.push('one');
        await ending;
        return undefined;
      },
    });
    const other = new CollectionSnapshots({ id: 2, project: 'p' }, rig.snapshots, undefined, {
      now: () => at,
      make: async () => {
        made.push('other');
        return undefined;
      },
    });
    one.consider();
    other.consider();
    await eventually('the first is being made', () => made.length > 0);
    await other.close();
    end();
    await one.close();
    await eventually('no snapshot waits', () => rig.snapshots.turns.size === 0);
    expect(made).to.deep.equal(['one']);
  });

  it('are made when the log has grown, and a limited number is kept', async () => {
    await rig.reopen({ everyBytes: 2_000, keep: 2 });
    for (let round = 0; round < 5; round++) {
      const before = (await rig.names()).at(-1);
      for (let n = 0; n < 20; n++) await rig.collection.insert([n, round]);
      await eventually('a newer snapshot exists', async () => {
        // A write starts the next snapshot once the previous one is finished.
        await rig.collection.insert([0, round]);
        const now = await rig.names();
        return now.length > 0 && now.at(-1) !== before && now.length <= 2 && !now.some((name) => name.startsWith('.'));
      });
    }
    expect(await rig.names()).to.have.length(2);
    expect(rig.snapshots.store.bytesOf(config.id)).to.be.greaterThan(0);
    const sequence = await rig.sequence();
    await rig.reopen();
    expect(await rig.sequence()).to.equal(sequence);
    expect(await rig.openedFrom()).to.equal('snapshot');
    await expectSameAnswers(rig.collection, rig.replayed());
  });

  it('are also used by past states, with equal answers', async () => {
    const life = new CollectionLife(() => rig.collection, seededRandom(testSeed()));
    await life.live(80);
    await rig.snapshot();
    await life.live(40);
    // For deleted records, so that memory lacks them.
    for (const id of [1, 2, 3]) await rig.collection.write({ op: 'delete', id }).catch(() => undefined);
    await expectSameAnswers(rig.collection, rig.replayed());
    expect(rig.snapshots.damages).to.deep.equal([]);
  });

  it('are deleted with their collection, also while one is being made', async () => {
    await rig.reopen({ everyBytes: 1 });
    for (let n = 0; n < 30; n++) await rig.collection.insert([n, n]);
    await rig.collection.hosted.close({ keep: false });
    expect(await readdir(rig.shardFolder)).to.deep.equal([]);
    await rig.open();
  });

  it('are swept if their collection has moved away, and others stay', async () => {
    await rig.collection.insert([1, 1]);
    await rig.snapshot();
    await mkdir(join(rig.shardFolder, '8'), { recursive: true });
    await writeFile(join(rig.shardFolder, '8', '0000000000000001.snapshot'), 'x');
    await rig.snapshots.store.sweep((id) => id === config.id);
    expect(await readdir(rig.shardFolder)).to.deep.equal([String(config.id)]);
    expect(await rig.names()).to.have.length(1);
  });
});
