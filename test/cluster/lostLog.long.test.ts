// Covers: shard/node/logWatch.ts
/** Logs removed from JetStream: no answer pretends that they never existed. */
import { truncate } from 'node:fs/promises';
import { expect } from 'chai';
import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { logPart, logStream, logSubject } from '../../shared/transport/subjects.js';
import type { Answer, Client } from '../support/launch/client.js';
import { Service } from '../support/launch/service.js';
import { blockFile, storedMessages } from '../support/nats/natsBlocks.js';

const STREAMS = 4;
/** It takes seconds until a loss is reported that no request has met. */
const LOOK_EVERY_MS = 250;
/** The number of the event depends on how long ago it was written. */
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
  /** Stops the service: after deleted streams or changed server files, no other test can follow. */
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

  /** Waits without a write that would meet the loss. */
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
    // A deleted collection is no longer reported, so the next test starts without damage.
    afterEach(async () => {
      for (const name of ['lost', 'begun', 'whole']) await rw.delete(`/v1/namespaces/${name}`);
      await service.until(async () => ((await rw.get('/health')).body.damaged ?? []).length === 0);
    });

    it('completely is reported after a restart', async () => {
      const id = await idOf('lost');
      const { purged } = await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS) });
      expect(purged).to.equal(3);
      await restart();
      await expectLost(NOTED);
    });

    it('completely, or in its beginning, is reported although no client writes', async () => {
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

    it('completely is reported although the collection is closed and unused', async () => {
      await restart();
      const id = await idOf('lost');
      await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS) });
      await untilReported('lost');
      await expectLost(NOTED);
    });

    it('in its beginning is reported although the collection is closed', async () => {
      await restart();
      for (const [name, kept] of [
        // Once this loss is reported, the other collection has been examined while it was whole.
        ['whole', {}],
        ['lost', { keep: 1 }],
      ] as const) {
        const id = await idOf(name);
        await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS), ...kept });
        await untilReported(name);
      }
      // Found by a check of its ends, or by the opening, which counts its events: after a kill, its note lags behind.
      const { error } = (await get('lost')).body;
      expect(error, error).to.contain('has lost its beginning');
    });

    it('in the course of a deletion is not reported', async () => {
      expect((await rw.delete('/v1/namespaces/lost')).status).to.equal(204);
      const id = await idOf('whole');
      // This loss is reported after any loss of the other collection would be.
      await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS) });
      await untilReported('whole');
      expect((await rw.get('/health')).body.damaged).to.have.length(1);
    });
  });

  describe('removed', () => {
    afterEach(stop);

    it('with its stream is reported although no client writes, and others are served', async () => {
      const id = await idOf('lost');
      const stream = logStream(logPart(id, STREAMS));
      await jsm.streams.delete(stream);
      await untilReported('lost');
      const { status, body } = await get('lost');
      expect([status, body.code]).to.deep.equal([500, 'internal_error']);
      expect(body.error).to.contain(`JetStream has no stream ${stream}, which held it`);
      expect((await get('whole')).status).to.equal(200);
    });

    it('is named by /health, like any other removed stream', async () => {
      for (const stream of ['VOUCH_VAULT', 'KV_vouch-keys', 'KV_vouch-catalog']) {
        expect((await rw.get('/health')).body.reason ?? '').not.to.contain(stream);
        await jsm.streams.delete(stream);
        await service.until(async () => (await rw.get('/health')).body.reason?.includes(stream) ?? false);
        const { status, body } = await rw.get('/health');
        expect([status, body.status]).to.deep.equal([200, 'degraded']);
      }
    });

    it('with its stream under an open collection refuses the next write', async () => {
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

    it('at its end, which nats-server cuts off at a message that does not verify, is reported', async () => {
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
