// Covers: shard/capacity/damageReports.ts
/** The check of vault entries, which finds damage also of keys that are not used. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DamageReports } from '../../../../shard/capacity/damageReports.js';
import type { CollectionHandle } from '../../../../shard/collection/collectionHandle.js';
import { VaultCheck } from '../../../../shard/node/vaultCheck.js';
import { DataKeys } from '../../../../shard/vault/dataKeys.js';
import { MASTER_ENTRY } from '../../../../shard/vault/wrappedKey.js';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { Damage } from '../../../../shared/model/damage.js';
import { newCallCount } from '../../../../shared/scheduling/checkPace.js';
import { DirectoryVault } from '../../../../shared/vault/directoryVault.js';
import type { VaultStore } from '../../../../shared/vault/vaultStore.js';
import { expectCode } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { EncryptedRig, keyOf, PROJECT } from '../../../support/rigs/encryptedRig.js';
import { configOf, Engine, soon, type TestCollection } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const [ID, OTHER] = [1, 2];
const KEY = keyOf(1);

const checkOf = (
  vault: Pick<VaultStore, 'inspect'>,
  handles: () => Iterable<CollectionHandle>,
  keys: Pick<DataKeys, 'problem'> = { problem: async () => undefined },
  damages = new DamageReports(),
): VaultCheck =>
  new VaultCheck({
    ...{ vault, keys, damages, handles, calls: newCallCount() },
    ...{ clock: systemClock, logger: silentLogger },
  });

describe('the check of vault entries', () => {
  let rig: EncryptedRig;
  let check: VaultCheck;
  beforeEach(async () => {
    rig = new EncryptedRig([ID, OTHER]);
    check = checkOf(rig.vault, () => [ID, OTHER].map((id) => rig.collection(id).hosted));
    await rig.insert(ID, 'a', { keyId: KEY });
    await rig.insert(ID, 'b');
    await rig.insert(OTHER, 'c');
  });
  afterEach(async () => {
    await check.stop();
    await rig.stop();
  });

  it('quarantines only collections with records under a damaged entry, and reports them', async () => {
    rig.vault.damaged.add(`${PROJECT}.${KEY}`);
    await check.round();
    expect(rig.context.damages.reported()).to.have.length(1);
    expect(rig.context.damages.reported()[0]).to.include({ collectionId: ID, part: 'vault' });
    expect((await expectCode(rig.collection(ID).insert([0, 0]), 'internal_error')).message).to.include(KEY);
    expect(await rig.payload(OTHER, 1)).to.equal('c');
    await rig.shred(KEY);
    await check.round();
    expect(await rig.payload(ID, 2)).to.equal('b');
    expect(rig.context.damages.reported()).to.deep.equal([]);
  });

  it('finds all damage at the start, although a collection of the project is closed by then', async () => {
    const other = keyOf(2);
    await rig.insert(OTHER, 'd', { keyId: other });
    for (const key of [KEY, other]) rig.vault.damaged.add(`${PROJECT}.${key}`);
    await rig.restart();
    await check.inspect();
    expect(rig.context.damages.reported().map(({ collectionId, part }) => [collectionId, part])).to.deep.equal([
      [ID, 'vault'],
      [OTHER, 'vault'],
    ]);
  });

  it('reads a vault that does not answer again, and does not report it as damaged', async () => {
    rig.vault.damaged.add(`${PROJECT}.${KEY}`);
    rig.vault.before = () => {
      throw unavailable('away');
    };
    await check.round();
    expect(rig.context.damages.reported()).to.deep.equal([]);
    rig.vault.before = () => undefined;
    await check.round();
    expect(rig.context.damages.reported()).to.have.length(1);
  });

  it('reports neither a missing entry nor a damaged one that no live record needs', async () => {
    const unused = keyOf(2);
    await rig.insert(ID, 'd', { keyId: unused });
    await rig.collection(ID).write({ op: 'delete', id: 3 });
    rig.vault.damaged.add(`${PROJECT}.${unused}`);
    rig.vault.lose(PROJECT, KEY);
    await check.round();
    await check.inspect();
    expect(rig.context.damages.reported()).to.deep.equal([]);
    expect(rig.collection(ID).hosted.quarantined).to.equal(false);
  });

  it('reads the keys of a collection once for each opening', async () => {
    let read = 0;
    rig.vault.before = (step) => {
      if (step === 'get') read++;
    };
    await check.round();
    expect(read).to.equal(3);
    await check.round();
    expect(read).to.equal(3);
    await rig.restart();
    await check.round();
    expect(read, 'none is open').to.equal(3);
    await rig.collection(ID).records();
    await check.round();
    expect(read).to.equal(5);
  });
});

describe('the check of the master key', () => {
  let folder: string;
  let vault: DirectoryVault;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-master-check-'));
    vault = await DirectoryVault.open({ folder: join(folder, 'vault') });
  });
  afterEach(async () => {
    await vault.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('reports its entry and its file if they are altered, truncated or missing, until they are restored', async () => {
    const masterKeyFile = join(folder, 'master.key');
    const keys = await DataKeys.open({ vault, masterKeyFile, logger: silentLogger });
    const entry = join(folder, 'vault', Buffer.from(MASTER_ENTRY.project).toString('hex'), MASTER_ENTRY.keyId);
    const found = async (): Promise<Damage[]> => {
      const damages = new DamageReports();
      const check = checkOf(vault, () => [], keys, damages);
      await check.round();
      await check.stop();
      return damages.reported();
    };
    expect(await found()).to.deep.equal([]);
    for (const path of [entry, masterKeyFile]) {
      const whole = await readFile(path);
      for (const at of whole.keys()) {
        await writeFile(path, Object.assign(Buffer.from(whole), { [at]: whole[at]! ^ 1 }));
        expect((await found()).map(({ collectionId, part }) => [collectionId, part])).to.deep.equal([[null, 'vault']]);
      }
      await writeFile(path, whole.subarray(0, -1));
      expect(await found()).to.have.length(1);
      await writeFile(path, whole);
      expect(await found()).to.deep.equal([]);
    }
    await rm(masterKeyFile);
    expect((await found())[0]!.reason).to.match(/does not contain master key [0-9a-f]{16}$/);
    keys.close();
  });
});

describe('the check of a vault in a folder', () => {
  let folder: string;
  let vault: DirectoryVault;
  const logs = new ScriptedLogs();
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-vault-check-'));
    vault = await DirectoryVault.open({ folder });
    path = join(folder, Buffer.from(PROJECT).toString('hex'), KEY);
  });
  afterEach(async () => {
    await vault.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('finds a flip of any byte, for open and for unopened collections', async () => {
    const { int } = seededRandom(testSeed());
    const host = (): { engine: Engine; collection: TestCollection; check: VaultCheck } => {
      const engine = new Engine(logs, { vault });
      const collection = engine.host(configOf(ID));
      return { engine, collection, check: checkOf(vault, () => [collection.hosted]) };
    };
    const first = host();
    const payload = Buffer.from('a');
    await first.collection.write({ op: 'insertEncrypted', payload, keyId: KEY, tag: 0, requestId: null }, soon());
    await first.collection.hosted.close({ keep: true });
    const whole = await readFile(path);
    for (const [at, byte] of whole.entries())
      for (const how of ['open', 'idle'] as const) {
        const { engine, collection, check } = host();
        if (how === 'open') await collection.records();
        await writeFile(path, Object.assign(Buffer.from(whole), { [at]: byte ^ (1 << int(8)) }));
        await (how === 'open' ? check.round() : check.inspect());
        expect(collection.hosted.quarantined, `byte ${at}, ${how}`).to.equal(true);
        expect(engine.context.damages.reported().map(({ part }) => part)).to.deep.equal(['vault']);
        await check.stop();
        await collection.hosted.close({ keep: true });
        await writeFile(path, whole);
      }
    const { collection, check } = host();
    await check.inspect();
    await collection.records();
    await check.round();
    expect(collection.hosted.quarantined).to.equal(false);
    await check.stop();
    await collection.hosted.close({ keep: true });
  });
});
