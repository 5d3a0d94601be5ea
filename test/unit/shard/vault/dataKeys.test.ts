// Covers: shard/vault/dataKeys.ts, shard/vault/wrappedKey.ts
/** Data keys in a vault: creation, use and rewrapping, and behaviour under a wrong or missing master key. */
import { cp, mkdir, mkdtemp, rm, rmdir, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DataKeys } from '../../../../shard/vault/dataKeys.js';
import { masterKeyOf, readMasterKeyFile, replaceMasterKeyFile } from '../../../../shard/vault/masterKeyFile.js';
import { MASTER_ENTRY, masterOf } from '../../../../shard/vault/wrappedKey.js';
import { systemEntropy } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { DirectoryVault } from '../../../../shared/vault/directoryVault.js';
import type { StoredVaultEntry, VaultEntry, VaultStore } from '../../../../shared/vault/vaultStore.js';
import { expectCode } from '../../../support/expectations.js';
import { freshKeyId, shredded } from '../../../support/suites/vaultStorage.js';

const AAD = Buffer.from('collection 1');
const PLAINTEXT = Buffer.from('a secret');

describe('data keys', () => {
  let folder: string;
  let vault: DirectoryVault;
  const file = (machine = 'a'): string => join(folder, machine, 'master.key');
  const open = (machine = 'a', store: VaultStore = vault): Promise<DataKeys> =>
    DataKeys.open({ vault: store, masterKeyFile: file(machine), logger: silentLogger });
  const fresh = async (keys: DataKeys): Promise<StoredVaultEntry> =>
    (await keys.create([{ project: 'p', keyId: freshKeyId() }], [1]))[0]!;
  /** Adds a second key at the head of the file, like a rotation. */
  const addMaster = async (machine = 'a'): Promise<string> => {
    const key = masterKeyOf(systemEntropy(32));
    await replaceMasterKeyFile(file(machine), [key, ...(await readMasterKeyFile(file(machine)))!]);
    return key.id;
  };
  const masterEntry = async (): Promise<StoredVaultEntry> =>
    (await vault.get(MASTER_ENTRY.project, MASTER_ENTRY.keyId))!;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-keys-'));
    vault = await DirectoryVault.open({ folder: join(folder, 'vault') });
  });
  afterEach(async () => {
    await vault.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('encrypt and decrypt, in this process and the next', async () => {
    const keys = await open();
    const stored = await fresh(keys);
    expect(stored.entry).to.deep.include({ status: 'active', collectionIds: [1], pendingIds: [] });
    expect(await vault.get('p', stored.keyId)).to.deep.equal(stored);
    const encrypted = await keys.encrypt(stored, PLAINTEXT, AAD);
    for (const opened of [keys, await open()])
      expect((await opened.decrypt(stored, encrypted, AAD)).equals(PLAINTEXT)).to.equal(true);
  });

  it('are made once for a key id', async () => {
    const keys = await open();
    const { project, keyId } = await fresh(keys);
    expect(await keys.create([{ project, keyId }], [2])).to.deep.equal([undefined]);
    await vault.create('p', 'f'.repeat(32), shredded());
    expect(await keys.create([{ project, keyId: 'f'.repeat(32) }], [2])).to.deep.equal([undefined]);
  });

  it('do not decrypt the payloads of one another', async () => {
    const keys = await open();
    const [a, b] = [await fresh(keys), await fresh(keys)];
    const encrypted = await keys.encrypt(a, PLAINTEXT, AAD);
    await expectCode(keys.decrypt(b, encrypted, AAD), 'internal_error');
    const swapped = { ...a, entry: { ...a.entry, wrapped: b.entry.wrapped } };
    await expectCode(keys.decrypt(swapped, encrypted, AAD), 'internal_error');
    await expectCode(keys.decrypt({ ...a, project: 'q' }, encrypted, AAD), 'internal_error');
  });

  it('decrypt nothing after they are shredded', async () => {
    const keys = await open();
    const stored = await fresh(keys);
    const encrypted = await keys.encrypt(stored, PLAINTEXT, AAD);
    const now = { ...stored, entry: shredded(1) };
    await expectCode(keys.decrypt(now, encrypted, AAD), 'record_shredded');
    await expectCode(keys.encrypt(now, PLAINTEXT, AAD), 'record_shredded');
  });

  it('are refused without the master key of the other machines, and work with a copy of its file', async () => {
    const [first, stranger] = [await open(), await open('b')];
    const stored = await fresh(first);
    const encrypted = await first.encrypt(stored, PLAINTEXT, AAD);
    const error = await expectCode(fresh(stranger), 'internal_error');
    expect(error.message).to.contain(masterOf(stored)).and.to.contain('copy the master key file of the other machines');
    expect(error.message).not.to.contain(folder);
    await expectCode(stranger.decrypt(stored, encrypted, AAD), 'internal_error');
    expect(await readMasterKeyFile(file('b'))).to.equal(undefined);
    await cp(file('a'), file('b'), { recursive: true });
    expect((await stranger.decrypt(stored, encrypted, AAD)).equals(PLAINTEXT)).to.equal(true);
    const madeThere = await fresh(stranger);
    const encryptedThere = await stranger.encrypt(madeThere, PLAINTEXT, AAD);
    expect((await first.decrypt(madeThere, encryptedThere, AAD)).equals(PLAINTEXT)).to.equal(true);
  });

  it('are temporarily refused if the system cannot read the master key', async () => {
    const first = await open();
    const stored = await fresh(first);
    await mkdir(file('b'), { recursive: true, mode: 0o700 });
    const other = await open('b');
    const error = await expectCode(other.encrypt(stored, PLAINTEXT, AAD), 'unavailable');
    expect(error.message).not.to.contain(folder);
    await rmdir(file('b'));
    await cp(file('a'), file('b'));
    const encrypted = await other.encrypt(stored, PLAINTEXT, AAD);
    expect((await first.decrypt(stored, encrypted, AAD)).equals(PLAINTEXT)).to.equal(true);
  });

  it('are refused if the machine has an unrelated master key', async () => {
    const first = await open();
    const stored = await fresh(first);
    const elsewhere = await DirectoryVault.open({ folder: join(folder, 'another vault') });
    await open('b', elsewhere);
    await elsewhere.close();
    const stranger = await open('b');
    await expectCode(fresh(stranger), 'internal_error');
    await expectCode(stranger.decrypt(stored, await first.encrypt(stored, PLAINTEXT, AAD), AAD), 'internal_error');
  });

  it('are refused while the file is lost or damaged, and work again when it is restored', async () => {
    const keys = await open();
    const stored = await fresh(keys);
    keys.close();
    await cp(file(), join(folder, 'copy'));
    await unlink(file());
    for (const damage of [async () => undefined, async () => writeFile(file(), 'x', { mode: 0o600 })]) {
      await damage();
      const error = await expectCode(keys.encrypt(stored, PLAINTEXT, AAD), 'internal_error');
      expect(error.message).not.to.contain(folder);
      await expectCode(fresh(await open()), 'internal_error');
    }
    await cp(join(folder, 'copy'), file());
    await keys.encrypt(stored, PLAINTEXT, AAD);
  });

  it('determine the master key of a vault that has lost its master entry', async () => {
    const stored = await fresh(await open());
    await rm(join(folder, 'vault', Buffer.from(MASTER_ENTRY.project).toString('hex')), { recursive: true });
    await expectCode(fresh(await open('b')), 'internal_error');
    expect(masterOf(await fresh(await open()))).to.equal(masterOf(stored));
    expect(masterOf(await masterEntry())).to.equal(masterOf(stored));
  });

  it('use one master key if several machines start at once', async () => {
    const machines = ['a', 'b', 'c', 'd'];
    const started = await Promise.all(machines.map((machine) => open(machine)));
    const inForce = masterOf(await masterEntry());
    const made = await Promise.allSettled(started.map(fresh));
    const served = made.flatMap((one) => (one.status === 'fulfilled' ? masterOf(one.value) : []));
    expect(served).to.deep.equal([inForce]);
  });

  it('are wrapped under the master key that the master entry names, at any place in the file', async () => {
    const keys = await open();
    const before = masterOf(await fresh(keys));
    const next = await addMaster();
    expect(masterOf(await fresh(keys))).to.equal(before);
    await keys.rewrap(await masterEntry(), next);
    expect(masterOf(await fresh(keys))).to.equal(next);
    expect(masterOf(await fresh(await open()))).to.equal(next);
  });

  it('stay the same when they are rewrapped', async () => {
    const keys = await open();
    const stored = await fresh(keys);
    const encrypted = await keys.encrypt(stored, PLAINTEXT, AAD);
    const next = await addMaster();
    expect(await keys.rewrap(stored, next)).to.equal(true);
    expect(await keys.rewrap(stored, next), 'it was changed meanwhile').to.equal(false);
    const now = (await vault.get('p', stored.keyId))!;
    expect(masterOf(now)).to.equal(next);
    expect(now.entry).to.deep.include({ status: 'active', collectionIds: [1], pendingIds: [] });
    expect((await keys.decrypt(now, encrypted, AAD)).equals(PLAINTEXT)).to.equal(true);
  });

  it('are wrapped under a new master key that became active while they were made', async () => {
    const keys = await open();
    const next = await addMaster();
    /** A vault in which the master entry changes right after a key is durable. */
    const moving: VaultStore = {
      get: (...key) => vault.get(...key),
      create: async (project: string, keyId: string, entry: VaultEntry) => {
        const revision = await vault.create(project, keyId, entry);
        await keys.rewrap(await masterEntry(), next);
        return revision;
      },
      replace: (...replaced) => vault.replace(...replaced),
      replaceDamaged: (...replaced) => vault.replaceDamaged(...replaced),
      settle: (...key) => vault.settle(...key),
      writeOff: (...key) => vault.writeOff(...key),
      list: (onDamage) => vault.list(onDamage),
      inspect: (...asked) => vault.inspect(...asked),
      close: async () => {},
    };
    const stored = await fresh(await open('a', moving));
    expect(masterOf(stored)).to.equal(next);
    expect(await vault.get('p', stored.keyId)).to.deep.equal(stored);
  });

  it('are rewrapped under the new master key before their next use', async () => {
    const keys = await open();
    const stored = await fresh(keys);
    const next = await addMaster();
    await keys.rewrap(await masterEntry(), next);
    const encrypted = await keys.encrypt(stored, PLAINTEXT, AAD);
    const now = (await vault.get('p', stored.keyId))!;
    expect(masterOf(now)).to.equal(next);
    expect((await keys.decrypt(now, encrypted, AAD)).equals(PLAINTEXT)).to.equal(true);
    // Shredded since it was read.
    await vault.replace(now, shredded(1));
    await expectCode(keys.encrypt(stored, PLAINTEXT, AAD), 'record_shredded');
  });

  it('are zeroed in memory after use', async () => {
    const given: Uint8Array[] = [];
    const entropy = (length: number): Uint8Array => {
      const bytes = systemEntropy(length);
      if (length === 32) given.push(bytes);
      return bytes;
    };
    const keys = await DataKeys.open({ vault, masterKeyFile: file(), logger: silentLogger, entropy });
    await fresh(keys);
    // The master key, the master entry's data key and the entry's data key.
    expect(given).to.have.length(3);
    for (const bytes of given) expect(Buffer.from(bytes).equals(Buffer.alloc(32))).to.equal(true);
  });
});
