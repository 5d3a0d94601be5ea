// Covers: shard/snapshot/writeSnapshot.ts, shard/collection/collection.ts, shard/index/collectionIndex.ts
/** Shreds of keys with searchable records, at every step of a snapshot, a restart, a move and an index build, and the reverse. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Absorber } from '../../../../shard/index/absorber.js';
import { DesiredSpecs } from '../../../../shard/index/desiredSpecs.js';
import type { IndexServices } from '../../../../shard/index/services.js';
import { GenerationStore } from '../../../../shard/index/store/generationStore.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { readHere } from '../../../../shard/snapshot/readJob.js';
import { restoreSnapshot } from '../../../../shard/snapshot/restore.js';
import { openSnapshot } from '../../../../shard/snapshot/snapshotFile.js';
import { writeSnapshot } from '../../../../shard/snapshot/writeSnapshot.js';
import { ContentKeys } from '../../../../shard/vault/contentKeys.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { genesisOf } from '../../../../shared/log/event.js';
import { silentLogger } from '../../../../shared/logger.js';
import { Metrics } from '../../../../shared/metrics/metrics.js';
import { BRUTE } from '../../../../shared/model/indexSpec.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { catalogKey, storedEntry } from '../../../../shared/registry/catalogEntry.js';
import { eventually, expectCode } from '../../../support/expectations.js';
import { samplesNamed } from '../../../support/launch/metricSamples.js';
import { EncryptedRig, keyOf, PROJECT } from '../../../support/rigs/encryptedRig.js';
import { configOf, fixed } from '../../../support/rigs/engine.js';
import { newBuildThread } from '../../../support/rigs/generations.js';
import { meeting, onEveryStep, settled } from '../../../support/rigs/shredSteps.js';
import { snapshotsIn, type TestSnapshots } from '../../../support/rigs/snapshots.js';

const ID = 7;
const [KEY, OTHER_KEY] = [keyOf(1), keyOf(2)];
const SECRET = 'the text of ada';
/** Rows that an index needs. */
const ROWS = 1_000;

/** Records: 1 and 3 under the key, 2 under another one, 4 under none. */
async function fill(rig: EncryptedRig): Promise<void> {
  await rig.write(ID, {
    ...{ op: 'insertBatch', count: 4, vectors: fixed(1, 1, 2, 2, 3, 3, 4, 4), requestIds: null, metadata: null },
    ...{ texts: [SECRET, 'bob', SECRET, 'eve'].map((text) => Buffer.from(text)) },
    keyIds: [KEY, OTHER_KEY, KEY, null],
  });
}

const found = (rig: EncryptedRig): Promise<number[]> => rig.collection(ID).found();
const stateHash = (rig: EncryptedRig): string => rig.collection(ID).hosted.openCollection!.stateHash()!.stateHash;

/** Asserts that the contents are gone, from the present and from the past before the shred. */
async function expectErased(rig: EncryptedRig): Promise<void> {
  expect(rig.vault.peek(PROJECT, KEY)).to.deep.include({ status: 'shredded', wrapped: null, pendingIds: [] });
  const ids = await found(rig);
  expect(ids.slice(0, 2)).to.deep.equal([2, 4]);
  for (const id of [1, 3]) await expectCode(rig.read(ID, { op: 'get', id }), 'record_shredded');
  const query = fixed(0, 0);
  const past = (await rig.read(ID, { op: 'search', query, k: 9, asOf: { logIndex: 4 } })) as Results['search'];
  const pastIds = [...new Float64Array(new Uint8Array(past.ids).buffer)];
  expect([pastIds, past.asOf?.erased]).to.deep.equal([[2, 4], 2]);
}

describe('a shred of searchable records', () => {
  const rigs: EncryptedRig[] = [];
  let folder: string;

  const newRig = async (options: ConstructorParameters<typeof EncryptedRig>[1] = {}): Promise<EncryptedRig> => {
    const rig = new EncryptedRig([ID], options);
    rigs.push(rig);
    await fill(rig);
    return rig;
  };
  const end = async (rig: EncryptedRig): Promise<void> => {
    await rig.stop();
    await rig.context.pasts.end();
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-races-'));
  });
  afterEach(async () => {
    for (const rig of rigs.splice(0)) await end(rig);
    await rm(folder, { recursive: true, force: true });
  });

  it('is complete if the collection moves to another process at any of its steps', async () => {
    for (let step = 0; ; step++) {
      const rig = await newRig();
      const moves: Promise<unknown>[] = [];
      const isReached = meeting(rig, step, moves, () => rig.restart());
      expect(await settled(rig.shred(KEY))).to.equal('done');
      if (!isReached()) {
        expect(step).to.be.at.least(4);
        return;
      }
      await moves[0];
      await expectErased(rig);
      const after = stateHash(rig);
      await rig.restart();
      await expectErased(rig);
      expect(stateHash(rig)).to.equal(after);
    }
  });

  it('is undone or complete if everything is restarted at any of its steps', async () => {
    let undone = 0;
    for (let step = 0; ; step++) {
      const rig = await newRig();
      let steps = 0;
      onEveryStep(rig, () => {
        if (steps++ >= step) throw new Error('everything has died');
      });
      const isCut = await rig.shred(KEY).then(
        () => false,
        () => true,
      );
      onEveryStep(rig, () => undefined);
      await rig.restart();
      await rig.sweep();
      if (rig.vault.peek(PROJECT, KEY)!.status === 'active') {
        undone++;
        expect(await found(rig)).to.deep.equal([1, 2, 3, 4]);
      } else await expectErased(rig);
      await rig.shred(KEY);
      await expectErased(rig);
      if (!isCut) break;
    }
    expect(undone).to.be.at.least(2);
  });

  describe('with snapshots', () => {
    let snapshots: TestSnapshots;

    beforeEach(async () => {
      snapshots = await snapshotsIn(folder, { everyBytes: 1, keep: 2 });
    });
    afterEach(() => snapshots.threads.close());

    const attempts = async (): Promise<number> =>
      samplesNamed('vouch_snapshot_seconds_count', await snapshots.metrics.texts()).reduce(
        (sum, { value }) => sum + value,
        0,
      );
    /** Writes until a snapshot was made, or failed. */
    async function snapshot(rig: EncryptedRig): Promise<void> {
      const before = await attempts();
      await eventually('a snapshot was tried', async () => {
        await rig.collection(ID).insert([9, 9]);
        return (await attempts()) > before;
      });
    }
    const files = async (): Promise<string[]> =>
      (await readdir(folder, { recursive: true }))
        .filter((name) => name.endsWith('.snapshot'))
        .map((name) => join(folder, name));

    it('is whole after a restart if a snapshot is made at any of its steps', async () => {
      let kept = 0;
      for (let step = 0; ; step++) {
        const rig = await newRig({ snapshots });
        const made: Promise<unknown>[] = [];
        const isReached = meeting(rig, step, made, () => snapshot(rig));
        await rig.shred(KEY);
        if (!isReached()) break;
        await made[0];
        await expectErased(rig);
        const after = stateHash(rig);
        for (const file of await files()) expect((await readFile(file)).includes(SECRET), file).to.equal(false);
        kept += (await files()).length;
        await rig.restart();
        await expectErased(rig);
        expect(stateHash(rig)).to.equal(after);
        await end(rig);
        rigs.pop();
        await snapshots.store.removeAll(ID);
      }
      expect(kept).to.be.above(0);
      expect(snapshots.damages).to.deep.equal([]);
    });
  });

  it('leaves no snapshot that opens its contents, at any step of the writing of one', async () => {
    const rig = await newRig();
    const { state, journal } = rig.collection(ID).hosted.openCollection!;
    const dataKey = () => new Uint8Array(32).fill(7);
    const keysUntil = (isShredded: () => boolean): ContentKeys =>
      new ContentKeys(
        genesisOf(configOf(ID)).collectionId,
        async (ids) => ids.map((id) => (id === KEY && isShredded() ? null : dataKey())),
        systemClock,
      );
    let [refused, written] = [0, 0];
    for (let step = 0; ; step++) {
      const path = join(folder, `${step}.snapshot`);
      const contents = keysUntil(() => false);
      await contents.copies([KEY, OTHER_KEY]);
      let steps = 0;
      const made = { state, history: journal.history, describedBytes: 0, collectionId: ID, madeAtMs: 1, contents };
      const outcome = await settled(
        writeSnapshot(path, made, async () => void (steps++ === step && contents.drop(KEY)), 64),
      );
      contents.close();
      if (outcome !== 'done') {
        refused++;
        expect(await readdir(folder)).to.not.include(`${step}.snapshot`);
        continue;
      }
      written++;
      const memory = new VectorMemory();
      const restored = await restoreSnapshot(await openSnapshot(path), {
        ...{ config: configOf(ID), memory, dedupWindow: state.requests.capacity, read: readHere, readers: 1 },
        contents: keysUntil(() => true),
      });
      const hasRow = [1, 2, 3, 4].map((id) => restored.state.liveSlotOf(id) !== undefined);
      expect(hasRow).to.deep.equal([false, true, false, true]);
      restored.state.vectors.destroy();
      if (steps <= step) break;
    }
    expect(refused).to.be.above(0);
    expect(written).to.be.above(1);
  });

  it('is complete at any step of an index build and its swap', async () => {
    for (const [step, what] of ['during the build', 'after the build', 'after the swap'].entries()) {
      const catalog = new MemoryBucket({ logger: silentLogger });
      const config = configOf(ID);
      await catalog.create(catalogKey(config.project, config.name), storedEntry({ config, spec: BRUTE }));
      const indexFolder = join(folder, String(step));
      const store = await GenerationStore.open(indexFolder, silentLogger);
      const builds = newBuildThread();
      const indexes: IndexServices = {
        ...{ store, builds, absorber: new Absorber(systemClock, silentLogger), desired: new DesiredSpecs(catalog) },
        ...{ metrics: new Metrics('shard'), clock: systemClock, logger: silentLogger },
      };
      const rig = await newRig({ indexes });
      let shred: Promise<void> | undefined;
      const at = async (place: number): Promise<void> => {
        if (place !== step) return;
        shred ??= rig.shred(KEY);
        await shred;
      };
      const build = builds.build.bind(builds);
      builds.build = (...order) => {
        const building = build(...order);
        const done = at(0).then(() => building.done.finally(() => at(1)));
        return {
          get progress() {
            return building.progress;
          },
          done,
          cancel: () => building.cancel(),
        };
      };
      const keepOnly = store.keepOnly.bind(store);
      store.keepOnly = async (...kept) => {
        await keepOnly(...kept);
        await at(2);
      };
      const vectors = Buffer.concat(Array.from({ length: ROWS }, (_, i) => fixed(i + 10, i + 10)));
      const keyIds = Array.from({ length: ROWS }, (_, i) => (i % 2 === 0 ? OTHER_KEY : null));
      const batch = { count: ROWS, vectors, requestIds: null, metadata: null, texts: null, keyIds };
      await rig.write(ID, { op: 'insertBatch', ...batch });
      const { hosted } = rig.collection(ID);
      const spec = { kind: 'hnsw', parameters: {} } as const;
      await hosted.run({ op: 'configureIndex', spec }, { requestId: 'r', deadlineMs: Number.MAX_SAFE_INTEGER });
      await eventually(`the index serves: ${what}`, () => hosted.openCollection!.index.serving === 'hnsw');
      await eventually(`the shred is done: ${what}`, () => shred !== undefined);
      await shred;
      await expectErased(rig);
      expect((await readdir(indexFolder, { recursive: true })).some((name) => name.endsWith('payload'))).to.equal(
        false,
      );
      await rig.stop();
      rigs.pop();
      await rig.context.pasts.end();
      await builds.close();
    }
  });
});
