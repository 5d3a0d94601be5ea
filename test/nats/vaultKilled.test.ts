// Covers: shared/vault/entryCodec.ts
/** A nats-server that is killed in the middle of an erasure: the message is deleted, and its bytes stay in the file. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { connect } from 'nats';
import { rotateMaster } from '../../scripts/keys/rotateMaster.js';
import { DataKeys } from '../../shard/vault/dataKeys.js';
import { systemEntropy } from '../../shared/clock.js';
import { silentLogger } from '../../shared/logger.js';
import { sealStream, sealSubject, vaultSubject } from '../../shared/transport/subjects.js';
import { encodeVaultEntry } from '../../shared/vault/entryCodec.js';
import { unlessUnavailable } from '../../shared/vault/entryName.js';
import { JetStreamVault } from '../../shared/vault/jetStreamVault.js';
import { encodeSeal, SEAL_BYTES, sealWrapped } from '../../shared/vault/seal.js';
import type { StoredVaultEntry, VaultStore } from '../../shared/vault/vaultStore.js';
import { expectCode } from '../support/expectations.js';
import { findBytes } from '../support/findBytes.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { persistently } from '../support/launch/persistently.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { killInErasures } from '../support/nats/killInErasure.js';
import { SealLedger } from '../support/nats/sealLedger.js';
import { active, freshKeyId, freshSecret, made, shredded } from '../support/suites/vaultStorage.js';

/** Makes a master key, and replaces it. */
async function rotate(vault: VaultStore): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vouch-rotation-'));
  try {
    const masterKeyFile = join(folder, 'master.key');
    (await DataKeys.open({ vault, masterKeyFile, logger: silentLogger })).close();
    const options = { prepareOnly: false, forgetDamaged: false, onProgress: () => undefined };
    const { outcome } = await rotateMaster({ vault, masterKeyFile, entropy: systemEntropy, ...options });
    expect(outcome).to.equal('rotated');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('a nats-server that is killed in the middle of an erasure', () => {
  const platforms = new ClusterPlatforms();
  const ledger = new SealLedger();
  let nats: TestNats;
  let vault: JetStreamVault;
  let stored: StoredVaultEntry;
  /** Kills the server in each of the next `times` erasures. */
  let killed: (times: number) => () => Promise<number>;

  before(async () => {
    nats = await startTestNats();
  });
  after(() => nats.stop());
  beforeEach(async () => {
    await nats.erase();
    const { connection } = await platforms.open(nats.url);
    vault = ledger.watched(await JetStreamVault.open({ connection, replicas: 1, entropy: ledger.entropy }));
    killed = (times) => killInErasures(nats, connection, sealStream(1), times);
    stored = await made(vault, active(freshSecret(), 1));
  });
  afterEach(() => platforms.close());

  /** Numbers of the halves of the seal that are in the files of the server. The wrapped key itself never is. */
  const halvesLeft = async (): Promise<number[]> => {
    const wrapped = stored.entry.wrapped!;
    expect(await findBytes(nats.dataDir, { wrapped })).to.deep.equal([]);
    const halves = ledger.halvesOf(wrapped);
    expect(halves).to.have.length(2);
    const found = await findBytes(nats.dataDir, Object.fromEntries(halves.entries()));
    return [...new Set(found.map(({ name }) => Number(name)))].sort();
  };
  const reopened = async (): Promise<JetStreamVault> => {
    await platforms.close();
    return (await platforms.open(nats.url)).vault();
  };
  /** Erases a key. The outcome may be unknown, since the connection breaks. */
  const shred = async (): Promise<void> => {
    await vault.replace(stored, shredded(1)).catch(unlessUnavailable);
  };
  const settled = (opened = vault): Promise<void> => persistently(() => opened.settle('p', stored.keyId));

  const refused = async (opened: JetStreamVault): Promise<void> => {
    const { message } = await persistently(async () => {
      const error = await expectCode(opened.settle('p', stored.keyId), 'unavailable');
      if (!error.message.includes('killed twice')) throw error;
      return error;
    });
    expect(message).to.contain(stored.keyId).and.to.contain('rotate-master');
  };

  it('keeps one half, and answers after the other is gone', async () => {
    expect(await halvesLeft()).to.deep.equal([0, 1]);
    const ends = killed(1);
    await shred();
    expect(await ends()).to.equal(1);
    expect(await halvesLeft()).to.deep.equal([0, 1]);
    await settled();
    expect(await halvesLeft()).to.deep.equal([0]);
    expect((await vault.get('p', stored.keyId))!.entry).to.deep.equal(shredded(1));
    await settled(await reopened());
  });

  it('keeps one half also if the erasing process ends with it', async () => {
    const ends = killed(1);
    await shred();
    expect(await ends()).to.equal(1);
    await settled(await reopened());
    expect(await halvesLeft()).to.deep.equal([0]);
  });

  it('keeps both halves if it is killed in both erasures, and refuses until the master key is replaced', async () => {
    const ends = killed(2);
    await shred();
    await refused(vault);
    expect(await ends()).to.equal(2);
    expect(await halvesLeft()).to.deep.equal([0, 1]);
    await refused(vault);
    const opened = await reopened();
    await refused(opened);
    expect((await opened.get('p', stored.keyId))!.entry).to.deep.equal(shredded(1));
    await rotate(opened);
    await settled(opened);
  });

  it('keeps a seal of an earlier version, which has no halves, and refuses', async () => {
    const direct = await connect({ servers: nats.url });
    const [name, key, wrapped] = [{ project: 'p', keyId: freshKeyId() }, systemEntropy(SEAL_BYTES), freshSecret()];
    const entry = active(sealWrapped([key], wrapped, name, systemEntropy), 1);
    const project = Buffer.from('p').toString('hex');
    await direct.jetstream().publish(sealSubject(1, project, name.keyId), encodeSeal([key])[0]!);
    const bytes = encodeVaultEntry({ ...name, entry, revision: 0 }, 1);
    const { seq } = await direct.jetstream().publish(vaultSubject(project, name.keyId), bytes);
    await direct.close();
    stored = { ...name, entry: active(wrapped, 1), revision: seq };
    expect(await vault.get('p', name.keyId)).to.deep.equal(stored);
    const ends = killed(1);
    await shred();
    expect(await ends()).to.equal(1);
    await refused(vault);
    await vault.writeOff('p', name.keyId);
    await settled();
  });
});
