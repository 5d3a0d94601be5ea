/** Logs that somebody removed from JetStream: nothing answers as if they had never been. */
import { truncate } from 'node:fs/promises';
import { expect } from 'chai';
import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { logPart, logStream, logSubject } from '../../shared/subjects.js';
import type { Answer, Client } from '../support/client.js';
import { blockFile, storedMessages } from '../support/natsBlocks.js';
import { Service } from '../support/service.js';

const STREAMS = 4;
/** Which event, is a matter of how long ago it was. */
const NOTED = 'it holds nothing, but event ';

describe('a log that is gone from JetStream', function () {
  this.timeout(120_000);
  let service: Service;
  let nc: NatsConnection;
  let jsm: JetStreamManager;
  let rw: Client;

  beforeEach(async () => {
    service = await Service.start('cluster', {}, { shards: 1 });
    nc = await connect({ servers: service.nats.url });
    jsm = await nc.jetstreamManager();
    ({ rw } = await service.newProject());
    for (const name of ['lost', 'whole', 'never']) {
      const made = await rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2' });
      expect(made.status).to.equal(200);
    }
    for (const name of ['lost', 'whole'])
      for (let n = 1; n <= 3; n++) expect((await insert(name)).status).to.equal(200);
  });
  afterEach(async () => {
    await nc?.close();
    await service?.stop();
  });

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

  it('purged by its subject', async () => {
    const id = await idOf('lost');
    const { purged } = await jsm.streams.purge(logStream(logPart(id, STREAMS)), { filter: logSubject(id, STREAMS) });
    expect(purged).to.equal(3);
    await restart();
    await expectLost(NOTED);
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
    await expectLost('it holds nothing, but event 3 was applied');
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
