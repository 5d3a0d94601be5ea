/** A service on three nats-servers, with every bucket and stream on all of them: one may be down at any time. */
import { expect } from 'chai';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock } from '../../shared/clock.js';
import { logPart, logStream } from '../../shared/transport/subjects.js';
import { IndexedByHttp, rowsOf } from '../support/launch/indexClient.js';
import { type Project, Service } from '../support/launch/service.js';
import { requestIdOf, WriteLoad } from '../support/launch/writeLoad.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { startTestNatsCluster, type TestNatsCluster } from '../support/nats/natsCluster.js';

const WRITERS = 4;
/** Answers between two kills, so that every kill meets a working service. */
const ANSWERS_BETWEEN = 40;
const LOG_STREAMS = 4;
/** The defaults. */
const PLACEMENT = { VOUCH_HEARTBEAT_MS: '500', VOUCH_LEASE_MS: '2000', VOUCH_FAILOVER_MS: '3000' };

describe('three nats-servers', () => {
  let nats: TestNatsCluster;
  let service: Service;
  let project: Project;
  let load: WriteLoad;
  let collectionId: number;

  before(async () => {
    nats = await startTestNatsCluster();
    service = await Service.start('cluster', { VOUCH_REPLICAS: '3', ...PLACEMENT }, { nats, coordinators: 2 });
    project = await service.newProject();
    load = new WriteLoad(project.rw, 'c');
  });
  after(() => service?.stop());

  const health = (coordinator?: string) => service.client(undefined, coordinator).get('/health');
  const until = (condition: () => Promise<boolean>): Promise<void> => service.until(condition);
  const found = async (look: () => Promise<string | undefined>): Promise<string> => {
    let leader: string | undefined;
    await until(async () => {
      leader = await look();
      return leader !== undefined;
    });
    return leader!;
  };

  it('serve once every process is ready', async () => {
    expect((await health()).body).to.include({ status: 'ok', shard_count: 2 });
    const made = await project.rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    expect(made.status, made.text).to.equal(200);
    collectionId = made.body.id;
    expect((await load.insert(-1, requestIdOf(99, 1))).logIndex).to.equal(1);
  });

  it('may be killed in turn under writes, leaders first, and keep each answered write once', async () => {
    const random = seededRandom(testSeed());
    load.start(WRITERS);
    const moreAnswers = async (): Promise<void> => {
      const from = load.answered.length;
      const more = until(async () => load.answered.length >= from + ANSWERS_BETWEEN);
      await Promise.race([more, load.ended]);
    };
    const killed = new Set<string>();
    const killAndRestart = async (victim: string): Promise<void> => {
      killed.add(victim);
      await nats.killServer(victim);
      // Either the other two continue, or all three restart.
      if (random.int(2) === 0) await moreAnswers();
      await nats.startServer(victim);
      await moreAnswers();
    };
    await moreAnswers();
    const stream = logStream(logPart(collectionId, LOG_STREAMS));
    await killAndRestart(await found(() => nats.leaderOf(stream)));
    await killAndRestart(await found(() => nats.metaLeader()));
    for (const name of nats.names) if (!killed.has(name)) await killAndRestart(name);
    await load.stop();
    await load.expectInLog();
    for (const inserted of load.inserted.slice(-3))
      expect(await load.repeat(inserted)).to.include({ id: inserted.recordId, deduplicated: true });
    const { body } = await project.rw.get('/v1/namespaces');
    expect(body.collections[0].record_count).to.equal(load.inserted.length);
  });

  it('keep the requested index for all shards, and the shards keep its state', async () => {
    const indexed = new IndexedByHttp(service, service.client(project.rw.key, 'coordinator2'), 'indexed');
    const rows = rowsOf(1, 300);
    // The server that was killed last may not have caught up as a leader.
    await until(async () => (await indexed.create()).status === 200);
    // After a refused first attempt, placement may still be working.
    await until(async () => (await indexed.client.get('/v1/namespaces/indexed/index')).status === 200);
    const ids = await indexed.fill(rows);
    const idHere = async (): Promise<number | undefined> => {
      const { collections } = (await project.rw.get('/v1/namespaces')).body;
      return collections.find(({ name }: { name: string }) => name === 'indexed')?.id;
    };
    await until(async () => (await idHere()) !== undefined);
    const id = (await idHere())!;
    expect((await indexed.configure({ type: 'hnsw' })).status).to.equal(202);
    const here = new IndexedByHttp(service, project.rw, 'indexed');
    // The collection may move meanwhile, and rebuild its index.
    await here.settled('hnsw');
    expect(await here.state()).to.include({ desired_type: 'hnsw', active_type: 'hnsw', status: 'active' });

    const owner = await service.ownerOf(id);
    const shards = await (await service.platform()).bucket(BUCKETS.shards, { ttlMs: Number(PLACEMENT.VOUCH_LEASE_MS) });
    const killedMs = systemClock.monotonicMs();
    const sinceKill = (): string => `${((systemClock.monotonicMs() - killedMs) / 1_000).toFixed(1)} s`;
    await service.kill(owner);
    await until(async () => (await shards.get(owner)) === undefined);
    console.log(`      the heartbeat of a killed shard is gone after ${sinceKill()}`);
    await until(async () => (await here.insert(rows[0]!)).status === 200);
    console.log(`      its collections are written to again after ${sinceKill()}`);
    expect(await service.ownerOf(id)).not.to.equal(owner);
    expect((await here.state()).desired_type).to.equal('hnsw');
    await here.settled('hnsw');
    await here.expectFound(rows.slice(1), ids.slice(1), [0, 150, 298]);
    await service.run(owner);
    await service.untilShards(2);
  });

  it('answer 503 without a majority, and serve again once it is back', async () => {
    const [one, two] = nats.names;
    await nats.killServer(one!);
    await nats.killServer(two!);
    // A leader from before the kills still answers reads for a few seconds, and accepts no writes.
    for (const coordinator of ['coordinator', 'coordinator2'])
      await until(async () => {
        const { status, body } = await health(coordinator);
        return status === 503 && body.status === 'degraded';
      });
    const before = load.inserted.length;
    const refused = await load.insertOnce(-2, requestIdOf(99, 2));
    expect([refused.status, refused.body?.code], refused.text).to.deep.equal([503, 'unavailable']);
    expect(refused.headers.get('retry-after')).to.match(/^\d+$/);
    await nats.startServer(one!);
    await nats.startServer(two!);
    const { recordId } = await load.insert(-2, requestIdOf(99, 2));
    expect(recordId).to.equal(before + 1);
    for (const coordinator of ['coordinator', 'coordinator2'])
      await until(async () => (await health(coordinator)).body.status === 'ok');
    const found = await project.rw.post('/v1/search', { collection: 'c', query: [-2], k: 1 });
    expect(found.body.results).to.deep.equal([{ id: recordId, score: 0 }]);
    await load.expectInLog();
  });
});
