// Covers: shared/vault/entryName.ts, shared/vault/vaultLock.ts, shared/vault/vaultStore.ts
/** The vault in a folder: the suite of every vault, and its own files, lock and processes. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../../../shared/clock.js';
import { DirectoryVault } from '../../../../shared/vault/directoryVault.js';
import type { StoredVaultEntry, VaultEntry } from '../../../../shared/vault/vaultStore.js';
import { rejection } from '../../../support/expectations.js';
import { findBytes } from '../../../support/findBytes.js';
import { killedAt, runProgram } from '../../../support/launch/killedProcess.js';
import {
  active,
  freshKeyId,
  freshSecret,
  made,
  shredded,
  type VaultStorage,
} from '../../../support/suites/vaultStorage.js';
import { vaultSuite } from '../../../support/suites/vaultSuite.js';

const VAULT_MODULE = JSON.stringify(new URL('../../../../shared/vault/directoryVault.js', import.meta.url).href);

/** Replaces the entry in a process that kills itself before its `step`th write. */
const replacing = (folder: string, { project, keyId }: StoredVaultEntry, entry: VaultEntry, step: number): string =>
  killedAt(
    step,
    `const { DirectoryVault } = await import(${VAULT_MODULE});
    const vault = await DirectoryVault.open({ folder: ${JSON.stringify(folder)} });
    const stored = await vault.get(${JSON.stringify(project)}, ${JSON.stringify(keyId)});
    arm();
    await vault.replace(stored, ${JSON.stringify(entry)});`,
  );

async function storageIn(folder: string): Promise<VaultStorage> {
  const opened: DirectoryVault[] = [];
  const open = async (): Promise<DirectoryVault> => {
    const vault = await DirectoryVault.open({ folder });
    opened.push(vault);
    return vault;
  };
  const restart = async (): Promise<DirectoryVault> => {
    await Promise.all(opened.splice(0).map((vault) => vault.close()));
    return open();
  };
  const pathOf = (project: string, keyId: string): string => join(folder, Buffer.from(project).toString('hex'), keyId);
  return {
    vault: await open(),
    peer: open,
    restart,
    crash: restart,
    find: (secrets) => findBytes(folder, secrets),
    read: (project, keyId) => readFile(pathOf(project, keyId)),
    plant: (project, keyId, bytes) => writeFile(pathOf(project, keyId), bytes),
    async *cutShort(prepare, entry) {
      for (let step = 1; ; step++) {
        const old = await prepare(await restart());
        const { printed, signal } = await runProgram(replacing(folder, old, entry, step));
        yield { step: `${step} ${printed}`, old, vault: await restart() };
        if (signal === null) return;
      }
    },
    dispose: async () => {
      await Promise.all(opened.map((vault) => vault.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const freshFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'vouch-vault-'));

vaultSuite('directory', async () => storageIn(await freshFolder()));

describe('the vault in a folder', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await freshFolder();
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const open = (): Promise<DirectoryVault> => DirectoryVault.open({ folder: join(folder, 'vault') });

  it('is readable by its owner only', async () => {
    const vault = await open();
    const stored = await made(vault, active(freshSecret(), 1));
    await vault.replace(stored, { ...stored.entry, collectionIds: [1, 2] });
    const modeOf = async (path: string): Promise<number> => (await stat(join(folder, path))).mode & 0o777;
    expect(await modeOf('vault')).to.equal(0o700);
    expect(await modeOf('vault/70')).to.equal(0o700);
    expect(await modeOf(`vault/70/${stored.keyId}`)).to.equal(0o600);
    await vault.close();
  });

  it('has no files besides its entries after its writes', async () => {
    const vault = await open();
    const stored = await made(vault, active(freshSecret(), 1));
    await vault.replace(stored, shredded(1));
    expect(await readdir(join(folder, 'vault'))).to.deep.equal(['70']);
    expect(await readdir(join(folder, 'vault/70'))).to.deep.equal([stored.keyId]);
    await vault.close();
  });

  it('skips foreign files and keeps them', async () => {
    const vault = await open();
    const stored = await made(vault, active(freshSecret(), 1));
    await writeFile(join(folder, 'vault/70/README'), 'mine');
    await writeFile(join(folder, 'vault/notes'), 'mine');
    await vault.close();
    const again = await open();
    const found: string[] = [];
    for await (const { keyId } of again.list(() => found.push('damaged'))) found.push(keyId);
    expect(found).to.deep.equal([stored.keyId]);
    expect(await readFile(join(folder, 'vault/70/README'), 'utf8')).to.equal('mine');
    await again.close();
  });

  it('gives advice if a process of another machine, possibly gone, has locked it', async () => {
    await (await open()).close();
    const lock = join(folder, 'vault', 'lock');
    await writeFile(lock, JSON.stringify({ host: 'elsewhere', pid: 7, started: null }));
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => (nowMs += 1_000) };
    const error = await rejection(DirectoryVault.open({ folder: join(folder, 'vault'), clock }));
    expect(error.message).to.equal(
      `the vault is locked by process 7 of host elsewhere; if that is gone, delete ${lock}`,
    );
    await rm(lock);
    await (await open()).close();
  });

  it('loses no change of two concurrent processes', async () => {
    const vault = await open();
    const keyId = freshKeyId();
    await made(vault, active(freshSecret()), keyId);
    const entering = (from: number): string => `
      import { DirectoryVault } from ${VAULT_MODULE};
      const vault = await DirectoryVault.open({ folder: ${JSON.stringify(join(folder, 'vault'))} });
      for (let id = ${from}; id < ${from + 25}; ) {
        const stored = await vault.get('p', '${keyId}');
        const entry = { ...stored.entry, collectionIds: [...stored.entry.collectionIds, id] };
        if ((await vault.replace(stored, entry)) !== undefined) id++;
      }
      await vault.close();`;
    const ended = await Promise.all([runProgram(entering(0)), runProgram(entering(100))]);
    expect(ended.map(({ code }) => code)).to.deep.equal([0, 0]);
    const { entry } = (await vault.get('p', keyId))!;
    const ids = Array.from({ length: 25 }, (_, n) => n);
    expect(entry.collectionIds).to.have.members([...ids, ...ids.map((id) => id + 100)]);
    await vault.close();
  });
});
