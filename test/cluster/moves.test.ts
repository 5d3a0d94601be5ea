// Covers: coordinator/cluster/placement/placementView.ts
/** Shards that join, leave and die while clients write and search: the effects for clients. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { busy, type ClusterLoad, createAll, expectAllThere, loadOn, PAUSE_MS } from '../support/launch/clusterLoad.js';
import { type Project, Service } from '../support/launch/service.js';
import { describeDeadShard } from '../support/suites/deadShard.js';

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

describeDeadShard(1);

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
