// Covers: coordinator/cluster/members/presence.ts, coordinator/cluster/reports/clusterView.ts
// Covers: coordinator/handlers/cluster.ts, shared/version.ts
/** `GET /v1/cluster`: administrators see the cluster, and no collection of another project. */
import { expect } from 'chai';
import { inBothModes } from '../support/launch/modes.js';

inBothModes('the view of the cluster', (service) => {
  // The rate limits are off, so that no coordinator counts requests.
  it('shows shards, coordinators, leases and NATS servers', async () => {
    const { admin } = await service.newProject();
    const { status, body, text } = await admin.get('/v1/cluster');
    expect(status, text).to.equal(200);
    expect(body.mode).to.equal(service.mode);
    const health = await admin.get('/health');
    expect(body.shards).to.have.length(health.body.shard_count);
    for (const shard of body.shards) {
      expect(shard).to.include({ state: 'serving', version: health.body.version });
      expect(shard.host).to.be.a('string').and.not.equal('');
      expect(shard.memory_bytes).to.be.greaterThan(0).and.below(shard.memory_limit_bytes);
    }
    await service.until(async () => {
      const { leases } = (await admin.get('/v1/cluster')).body;
      return leases.map(({ name }: { name: string }) => name).join() === 'placement';
    });
    for (const coordinator of body.coordinators) expect(coordinator.url).to.match(/^http:\/\//);
    expect(body.coordinators.map(({ version }: { version: string }) => version)).to.include(health.body.version);
    if (service.mode === 'standalone') expect(body.nats).to.deep.equal([]);
    else {
      expect(body.nats.filter(({ connected }: { connected: boolean }) => connected)).to.have.length(1);
      for (const { url, version } of body.nats) {
        expect(url).to.match(/^[^@/]+:\d+$/);
        expect(version).to.match(/^\d+\.\d+/);
      }
    }
  });

  it("shows the places of the project's collections, and of no other project's", async () => {
    const [mine, other] = [await service.newProject(), await service.newProject()];
    for (const [{ rw }, name] of [
      [mine, 'seen'],
      [other, 'hidden'],
    ] as const) {
      await rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
      await rw.post('/v1/vectors/batch-insert', { collection: name, batch: [[1], [2]] });
    }
    const { body, text } = await mine.admin.get('/v1/cluster');
    const [seen] = body.collections;
    expect(body.collections).to.have.length(1);
    expect(seen).to.include({ name: 'seen', epoch: 1, sequence: 2, records: 2 });
    expect(seen.followers).to.deep.equal([]);
    expect(body.shards.map(({ name }: { name: string }) => name)).to.include(seen.owner);
    expect(text).to.not.include('hidden');
  });

  it('needs a key of scope admin', async () => {
    const { rw, ro } = await service.newProject();
    for (const client of [rw, ro]) {
      const answer = await client.get('/v1/cluster');
      expect([answer.status, answer.body.code]).to.deep.equal([403, 'forbidden']);
    }
  });
});
