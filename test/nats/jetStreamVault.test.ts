// Covers: shared/vault/jetStreamVault.ts, shared/vault/vaultMessages.ts
/** The vault in JetStream over a real nats-server: the suite of every vault, and what only this one guarantees. */
import { expect } from 'chai';
import { connect, type NatsConnection } from 'nats';
import type { ClusterPlatform } from '../../shared/platform/natsPlatform.js';
import { VAULT_STREAM, vaultSubject } from '../../shared/transport/subjects.js';
import { JetStreamVault } from '../../shared/vault/jetStreamVault.js';
import { expectCode, rejection } from '../support/expectations.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { SealLedger } from '../support/nats/sealLedger.js';
import { active, freshSecret, made, shredded, type VaultStorage } from '../support/suites/vaultStorage.js';
import { vaultSuite } from '../support/suites/vaultSuite.js';

const subjectOf = (project: string, keyId: string): string => vaultSubject(Buffer.from(project).toString('hex'), keyId);

/** Ways to end a process during a replacement, by moment. */
const ENDS: Readonly<Record<string, (platform: ClusterPlatform, nats: TestNats) => void>> = {
  'before the entry is sent': ({ connection }) => {
    connection.js.publish = async () => {
      await connection.close();
      throw new Error('ended');
    };
  },
  'before the answer to the entry': ({ connection }) => {
    const publish = connection.js.publish.bind(connection.js);
    connection.js.publish = async (...given) => {
      await publish(...given);
      await connection.close();
      throw new Error('ended');
    };
  },
  'before the erasure': ({ connection }) => {
    connection.jsm.streams.deleteMessage = async () => {
      await connection.close();
      throw new Error('ended');
    };
  },
  'before the erasure, and the server with it': ({ connection }, nats) => {
    connection.jsm.streams.deleteMessage = async () => {
      await connection.close();
      await nats.kill();
      await nats.start();
      throw new Error('ended');
    };
  },
  nowhere: () => undefined,
};

describe('vault in JetStream', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  let direct: NatsConnection;

  before(async () => {
    nats = await startTestNats();
    direct = await connect({ servers: nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  });
  after(async () => {
    await direct.close();
    await nats.stop();
  });
  afterEach(() => platforms.close());
  const ledger = new SealLedger();
  const openOver = async ({ connection }: ClusterPlatform): Promise<JetStreamVault> =>
    ledger.watched(await JetStreamVault.open({ connection, replicas: 1, entropy: ledger.entropy }));
  const open = async (): Promise<JetStreamVault> => openOver(await platforms.open(nats.url));
  const restart = async (): Promise<JetStreamVault> => {
    await platforms.close();
    return open();
  };

  async function plant(project: string, keyId: string, bytes: Uint8Array): Promise<void> {
    const jsm = await direct.jetstreamManager();
    const query = { last_by_subj: subjectOf(project, keyId) };
    const before = await jsm.streams.getMessage(VAULT_STREAM, query).catch(() => undefined);
    await direct.jetstream().publish(subjectOf(project, keyId), bytes);
    if (before !== undefined) await jsm.streams.deleteMessage(VAULT_STREAM, before.seq);
  }

  async function storage(): Promise<VaultStorage> {
    await nats.erase();
    return {
      vault: await open(),
      peer: open,
      restart,
      crash: async () => {
        await platforms.close();
        await nats.kill();
        await nats.start();
        return open();
      },
      find: (secrets) => ledger.find(nats.dataDir, secrets),
      read: async (project, keyId) => {
        const jsm = await direct.jetstreamManager();
        const { data } = await jsm.streams.getMessage(VAULT_STREAM, { last_by_subj: subjectOf(project, keyId) });
        return Buffer.from(data);
      },
      plant,
      async *cutShort(prepare, entry) {
        for (const [step, end] of Object.entries(ENDS)) {
          const platform = await platforms.open(nats.url);
          const vault = await openOver(platform);
          const old = await prepare(vault);
          end(platform, nats);
          const replaced = vault.replace(old, entry);
          if (step === 'nowhere') await replaced;
          else await expectCode(replaced, 'unavailable');
          yield { step, old, vault: await restart() };
        }
      },
      dispose: () => platforms.close(),
    };
  }

  vaultSuite('JetStream', storage);

  describe('its stream', () => {
    beforeEach(() => nats.erase());

    it('is made by one of several concurrent openers, with settings that keep and erase', async () => {
      const vaults = await Promise.all(Array.from({ length: 6 }, open));
      expect(await vaults[0]!.create('p', '0'.repeat(32), shredded())).to.be.greaterThan(0);
      const { config } = await (await direct.jetstreamManager()).streams.info(VAULT_STREAM);
      expect(config).to.deep.include({ storage: 'file', discard: 'new', max_msgs_per_subject: -1, deny_purge: true });
      expect(config.deny_delete ?? false).to.equal(false);
    });

    it('is refused if its server drops old messages by itself, since their bytes then stay on the disk', async () => {
      const jsm = await direct.jetstreamManager();
      await jsm.streams.add({ name: VAULT_STREAM, subjects: ['vouch.vault.*.*'], max_msgs_per_subject: 1 });
      expect((await rejection(open())).message).to.match(/VOUCH_VAULT exists with (?:discard|max_msgs_per_subject)/);
    });

    it('has one message per key, however often it is replaced', async () => {
      const vault = await open();
      let stored = await made(vault, active(freshSecret(), 1));
      for (let change = 0; change < 10; change++)
        stored = { ...stored, revision: (await vault.replace(stored, stored.entry))! };
      const { state } = await (await direct.jetstreamManager()).streams.info(VAULT_STREAM);
      expect(state.messages).to.equal(1);
    });
  });

  it('erases the leftovers of an ended process when the key is read', async () => {
    await nats.erase();
    const reader = await open();
    const writer = await platforms.open(nats.url);
    const vault = await openOver(writer);
    const stored = await made(vault, active(freshSecret(), 1));
    ENDS['before the erasure']!(writer, nats);
    await expectCode(vault.replace(stored, shredded(1)), 'unavailable');
    expect(await ledger.find(nats.dataDir, { old: stored.entry.wrapped! })).to.have.length(2);
    expect((await reader.get('p', stored.keyId))!.entry).to.deep.equal(shredded(1));
    expect(await ledger.find(nats.dataDir, { old: stored.entry.wrapped! })).to.deep.equal([]);
  });

  it('says whether an entry was stored although the answer is lost', async () => {
    await nats.erase();
    const platform = await platforms.open(nats.url);
    const vault = await openOver(platform);
    const stored = await made(vault, active(freshSecret(), 1));
    const { js } = platform.connection;
    const publish = js.publish.bind(js);
    let lost = 0;
    js.publish = async (subject, ...given) => {
      const answer = await publish(subject, ...given);
      if (subject.startsWith('vouch.vault.') && lost++ === 0) throw new Error('the answer is lost');
      return answer;
    };
    const revision = await vault.replace(stored, shredded(1));
    expect(lost).to.equal(1);
    expect(await vault.get('p', stored.keyId)).to.deep.equal({ ...stored, entry: shredded(1), revision });
    lost = 0;
    expect(await vault.create('p', 'f'.repeat(32), shredded())).to.be.greaterThan(0);
  });
});
