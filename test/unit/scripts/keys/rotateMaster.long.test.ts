/**
 * The rotation of the master key: beside running shards, killed at any step, and without a remainder of the old key.
 */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Rotation, type RotationOptions, rotateMaster } from '../../../../scripts/keys/rotateMaster.js';
import { DataKeys } from '../../../../shard/vault/dataKeys.js';
import { readMasterKeyFile } from '../../../../shard/vault/masterKeyFile.js';
import { masterOf } from '../../../../shard/vault/wrappedKey.js';
import { systemEntropy } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { DirectoryVault } from '../../../../shared/vault/directoryVault.js';
import type { StoredVaultEntry, VaultStore } from '../../../../shared/vault/vaultStore.js';
import { expectCode, rejection } from '../../../support/expectations.js';
import { findBytes } from '../../../support/findBytes.js';
import { killedAt, runProgram } from '../../../support/launch/killedProcess.js';
import { startTestNats } from '../../../support/launch/natsServer.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { ClusterPlatforms } from '../../../support/nats/clusterPlatforms.js';
import { freshKeyId, listed, shredded } from '../../../support/suites/vaultStorage.js';

const AAD = Buffer.from('collection 1');

/** A record under its own data key. */
interface Kept {
  readonly keyId: string;
  readonly plaintext: Buffer;
  readonly sealed: Awaited<ReturnType<DataKeys['encrypt']>>;
}

/** The use that a shard makes of its vault. */
class Shard {
  readonly kept: Kept[] = [];

  private constructor(
    readonly vault: VaultStore,
    readonly keys: DataKeys,
  ) {}

  static async start(vault: VaultStore, masterKeyFile: string): Promise<Shard> {
    return new Shard(vault, await DataKeys.open({ vault, masterKeyFile, logger: silentLogger }));
  }

  async insert(): Promise<StoredVaultEntry> {
    const stored = (await this.keys.create([{ project: 'p', keyId: freshKeyId() }], [1]))[0]!;
    const plaintext = Buffer.from(systemEntropy(40));
    this.kept.push({ keyId: stored.keyId, plaintext, sealed: await this.keys.encrypt(stored, plaintext, AAD) });
    return stored;
  }

  async readAll(): Promise<void> {
    for (const { keyId, plaintext, sealed } of this.kept) {
      const stored = (await this.vault.get('p', keyId))!;
      expect((await this.keys.decrypt(stored, sealed, AAD)).equals(plaintext), keyId).to.equal(true);
    }
  }
}

const wrappedKeys = async (vault: VaultStore): Promise<Record<string, Uint8Array>> => {
  const { entries } = await listed(vault);
  return Object.fromEntries(
    entries.flatMap(({ keyId, entry }) => (entry.wrapped === null ? [] : [[keyId, entry.wrapped]])),
  );
};

describe('the rotation of the master key', () => {
  let folder: string;
  let vault: DirectoryVault;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-rotation-'));
    file = join(folder, 'keys/master.key');
    vault = await DirectoryVault.open({ folder: join(folder, 'vault') });
  });
  afterEach(async () => {
    await vault.close();
    await rm(folder, { recursive: true, force: true });
  });
  const rotated = (options: Partial<RotationOptions> = {}): Promise<Rotation> =>
    rotateMaster({
      vault,
      masterKeyFile: file,
      entropy: systemEntropy,
      prepareOnly: false,
      forgetDamaged: false,
      onProgress: () => undefined,
      ...options,
    });
  const shardWith = async (records: number): Promise<Shard> => {
    const shard = await Shard.start(vault, file);
    for (let n = 0; n < records; n++) await shard.insert();
    return shard;
  };
  /** Asserts that the old key and its wrapped keys are erased, and that a copy of the old key file opens no entry. */
  async function expectOver(old: { wraps: Record<string, Uint8Array>; master: Uint8Array }, oldCopy: string) {
    expect(await findBytes(join(folder, 'vault'), old.wraps)).to.deep.equal([]);
    expect(await findBytes(join(folder, 'keys'), { master: old.master })).to.deep.equal([]);
    expect(await readdir(join(folder, 'keys'))).to.deep.equal(['master.key']);
    const masterKeys = (await readMasterKeyFile(file))!;
    expect(masterKeys).to.have.length(1);
    for (const stored of (await listed(vault)).entries)
      expect([undefined, masterKeys[0]!.id]).to.include(masterOf(stored));
    const thief = await DataKeys.open({ vault, masterKeyFile: oldCopy, logger: silentLogger });
    for (const stored of (await listed(vault)).entries)
      if (stored.entry.wrapped !== null) await expectCode(thief.encrypt(stored, AAD, AAD), 'internal_error');
  }
  const beforeIt = async () => {
    const copy = join(folder, 'old copy');
    await cp(file, copy);
    return { old: { wraps: await wrappedKeys(vault), master: (await readMasterKeyFile(file))![0]!.bytes }, copy };
  };

  it('wraps every key again, erases the old forms, and leaves every record readable', async () => {
    const shard = await shardWith(40);
    await vault.create('p', freshKeyId(), shredded(1));
    const { old, copy } = await beforeIt();
    const seen: number[] = [];
    const rotation = await rotated({ onProgress: (done, total) => seen.push(done, total) });
    expect(rotation).to.deep.include({ outcome: 'rotated', rewrapped: 40 });
    expect(rotation.newId).not.to.equal(rotation.oldId);
    expect(seen.slice(-2)).to.deep.equal([40, 40]);
    await shard.readAll();
    await expectOver(old, copy);
    const again = await rotated();
    expect(again.oldId).to.equal(rotation.newId);
    await shard.readAll();
  });

  it('loses no key that is made, used or shredded during it', async () => {
    const shard = await shardWith(60);
    const { old, copy } = await beforeIt();
    const doomed = await Promise.all(Array.from({ length: 5 }, () => shard.insert()));
    shard.kept.splice(-5);
    let rotating = true;
    const writes = (async () => {
      while (rotating) await shard.insert();
    })();
    const reads = (async () => {
      while (rotating) await shard.readAll();
    })();
    const shreds = (async () => {
      for (const { keyId } of doomed)
        for (;;) {
          const stored = (await vault.get('p', keyId))!;
          if ((await vault.replace(stored, shredded(1))) !== undefined) break;
        }
    })();
    await rotated().finally(() => {
      rotating = false;
      return Promise.all([writes, reads, shreds]);
    });
    await shard.readAll();
    for (const { keyId } of doomed) expect((await vault.get('p', keyId))!.entry).to.deep.equal(shredded(1));
    await expectOver(old, copy);
  });

  it('continues after a kill at any step, and every record is readable in between', async () => {
    const { int } = seededRandom(testSeed());
    const modules = Object.fromEntries(
      ['scripts/keys/rotateMaster', 'shared/vault/directoryVault', 'shared/clock'].map((path) => [
        path,
        JSON.stringify(new URL(`../../../../${path}.js`, import.meta.url).href),
      ]),
    );
    const program = `
      const { rotateMaster } = await import(${modules['scripts/keys/rotateMaster']});
      const { DirectoryVault } = await import(${modules['shared/vault/directoryVault']});
      const { systemEntropy: entropy } = await import(${modules['shared/clock']});
      const vault = await DirectoryVault.open({ folder: ${JSON.stringify(join(folder, 'vault'))} });
      arm();
      const given = { prepareOnly: false, forgetDamaged: false, onProgress: () => undefined };
      await rotateMaster({ vault, masterKeyFile: ${JSON.stringify(file)}, entropy, ...given });`;
    const shard = await shardWith(3);
    const { old, copy } = await beforeIt();
    const ends: string[] = [];
    // A whole rotation of three keys has about 140 steps; later runs have fewer left, or start another rotation.
    for (let step = 1 + int(5); step < 140; step += 4 + int(9)) {
      const { signal, printed, code } = await runProgram(killedAt(step, program));
      expect(code === 0 || signal === 'SIGKILL', `${step} ${printed}`).to.equal(true);
      ends.push(`${step} ${printed.replace(folder, '')}`);
      await shard.readAll();
      await shard.insert();
    }
    await rotated();
    await shard.readAll();
    await expectOver(old, copy);
  });

  it('can be prepared, so that other machines get the new key before any entry depends on it', async () => {
    const shard = await shardWith(5);
    const { old, copy } = await beforeIt();
    const elsewhere = join(folder, 'elsewhere.key');
    const prepared = await rotated({ prepareOnly: true });
    expect(prepared.outcome).to.equal('prepared');
    expect(masterOf(await shard.insert()), 'nothing depends on it yet').to.equal(prepared.oldId);
    expect(await rotated({ prepareOnly: true }), 'once is enough').to.deep.equal(prepared);
    await cp(file, elsewhere);
    const other = await Shard.start(vault, elsewhere);
    expect(await rotated()).to.deep.include({ outcome: 'rotated', oldId: prepared.oldId, newId: prepared.newId });
    expect(masterOf(await other.insert())).to.equal(prepared.newId);
    await other.readAll();
    await shard.readAll();
    await expectOver(old, copy);
  });

  it('leaves an entry usable for a shard that has read it before', async () => {
    const shard = await shardWith(1);
    const stored = (await vault.get('p', shard.kept[0]!.keyId))!;
    await rotated();
    const { plaintext, sealed } = shard.kept[0]!;
    expect((await shard.keys.decrypt(stored, sealed, AAD)).equals(plaintext)).to.equal(true);
    const late = await Shard.start(vault, file);
    expect((await late.keys.decrypt(stored, sealed, AAD)).equals(plaintext)).to.equal(true);
    const again = await late.keys.encrypt(stored, plaintext, AAD);
    expect((await late.keys.decrypt(stored, again, AAD)).equals(plaintext)).to.equal(true);
  });

  it('stops a machine without the new key from making keys under the old one', async () => {
    await shardWith(2);
    const elsewhere = join(folder, 'elsewhere.key');
    await cp(file, elsewhere);
    const other = await Shard.start(vault, elsewhere);
    const { newId } = await rotated();
    expect((await rejection(other.insert())).message)
      .to.contain(newId)
      .and.to.contain('copy the master key file');
    await cp(file, elsewhere);
    await other.insert();
    await other.readAll();
  });

  it("fails for another vault's key file, for a missing file, and for an empty vault", async () => {
    expect((await rejection(rotated())).message).to.contain(`there is no master key file ${file}`);
    await shardWith(1);
    const stranger = join(folder, 'stranger.key');
    const elsewhere = await DirectoryVault.open({ folder: join(folder, 'another vault') });
    await Shard.start(elsewhere, stranger);
    expect((await rejection(rotated({ masterKeyFile: stranger }))).message).to.contain('copy it from another machine');
    const empty = await DirectoryVault.open({ folder: join(folder, 'empty') });
    expect((await rejection(rotated({ vault: empty }))).message).to.contain('start the service once');
    await Promise.all([elsewhere.close(), empty.close()]);
  });

  it('runs once at a time', async () => {
    const shard = await shardWith(10);
    const [one, two] = await Promise.allSettled([rotated(), rotated()]);
    expect([one, two].filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    const refused = [one, two].find(({ status }) => status === 'rejected') as PromiseRejectedResult;
    expect(String(refused.reason)).to.contain(`process ${process.pid}`).and.to.contain('already');
    await shard.readAll();
  });

  it('keeps the old key while entries are damaged, until they are repaired or abandoned', async () => {
    const shard = await shardWith(4);
    const { keyId } = await shard.insert();
    const path = join(folder, 'vault/70', keyId);
    const whole = await readFile(path);
    await writeFile(path, whole.subarray(1));
    const error = await rejection(rotated());
    expect(error.message).to.contain('damaged entries in the vault: 1,').and.to.contain(keyId);
    expect(await readMasterKeyFile(file)).to.have.length(2);
    await writeFile(path, whole);
    await rotated();
    await shard.readAll();
    await writeFile(path, whole.subarray(1));
    await rotated({ forgetDamaged: true });
    expect(await readMasterKeyFile(file)).to.have.length(1);
  });

  it('works over JetStream beside running shards', async () => {
    const nats = await startTestNats();
    const platforms = new ClusterPlatforms();
    try {
      const clusterVault = await (await platforms.open(nats.url)).vault();
      const shard = await Shard.start(clusterVault, file);
      for (let n = 0; n < 50; n++) await shard.insert();
      const wraps = await wrappedKeys(clusterVault);
      let rotating = true;
      const writes = (async () => {
        while (rotating) await shard.insert();
      })();
      const rotation = rotated({ vault: await (await platforms.open(nats.url)).vault() });
      await rotation.finally(() => {
        rotating = false;
        return writes;
      });
      await shard.readAll();
      expect(await findBytes(nats.dataDir, wraps)).to.deep.equal([]);
    } finally {
      await platforms.close();
      await nats.stop();
    }
  });
});
