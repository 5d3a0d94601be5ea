/** Shards that join, leave, die without a follower, or come back, under load; the pauses of clients while collections move. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock } from '../../shared/clock.js';
import { ownershipOf, storedOwnership } from '../../shared/registry/owners.js';
import { busy, type ClusterLoad, createAll, expectAllThere, loadOn, PAUSE_MS } from '../support/launch/clusterLoad.js';
import { type Client, type Project, Service } from '../support/launch/service.js';
import { seededRandom } from '../support/model/random.js';
import { describeDeadShard } from '../support/suites/deadShard.js';

/** Longest waits in milliseconds, of clients that send one request after another. */
interface Pauses {
  readonly search: number;
  readonly write: number;
  readonly failed: number;
}

describe('shards that join and leave under load', () => {
  let service: Service;
  let project: Project;
  let load: ClusterLoad;

  before(async () => {
    service = await Service.start('cluster', {}, { shards: 2, coordinators: 2 });
    project = await service.newProject();
    await createAll(project);
    load = loadOn(service, project, ['coordinator', 'coordinator2']);
  });
  after(async () => {
    await load?.stop();
    await service?.stop();
  });
  /** No request has failed, and none has missed a write. */
  const expectUnnoticed = (): void => {
    expect(load.failed).to.deep.equal([]);
    expect(load.wrong).to.deep.equal([]);
  };

  it('share the collections with a third shard without a failed request', async () => {
    await busy(service, load);
    load.forgetPauses();
    await service.run('s3');
    await service.untilSpread(['s1', 's2', 's3']);
    const searched = () => service.metric('vouch_shard_call_seconds_count', 'shard="s3",op="search",outcome="ok"');
    await service.until(async () => (await searched()) > 10);
    await busy(service, load);
    console.log(`      the longest pause of a client while collections moved: ${load.longestPauseMs.toFixed(0)} ms`);
    expectUnnoticed();
    for (const { followers } of (await service.ownerships()).values()) expect(followers).to.deep.equal([]);
  });

  it('hand everything over at SIGTERM and end, without a failed request', async () => {
    load.forgetPauses();
    expect(await service.end('s1')).to.deep.equal({ code: 0, signal: null });
    await service.untilSpread(['s2', 's3']);
    await busy(service, load);
    console.log(`      the longest pause of a client while a shard left: ${load.longestPauseMs.toFixed(0)} ms`);
    expectUnnoticed();
  });

  it('are replaced one after another without a failed request', async () => {
    await service.run('s1');
    for (const name of ['s2', 's3']) {
      expect(await service.end(name)).to.deep.equal({ code: 0, signal: null });
      await service.run(name);
    }
    expect(await service.end('s1')).to.deep.equal({ code: 0, signal: null });
    await busy(service, load);
    await load.stop();
    expectUnnoticed();
    await expectAllThere(project, load);
  });
});

describeDeadShard(0);

describe('a shard that is killed and comes back at once', () => {
  const records = Number(process.env.VOUCH_COMEBACK_RECORDS ?? 500);
  const names = Array.from({ length: 6 }, (_, i) => `c${i}`);
  let service: Service;
  after(() => service?.stop());

  it('has its collections served by their followers, with every answered write', async () => {
    // Times so long that no coordinator misses it before it is back, however busy the machine is.
    service = await Service.start('cluster', { VOUCH_FOLLOWERS: '1' }, { shards: 2 });
    const project = await service.newProject();
    await createAll(project, names);
    for (let from = 0; from < records; from += 500) {
      // Values unlike those of the load, whose clients find their own by value.
      const batch = Array.from({ length: 500 }, (_, i) => [-1 - from - i, 0, 0]);
      await Promise.all(names.map((collection) => project.rw.post('/v1/vectors/batch-insert', { collection, batch })));
    }
    const load = loadOn(service, project, ['coordinator'], names);
    await busy(service, load);
    const follows = 'state="following"';
    await service.until(async () => (await service.metric('vouch_collections_followed', follows)) === 6);
    const before = await service.ownerships();
    let isOver = false;
    const pausesMs = names.map(async (name) => {
      let [longestMs, goodMs] = [0, systemClock.monotonicMs()];
      for (; !isOver; await delay(PAUSE_MS)) {
        const { status } = await project.rw.post('/v1/search', { collection: name, query: [0, 0, 0], k: 1 });
        const nowMs = systemClock.monotonicMs();
        longestMs = Math.max(longestMs, nowMs - goodMs);
        if (status === 200) goodMs = nowMs;
      }
      return longestMs;
    });
    await service.kill('s2');
    const killedMs = systemClock.monotonicMs();
    await service.run('s2');
    const backMs = systemClock.monotonicMs() - killedMs;
    await busy(service, load);
    isOver = true;
    const longestMs = Math.max(...(await Promise.all(pausesMs)));
    const seconds = [backMs, longestMs].map((ms) => (ms / 1000).toFixed(1));
    console.log(
      `      ${records} records each; back after ${seconds[0]} s; the longest time without an answer ${seconds[1]} s`,
    );
    await load.stop();
    // Only a later move may bring one back to the restarted shard.
    for (const [id, { shard, epoch }] of await service.ownerships())
      if (before.get(id)!.shard === 's2') expect(epoch, shard).to.be.above(before.get(id)!.epoch);
    expect(load.wrong).to.deep.equal([]);
    for (const { status, text } of load.failed) expect(status, text).to.be.oneOf([0, 503]);
    await expectAllThere(project, load);
  });
});

describe('the pause that clients see at a move', () => {
  const records = Number(process.env.VOUCH_PAUSE_RECORDS ?? 2_000);
  const dimension = 128;
  let service: Service;
  after(() => service?.stop());

  /** Longest time without a good answer, for clients that write or search continually. */
  async function pauseDuring(client: Client, change: () => Promise<void>): Promise<Pauses> {
    let failed = 0;
    const pausesMs = { search: 0, write: 0 };
    const values = new Array(dimension).fill(0.5);
    const asks = {
      search: () => client.post('/v1/search', { collection: 'large', query: values, k: 10 }),
      write: () => client.post('/v1/records', { collection: 'large', values }),
    };
    let isOver = false;
    const clients = (['search', 'write'] as const).map(async (kind) => {
      let goodMs = systemClock.monotonicMs();
      for (; !isOver; await delay(PAUSE_MS)) {
        const { status } = await asks[kind]();
        if (status !== 200) failed++;
        const nowMs = systemClock.monotonicMs();
        pausesMs[kind] = Math.max(pausesMs[kind], nowMs - goodMs);
        if (status === 200) goodMs = nowMs;
      }
    });
    await change().finally(() => {
      isOver = true;
    });
    await Promise.all(clients);
    return { ...pausesMs, failed };
  }

  const shown = ({ search, write, failed }: Pauses): string =>
    `${search.toFixed(0)} ms for a search, ${write.toFixed(0)} ms for a write; ${failed} requests failed`;

  it('is short if the new owner is warm', async () => {
    service = await Service.start('cluster', {}, { shards: 2 });
    const { rw } = await service.newProject();
    const { body } = await rw.post('/v1/namespaces', { name: 'large', dimension, metric: 'squared_l2' });
    const random = seededRandom(1);
    for (let from = 0; from < records; from += 2_000) {
      const batch = Array.from({ length: 2_000 }, () => Array.from({ length: dimension }, () => random.int(200) / 100));
      expect((await rw.post('/v1/vectors/batch-insert', { collection: 'large', batch })).status).to.equal(200);
    }
    const still = await pauseDuring(rw, () => delay(500));
    console.log(`      ${records} x ${dimension}; no move: the longest wait is ${shown(still)}`);
    const first = await service.ownerOf(body.id);
    const second = first === 's1' ? 's2' : 's1';
    const warm = await pauseDuring(rw, async () => {
      expect((await service.end(first)).code).to.equal(0);
    });
    expect([await service.ownerOf(body.id), warm.failed]).to.deep.equal([second, 0]);
    console.log(`      a warm move: ${shown(warm)}`);
    await service.run(first);
    const cold = await pauseDuring(rw, async () => {
      const owners = await (await service.platform()).bucket(BUCKETS.owners);
      const entry = (await owners.get(String(body.id)))!;
      const ownership = ownershipOf(entry);
      // This equals the loss of the owner: no hand-over, and no warm shard.
      await owners.put(entry.key, storedOwnership({ ...ownership, shard: first, epoch: ownership.epoch + 1 }));
      await service.until(async () => (await service.metric('vouch_collections_open', `shard="${first}"`)) === 1);
    });
    console.log(`      a cold one: ${shown(cold)}`);
  });

  it('is absent at the end of the only shard, which has no other to hand over to', async () => {
    const project = await service.newProject();
    await createAll(project);
    expect(await service.end('s2')).to.deep.equal({ code: 0, signal: null });
    const begunMs = systemClock.monotonicMs();
    expect(await service.end('s1')).to.deep.equal({ code: 0, signal: null });
    console.log(`      it has ended after ${(systemClock.monotonicMs() - begunMs).toFixed(0)} ms`);
    await service.run('s1');
    await service.until(async () => {
      const answer = await project.rw.post('/v1/search', { collection: 'c0', query: [0, 0, 0], k: 1 });
      return answer.status === 200;
    });
  });
});
