/** A shard that dies while clients write and search, with and without a follower. */
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import { busy, createAll, expectAllThere, loadOn } from '../launch/clusterLoad.js';
import { Service } from '../launch/service.js';

/** The defaults, for tests of failover times. */
const PROMPT = { VOUCH_HEARTBEAT_MS: '500', VOUCH_LEASE_MS: '2000', VOUCH_FAILOVER_MS: '3000' };

/** Registers the suite, with this number of followers of each collection. */
export function describeDeadShard(followers: 0 | 1): void {
  describe(`a shard that dies under load, with ${followers === 0 ? 'no follower' : 'a follower'}`, () => {
    let service: Service;
    after(() => service?.stop());

    it('leaves its collections to other shards, with every answered write', async () => {
      const settings = { ...PROMPT, VOUCH_FOLLOWERS: String(followers) };
      service = await Service.start('cluster', settings, { shards: 3, coordinators: 2 });
      const project = await service.newProject();
      await createAll(project);
      const load = loadOn(service, project, ['coordinator', 'coordinator2']);
      await busy(service, load);
      await service.until(async () => {
        const ownerships = [...(await service.ownerships()).values()];
        return ownerships.every((one) => one.followers.length === followers);
      });
      await busy(service, load);
      const before = await service.ownerships();
      const lost = [...before].filter(([, { shard }]) => shard === 's2');
      expect(lost).not.to.have.length(0);
      // The leading coordinator may be the first one, which dies with the shard.
      await Promise.all([service.kill('s2'), service.kill('coordinator')]);
      const killedMs = systemClock.monotonicMs();
      const there = service.client(project.rw.key, 'coordinator2');
      await Promise.all(
        lost.map(([, { collection }]) =>
          service.until(async () => {
            const answer = await there.post('/v1/search', { collection: collection.name, query: [0, 0, 0], k: 1 });
            return answer.status === 200;
          }),
        ),
      );
      const servedMs = systemClock.monotonicMs() - killedMs;
      console.log(`      all ${lost.length} collections of the dead shard are served after ${servedMs.toFixed(0)} ms`);
      const after = await service.ownerships();
      for (const [id, { epoch, followers: heirs }] of lost) {
        const { shard, epoch: now } = after.get(id)!;
        expect(shard).not.to.equal('s2');
        // If the heir had more than the others, the collection may have moved on.
        if (followers === 1 && now === epoch + 1) expect(heirs).to.include(shard);
      }
      await service.run('coordinator');
      await busy(service, load);
      await load.stop();
      expect(load.wrong).to.deep.equal([]);
      for (const { status, text } of load.failed) expect(status, text).to.be.oneOf([0, 503]);
      await expectAllThere(project, load);
    });
  });
}
