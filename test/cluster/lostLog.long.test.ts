/** Logs that somebody removed from JetStream: nothing answers as if they had never been. */
import { truncate } from 'node:fs/promises';
import { expect } from 'chai';
import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { logPart, logStream, logSubject } from '../../shared/transport/subjects.js';
import type { Answer, Client } from '../support/launch/client.js';
import { Service } from '../support/launch/service.js';
import { blockFile, storedMessages } from '../support/nats/natsBlocks.js';

const STREAMS = 4;
/** It takes seconds until a loss is told that nothing has met. */
const LOOK_EVERY_MS = 250;
/** Which event, is a matter of how long ago it was. */
const NOTED = 'it is empty, but event ';

describe('a log that is gone from JetStream', () => {
  let service: Service;
  let isRunning = false;
  let nc: NatsConnection;
  let jsm: JetStreamManager;
  let rw: Client;

  beforeEach(async () => {
    if (!isRunning) {
      service = await Service.start('cluster', {}, { shards: 1 });
      isRunning = true;
      nc = await connect({ servers: service.nats.url });
      jsm = await nc.jetstreamManager();
    }
    ({ rw } = await service.newProject());
    for (const name of ['lost', 'whole', 'never']) {
      const made = await rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2' });
      expect(made.status).to.equal(200);
    }
    for (const name of ['lost', 'whole'])
      for (let n = 1; n <= 3; n++) expect((await insert(name)).status).to.equal(200);
  });
  /** Where whole streams are gone, or the server's own files were written to, no other test can follow. */
  const stop = async (): Promise<void> => {
    if (!isRunning) return;
    isRunning = false;
    await nc?.close();
    await service.stop();
  };
  after(stop);

  const insert = (collection: string): Promise<Answer> => rw.post('/v1/records', { collection, values: [1, 2] });
  const get = (collection: string): Promise<Answer> => rw.get(`/v1/records/1?collection=${collection}`);
  const idOf = async (name: string): Promise<number> => {
    const owned = [...(await service.ownerships()).values()];
    return owned.find(({ collection }) => collection.name === name)!.collection.id;
  };
  const restart = async (): Promise<void> => {
    await service.kill('s1');
    await service.restart('s1');
  };
  const expectLost = async (reason: string): Promise<void> => {
    for (const answer of [await get('lost'), await insert('lost')]) {
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([500, 'internal_error']);
      expect(answer.body.error).to.contain('collection "lost" is quarantined').and.to.contain(reason);
    }
    await service.until(async () => (await rw.get('/health')).body.damaged?.length === 1);
    const [damage] = (await rw.get('/health')).body.damaged;
    expect([damage.collection_id, damage.part]).to.deep.equal([await idOf('lost'), 'log']);
    expect(await service.metric('vouch_damaged', 'part="log"')).to.equal(1);
    expect((await get('whole')).status).to.equal(200);
    expect((await insert('whole')).status).to.equal(200);
    expect((await insert('never')).status).to.equal(200);
  };

  /** Without a write that would meet it. */
  const untilReported = async (name: string): Promise<void> => {
    const id = await idOf(name);
    await service.until(
      async () => {
        const { damaged } = (await rw.get('/health')).body;
        return damaged?.some((damage: { collection_id: number }) => damage.collection_id === id);
      },
      { everyMs: LOOK_EVERY_MS },
    );
    const { status, body } = await rw.get('/health');
    expect([status, body.status]).to.deep.equal([200, 'degraded']);
    expect(body.reason).to.be.a('string');
  };

  describe('purged', () => {
    // Of a collection that was deleted nothing is told: the next test begins without damage.
    afterEach(async () => {
      for (const name of ['lost', 'begun', 'whole']) await rw.delete(`/v1/namespaces/${name}`);
      await service.until(async () => ((await rw.get('/health')).body.damaged ?? []).length === 0);
    });

    it('by its subject', async () => {
      const id = await idOf('lost');
      const { purged } = await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS) });
      expect(purged).to.equal(3);
      await restart();
      await expectLost(NOTED);
    });

    it('by its subject, whole or its beginning, while nobody writes: it is told all the same', async () => {
      for (const keep of [undefined, 1]) {
        const name = keep === undefined ? 'lost' : 'begun';
        if (keep !== undefined) {
          await rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2' });
          for (let n = 1; n <= 3; n++) expect((await insert(name)).status).to.equal(200);
        }
        const id = await idOf(name);
        const purged = { filter: logSubject(id, STREAMS), ...(keep === undefined ? {} : { keep }) };
        await jsm.streams.purge(logStream(logPart(id, STREAMS)), purged);
        await untilReported(name);
        const { status, body } = await get(name);
        expect([status, body.code]).to.deep.equal([500, 'internal_error']);
        expect(body.error).to.contain(keep === undefined ? 'event 3 was applied' : 'it has lost its beginning');
      }
      expect((await get('whole')).status).to.equal(200);
      expect((await insert('never')).status).to.equal(200);
    });

    it('by its subject while the collection is not open, and nobody asks for it', async () => {
      await restart();
      const id = await idOf('lost');
      await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS) });
      await untilReported('lost');
      await expectLost(NOTED);
    });

    it('of its beginning while the collection is not open', async () => {
      await restart();
      for (const [name, kept] of [
        // Once this is told, the other has been looked at while it was whole.
        ['whole', {}],
        ['lost', { keep: 1 }],
      ] as const) {
        const id = await idOf(name);
        await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS), ...kept });
        await untilReported(name);
      }
      // Found by a look at its ends, or by the opening that counts what it holds: its note is behind it after a kill.
      const { error } = (await get('lost')).body;
      expect(error, error).to.contain('has lost its beginning');
    });

    it('is not what a deletion leaves behind', async () => {
      expect((await rw.delete('/v1/namespaces/lost')).status).to.equal(204);
      const id = await idOf('whole');
      // What is told of this one comes after what would be told of the other.
      await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS) });
      await untilReported('whole');
      expect((await rw.get('/health')).body.damaged).to.have.length(1);
    });
  });

  describe('removed', () => {
    afterEach(stop);

    it('with its stream, while nobody writes: it is told all the same, and others are served', async () => {
      const id = await idOf('lost');
      const stream = logStream(logPart(id, STREAMS));
      await jsm.streams.delete(stream);
      await untilReported('lost');
      const { status, body } = await get('lost');
      expect([status, body.code]).to.deep.equal([500, 'internal_error']);
      expect(body.error).to.contain(`JetStream has no stream ${stream}, which held it`);
      expect((await get('whole')).status).to.equal(200);
    });

    it('and other streams too: /health names those that somebody removed', async () => {
      for (const stream of ['VOUCH_VAULT', 'KV_vouch-keys', 'KV_vouch-catalog']) {
        expect((await rw.get('/health')).body.reason ?? '').not.to.contain(stream);
        await jsm.streams.delete(stream);
        await service.until(async () => (await rw.get('/health')).body.reason?.includes(stream) ?? false);
        const { status, body } = await rw.get('/health');
        expect([status, body.status]).to.deep.equal([200, 'degraded']);
      }
    });

    it('with its stream, while the collection is open: the next that would have stood behind it is refused', async () => {
      const id = await idOf('lost');
      const stream = logStream(logPart(id, STREAMS));
      const { config } = await jsm.streams.info(stream);
      await jsm.streams.delete(stream);
      for (const refused of [await insert('lost'), await insert('lost')]) {
        expect(refused.status, refused.text).to.equal(503);
        expect(refused.body.error).to.contain(`JetStream has no stream ${stream}`);
      }
      await jsm.streams.add(config);
      await service.until(async () => (await insert('lost')).status === 500);
      await expectLost('it is empty, but event 3 was applied');
      await restart();
      await expectLost(NOTED);
    });

    it('with its end, which nats-server cuts off where a message does not verify', async () => {
      const processes = service.processNames;
      for (const name of processes) await service.end(name);
      const id = await idOf('lost');
      const block = blockFile(service.nats.dataDir, logStream(logPart(id, STREAMS)));
      await service.nats.shutDown();
      const stored = await storedMessages(block);
      expect(stored).to.have.length(3);
      await truncate(block, stored[2]!.checksum);
      await service.nats.start();
      for (const name of processes) await service.restart(name);
      await service.untilShards(1);
      await expectLost('it ends with event 2, but event 3 was committed');
    });
  });
});
