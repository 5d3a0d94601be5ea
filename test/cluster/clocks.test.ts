/** Machines of one cluster whose clocks differ by a minute serve, move and release collections like any others. */
import { expect } from 'chai';
import { Service } from '../support/launch/service.js';

const COLLECTIONS = 6;
const HALF_MINUTE_MS = 30_000;

/** Environment of a process whose clock is that far ahead. */
const ahead = (ms: number): { NODE_OPTIONS: string } => {
  const program = `const now = Date.now; Date.now = () => now() + ${ms};`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(program)}` };
};

describe('clocks that differ', () => {
  let service: Service;

  before(async () => {
    const failover = { VOUCH_HEARTBEAT_MS: '500', VOUCH_LEASE_MS: '4000', VOUCH_FAILOVER_MS: '5000' };
    service = await Service.start('cluster', failover, { shards: 0 });
    await service.run('early', ahead(HALF_MINUTE_MS));
    await service.run('late', ahead(-HALF_MINUTE_MS));
    await service.untilShards(2);
  });
  after(() => service?.stop());

  it('prevent no answer, on any shard, even if another shard dies', async () => {
    const { rw } = await service.newProject();
    const names = Array.from({ length: COLLECTIONS }, (_, i) => `c${i}`);
    const ids: number[] = [];
    for (const name of names) {
      const { status, text, body } = await rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
      expect(status, text).to.equal(200);
      ids.push(body.id);
    }
    const writeAndFind = async (value: number): Promise<void> => {
      for (const collection of names) {
        const written = await rw.post('/v1/records', { collection, values: [value] });
        expect(written.status, written.text).to.equal(200);
        const found = await rw.post('/v1/search', { collection, query: [value], k: 1 });
        expect(found.body.results, found.text).to.deep.equal([{ id: written.body.id, score: 0 }]);
      }
    };
    await writeAndFind(1);
    const owners = await Promise.all(ids.map((id) => service.ownerOf(id)));
    expect(new Set(owners)).to.deep.equal(new Set(['early', 'late']));

    await service.kill('early');
    await service.until(async () => {
      const now = await Promise.all(ids.map((id) => service.ownerOf(id)));
      return now.every((owner) => owner === 'late');
    });
    await writeAndFind(2);
    const { body } = await rw.get('/v1/timeline?collection=c0');
    const times = body.events.map(({ timestamp_iso }: { timestamp_iso: string }) => Date.parse(timestamp_iso));
    expect(times, 'time never goes back').to.deep.equal([...times].sort((a, b) => a - b));
  });
});
