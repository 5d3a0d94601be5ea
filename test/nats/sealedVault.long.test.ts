// Covers: shared/vault/seal.ts, shared/vault/sealReplica.ts, shared/vault/sealStreams.ts, shared/vault/seals.ts
/**
 * The vault over three nats-servers: every byte of every server's folder is searched right after a key was erased. Some
 * servers are cut off from the vault, or killed.
 */
import { expect } from 'chai';
import { connect, type JetStreamManager, type NatsConnection, type NatsError, type StreamInfo } from 'nats';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { type Entropy, systemEntropy } from '../../shared/clock.js';
import { JETSTREAM } from '../../shared/nats/natsError.js';
import { whenAvailable } from '../../shared/process/startUp.js';
import { sealStream, sealSubject, VAULT_STREAM } from '../../shared/transport/subjects.js';
import { JetStreamVault } from '../../shared/vault/jetStreamVault.js';
import { decodeSeal, encodeSeal, SEAL_BYTES } from '../../shared/vault/seal.js';
import { type ShredNote, ShredNotes } from '../../shared/vault/shredNotes.js';
import type { StoredVaultEntry, VaultStore } from '../../shared/vault/vaultStore.js';
import { eventually, expectCode } from '../support/expectations.js';
import { findBytes } from '../support/findBytes.js';
import { persistently } from '../support/launch/persistently.js';
import { Service } from '../support/launch/service.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { startTestNatsCluster, type TestNatsCluster } from '../support/nats/natsCluster.js';
import { SealReach } from '../support/nats/sealReach.js';
import { findStored, secretsOf } from '../support/rigs/vaultSecrets.js';
import { active, freshKeyId, freshSecret, listed, made, shredded } from '../support/suites/vaultStorage.js';

/** The defaults of a service. */
const CLUSTER = { replicas: 3, logStreams: 4 };
const WAYS = ['cut off', 'killed'] as const;
const GONE: ReadonlySet<number | undefined> = new Set([JETSTREAM.streamNotFound, JETSTREAM.noMessageFound]);

describe('vault over three NATS servers', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNatsCluster;
  let direct: NatsConnection;
  /** Pairs of the halves of every seal that a process has made. */
  let seals: Uint8Array[] = [];

  before(async () => {
    nats = await startTestNatsCluster();
    direct = await connect({ servers: nats.url.split(','), maxReconnectAttempts: -1, reconnectTimeWait: 50 });
  });
  after(async () => {
    await direct?.close();
    await nats?.stop();
  });
  beforeEach(() => {
    seals = [];
  });
  afterEach(async () => {
    await platforms.close();
    // Restarts servers that a failed test has left killed.
    for (const server of killed) await nats.startServer(server);
    killed.clear();
  });

  const killed = new Set<string>();
  const entropy: Entropy = (length) => {
    const bytes = systemEntropy(length);
    if (length === SEAL_BYTES) seals.push(bytes);
    return bytes;
  };
  const open = async (): Promise<JetStreamVault> => (await openCut()).vault;
  const openCut = async (): Promise<{ vault: JetStreamVault; reach: SealReach }> => {
    const { connection, bucket } = await platforms.open(nats.url, CLUSTER).then((platform) => ({
      connection: platform.connection,
      bucket: platform.bucket(BUCKETS.shreds),
    }));
    const notes = new ShredNotes(await bucket, connection.clock);
    const onPartly = (project: string, keyId: string): Promise<void> => notes.set(project, keyId);
    // Opens like a platform: just started servers take their time to find leaders.
    const opening = (): Promise<JetStreamVault> => JetStreamVault.open({ connection, replicas: 3, entropy, onPartly });
    return { vault: await whenAvailable('the vault', opening, connection), reach: new SealReach(connection) };
  };
  /** Servers whose files contain the bytes. */
  const serversWith = async (secret: Uint8Array): Promise<string[]> => {
    const found = await findBytes(nats.dataDir, { secret });
    return [...new Set(found.map(({ file }) => file.split('/')[0]!))].sort();
  };
  const otherHalf = (half: Uint8Array): Uint8Array => seals[seals.indexOf(half) ^ 1]!;
  /** Looks for both halves of a seal. */
  const expectNowhere = async (...given: Uint8Array[]): Promise<void> => {
    const secrets = new Set([...given, ...given.filter((secret) => seals.includes(secret)).map(otherHalf)]);
    for (const secret of secrets) expect(await serversWith(secret)).to.deep.equal([]);
  };
  /** Waits until the bytes are in the files: JetStream answers slightly before. */
  const untilOn = (secret: Uint8Array, servers: readonly string[]): Promise<void> =>
    eventually('the bytes are in the files', async () => (await serversWith(secret)).join() === servers.join());
  /** Makes an entry with a seal of which `seal` is the second half. */
  const sealedEntry = async (vault: VaultStore): Promise<{ stored: StoredVaultEntry; seal: Uint8Array }> => {
    const before = seals.length;
    const stored = await made(vault, active(freshSecret(), 1));
    expect(seals.length).to.equal(before + 2);
    return { stored, seal: seals.at(-1)! };
  };
  /** Waits until a restarted server has found its leaders. */
  const manager = (): Promise<JetStreamManager> => persistently(() => direct.jetstreamManager());
  const streamInfo = async (...asked: Parameters<JetStreamManager['streams']['info']>): Promise<StreamInfo> => {
    const { streams } = await manager();
    return persistently(() => streams.info(...asked));
  };
  /** Deletes a stream, or one of its messages. The answer may be lost. */
  const deleteStored = (stream: string, seq?: number): Promise<void> =>
    persistently(async () => {
      const { streams } = await manager();
      const deleted = seq === undefined ? streams.delete(stream) : streams.deleteMessage(stream, seq);
      await deleted.catch((error: NatsError) => {
        if (!GONE.has(error.api_error?.err_code)) throw error;
      });
    });
  /** Replaces the second half on the server, or removes it. */
  const plantSeal = async (place: number, keyId: string, bytes: Uint8Array | undefined): Promise<void> => {
    const subject = sealSubject(place, Buffer.from('p').toString('hex'), keyId);
    const { streams } = await manager();
    const { seq } = await persistently(() => streams.getMessage(sealStream(place), { last_by_subj: subject }));
    // Under an id, so that a repetition after a lost answer stores nothing.
    const msgID = freshKeyId();
    if (bytes !== undefined) await persistently(() => direct.jetstream().publish(subject, bytes, { msgID }));
    await deleteStored(sealStream(place), seq);
  };
  const serverOf = async (stream: string): Promise<string> => (await streamInfo(stream)).cluster!.leader!;
  /** Repeats an attempt while servers find another leader. */
  const untilReported = (vault: VaultStore, keyId: string, server: string): Promise<void> =>
    persistently(async () => {
      const { message } = await expectCode(vault.settle('p', keyId), 'unavailable');
      expect(message).to.contain(server);
    });
  /** Returns the message for a damaged entry. */
  const damageOf = async (vault: VaultStore, keyId: string): Promise<string> =>
    (await expectCode(vault.get('p', keyId), 'internal_error')).message;
  const marked = async (keyId: string): Promise<boolean> => {
    const notes = new Map<string, ShredNote>();
    const platform = await platforms.open(nats.url, CLUSTER);
    const bucket = await platform.bucket(BUCKETS.shreds);
    (await new ShredNotes(bucket, platform.connection.clock).watch(notes)).stop();
    return [...notes.values()].some((note) => note.keyId === keyId);
  };

  it('is opened by several processes at once, with each seal stream on its own server', async () => {
    const vaults = await Promise.all(Array.from({ length: 4 }, open));
    const servers = await Promise.all([1, 2, 3].map((place) => serverOf(sealStream(place))));
    expect([...servers].sort()).to.deep.equal(nats.names);
    const { stored } = await sealedEntry(vaults[0]!);
    for (const vault of [...vaults, await open()]) expect(await vault.get('p', stored.keyId)).to.deep.equal(stored);
  });

  it('seals the entries of a process that is configured with one server', async () => {
    await open();
    const { connection } = await platforms.open(nats.url, { ...CLUSTER, replicas: 1 });
    const { stored, seal } = await sealedEntry(await JetStreamVault.open({ connection, replicas: 1, entropy }));
    await untilOn(seal, nats.names);
    expect(await (await open()).get('p', stored.keyId)).to.deep.equal(stored);
  });

  it('erases a just written key on all servers before its replacement is answered', async () => {
    const vault = await open();
    const beside = await sealedEntry(vault);
    const { stored, seal } = await sealedEntry(vault);
    await untilOn(seal, nats.names);
    const revision = await vault.replace(stored, shredded(1));
    await expectNowhere(seal, stored.entry.wrapped!);
    await vault.settle('p', stored.keyId);
    expect(await vault.get('p', stored.keyId)).to.deep.equal({ ...stored, entry: shredded(1), revision });
    expect(await vault.get('p', beside.stored.keyId)).to.deep.equal(beside.stored);
    for (const server of nats.names) await nats.killServer(server);
    await Promise.all(nats.names.map((server) => nats.startServer(server)));
    await persistently(() => vault.settle('p', beside.stored.keyId));
    await expectNowhere(seal, stored.entry.wrapped!, beside.stored.entry.wrapped!);
    expect((await vault.get('p', stored.keyId))!.entry).to.deep.equal(shredded(1));
    expect(await vault.get('p', beside.stored.keyId)).to.deep.equal(beside.stored);
  });

  it('erases all earlier versions of an entry with the last one', async () => {
    const vault = await open();
    let { stored, seal } = await sealedEntry(vault);
    const old = stored.entry.wrapped!;
    for (const ids of [
      [1, 2],
      [1, 2, 3],
    ]) {
      // Another wrapped key, like after a rotation of the master key, gets another seal.
      const entry = active(freshSecret(), ...ids);
      stored = { ...stored, entry, revision: (await vault.replace(stored, entry))! };
      expect(await vault.get('p', stored.keyId)).to.deep.equal(stored);
      await expectNowhere(seal);
      expect(seals.at(-1)).to.not.equal(seal);
      seal = seals.at(-1)!;
      const longer = active(entry.wrapped!, ...ids, 9);
      stored = { ...stored, entry: longer, revision: (await vault.replace(stored, longer))! };
      expect(seals.at(-1), 'it keeps its seal').to.equal(seal);
    }
    expect(await vault.replace({ ...stored, revision: stored.revision - 1 }, shredded())).to.equal(undefined);
    await vault.replace(stored, shredded(1, 2, 3));
    await vault.settle('p', stored.keyId);
    await expectNowhere(seal, old, stored.entry.wrapped!);
    expect((await (await open()).get('p', stored.keyId))!.entry).to.deep.equal(shredded(1, 2, 3));
  });

  it('erases the seals of processes that were too late to create the key', async () => {
    const [one, two] = [await open(), await open()];
    const keyId = freshKeyId();
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, n) => (n % 2 ? one : two).create('p', keyId, active(freshSecret(), n))),
    );
    expect(outcomes.filter((revision) => revision !== undefined)).to.have.length(1);
    const stored = (await one.get('p', keyId))!;
    expect(seals).to.have.length(16);
    await two.replace(stored, shredded());
    await two.settle('p', keyId);
    await expectNowhere(...seals);
  });

  it('accepts no seal after its key is shredded', async () => {
    const vault = await open();
    const { stored, seal } = await sealedEntry(vault);
    await vault.replace(stored, shredded());
    const keyId = stored.keyId;
    expect(await vault.create('p', keyId, active(freshSecret()))).to.equal(undefined);
    await expectNowhere(seal, ...seals);
  });

  for (const how of WAYS) {
    /** Takes the server away. Resolves to a function that brings it back. */
    const takeAway = async (
      reach: SealReach,
      place: number,
    ): Promise<{ server: string; comeBack(): Promise<void> }> => {
      const server = await serverOf(sealStream(place));
      if (how === 'cut off') reach.cut(place);
      else await nats.killServer(server);
      if (how === 'killed') killed.add(server);
      const comeBack = async (): Promise<void> => {
        reach.mend();
        if (killed.delete(server)) await nats.startServer(server);
      };
      return { server, comeBack };
    };

    it(`creates keys while a server is ${how}, and gives it their seals afterwards`, async () => {
      const { vault, reach } = await openCut();
      const { server, comeBack } = await takeAway(reach, 3);
      const { stored, seal } = await persistently(() => sealedEntry(vault));
      await untilOn(
        seal,
        nats.names.filter((name) => name !== server),
      );
      expect(await persistently(() => marked(stored.keyId))).to.equal(true);
      expect((await persistently(() => vault.get('p', stored.keyId)))!.entry).to.deep.equal(stored.entry);
      await untilReported(vault, stored.keyId, server);
      await comeBack();
      await persistently(() => vault.settle('p', stored.keyId));
      await untilOn(seal, nats.names);
    });

    it(`reports that a server is ${how} during a shred, and erases there before the shred is done`, async () => {
      const { vault, reach } = await openCut();
      const { stored, seal } = await persistently(() => sealedEntry(vault));
      await untilOn(seal, nats.names);
      const { server, comeBack } = await takeAway(reach, 2);
      await persistently(async () => {
        const found = await vault.get('p', stored.keyId);
        if (found?.entry.status === 'shredded') return;
        // A refusal would mean that another process changed the key.
        expect(await vault.replace(stored, shredded(1))).to.be.greaterThan(stored.revision);
      });
      await untilReported(vault, stored.keyId, server);
      expect(await serversWith(seal), 'reported while it exists').to.include(server);
      expect((await persistently(() => vault.get('p', stored.keyId)))!.entry).to.deep.equal(shredded(1));
      await comeBack();
      await persistently(() => vault.settle('p', stored.keyId));
      await expectNowhere(seal, stored.entry.wrapped!);
    });

    it(`opens and reads while a server is ${how}`, async () => {
      const one = await open();
      const { stored } = await persistently(() => sealedEntry(one));
      const { vault, reach } = await openCut();
      const { comeBack } = await takeAway(reach, 1);
      expect(await persistently(() => vault.get('p', stored.keyId))).to.deep.equal(stored);
      await comeBack();
    });
  }

  it('is complete again after a server has lost its disk', async () => {
    const vault = await open();
    const { stored, seal } = await persistently(() => sealedEntry(vault));
    await untilOn(seal, nats.names);
    await deleteStored(sealStream(1));
    await eventually('one server has lost the bytes', async () => (await serversWith(seal)).length === 2);
    const opened = await open();
    expect(await opened.get('p', stored.keyId)).to.deep.equal(stored);
    await untilOn(seal, nats.names);
    const servers = await Promise.all([1, 2, 3].map((place) => serverOf(sealStream(place))));
    expect([...servers].sort()).to.deep.equal(nats.names);
    expect((await listed(opened)).damaged).to.deep.equal([]);
  });

  it('reports a flip in any byte of a seal, and restores a seal that one server has lost', async () => {
    const vault = await open();
    const { stored, seal } = await persistently(() => sealedEntry(vault));
    await untilOn(seal, nats.names);
    const whole = encodeSeal([otherHalf(seal), seal])[1]!;
    for (const [at, byte] of whole.entries()) {
      const bent = Object.assign(Buffer.from(whole), { [at]: byte ^ 1 });
      // A vault that was opened while a server lacked seals may still put the right one back.
      await persistently(async () => {
        for (const place of [1, 2, 3]) await plantSeal(place, stored.keyId, bent);
        expect(await damageOf(vault, stored.keyId)).to.contain(stored.keyId);
      });
      await plantSeal(1, stored.keyId, whole);
      expect(await persistently(() => vault.get('p', stored.keyId))).to.deep.equal(stored);
    }
    // The other servers have only the altered seal; the right one is stored beside it.
    await persistently(() => vault.settle('p', stored.keyId));
    await plantSeal(1, stored.keyId, undefined);
    expect(await persistently(() => vault.get('p', stored.keyId))).to.deep.equal(stored);
    await vault.replace(stored, shredded());
    await vault.settle('p', stored.keyId);
    await expectNowhere(seal);
  });

  it('keeps every key when the servers are killed in turn, whatever was refused before', async () => {
    const [one, two] = [await open(), await open()];
    const contested = freshKeyId();
    await Promise.all(Array.from({ length: 4 }, () => one.create('p', contested, active(freshSecret()))));
    const kept = await sealedEntry(one);
    const gone = await sealedEntry(one);
    const revision = (await one.replace(kept.stored, active(kept.stored.entry.wrapped!, 1, 2)))!;
    const races = [one, two].map((vault) => vault.replace({ ...kept.stored, revision }, active(freshSecret(), 3)));
    expect((await Promise.all(races)).filter((written) => written !== undefined)).to.have.length(1);
    await one.replace(gone.stored, shredded(1));
    await one.settle('p', gone.stored.keyId);
    const before = await listed(one);
    expect(before.damaged).to.deep.equal([]);
    for (const server of nats.names) {
      await nats.killServer(server);
      await nats.startServer(server);
      expect(await persistently(() => listed(two))).to.deep.equal(before);
    }
    await expectNowhere(gone.seal, gone.stored.entry.wrapped!);
  });

  it('reports a key whose seal is on no server, and can destroy it', async () => {
    const vault = await open();
    const { stored, seal } = await persistently(() => sealedEntry(vault));
    await untilOn(seal, nats.names);
    for (const place of [1, 2, 3]) await plantSeal(place, stored.keyId, undefined);
    expect(await persistently(() => damageOf(vault, stored.keyId))).to.contain(stored.keyId);
    expect(await vault.replaceDamaged('p', stored.keyId, shredded(1))).to.be.greaterThan(stored.revision);
    await vault.settle('p', stored.keyId);
    expect((await vault.get('p', stored.keyId))!.entry).to.deep.equal(shredded(1));
  });

  it('leaves nothing of a shredded key on any server of a service, or elsewhere', async () => {
    // Entries of the other tests are under no master key.
    for (const stream of [VAULT_STREAM, ...[1, 2, 3].map(sealStream)]) await deleteStored(stream);
    const service = await Service.start('cluster', { VOUCH_REPLICAS: '3' }, { nats, shards: 1 });
    try {
      const { rw, name: project } = await service.newProject();
      // Restarted processes may answer 503 for a while.
      const done = async (ask: () => ReturnType<typeof rw.post>): ReturnType<typeof rw.post> => {
        let answer = await ask();
        await service.until(async () => {
          if (answer.status === 503) answer = await ask();
          return answer.status !== 503;
        });
        expect(answer.status, answer.text).to.equal(200);
        return answer;
      };
      await done(() => rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' }));
      const plaintext = systemEntropy(64);
      const payload = Buffer.from(plaintext).toString('base64');
      const insert = () => done(() => rw.post('/v1/records/encrypted', { collection: 'c', payload }));
      const { id, key_id: keyId } = (await insert()).body;
      const kept = (await insert()).body;
      const { wrapped, dataKey } = await secretsOf(service, project, keyId);
      const seal = await storedSeal(project, keyId);
      const secrets = { wrapped, dataKey, seal, plaintext };
      await untilOn(seal, nats.names);
      expect(new Set((await findStored(service, secrets)).map(({ name }) => name))).to.deep.equal(new Set(['seal']));
      const shred = await done(() => rw.delete(`/v1/crypto/shred/${keyId}`));
      expect(shred.body).to.deep.equal({ key_id: keyId, shredded: true });
      expect(await findStored(service, secrets)).to.deep.equal([]);
      expect((await rw.delete(`/v1/crypto/shred/${keyId}`)).status).to.equal(200);
      expect((await rw.get(`/v1/records/encrypted/${id}?collection=c`)).status).to.equal(410);
      const { body } = await rw.get(`/v1/records/encrypted/${kept.id}?collection=c`);
      expect(body.payload).to.equal(payload);
    } finally {
      await service.stop();
    }
  });

  const storedSeal = async (project: string, keyId: string): Promise<Uint8Array> => {
    const subject = sealSubject(1, Buffer.from(project).toString('hex'), keyId);
    const { data } = await (await direct.jetstreamManager()).streams.getMessage(sealStream(1), {
      last_by_subj: subject,
    });
    return decodeSeal(data)!.key;
  };
});
