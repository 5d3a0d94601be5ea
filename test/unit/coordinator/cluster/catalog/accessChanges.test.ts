// Covers: coordinator/cluster/catalog/accessChanges.ts, coordinator/cluster/reports/collectionStats.ts
/** Changes of an access log that end between the log and the catalog. */
import { expect } from 'chai';
import type { ClusterBackend } from '../../../../../coordinator/cluster/clusterBackend.js';
import { BUCKETS } from '../../../../../shared/bucket/buckets.js';
import { unavailable } from '../../../../../shared/errors/errors.js';
import { eventually, expectCode } from '../../../../support/expectations.js';
import { fixed, insertOf, soon } from '../../../../support/rigs/engine.js';
import { MemoryCluster } from '../../../../support/rigs/memoryCluster.js';

describe('a change of an access log that fails after the log has it', () => {
  let cluster: MemoryCluster;
  let one: ClusterBackend;

  beforeEach(async () => {
    cluster = new MemoryCluster();
    await cluster.shard('s1');
    one = (await cluster.coordinator()).backend;
    await eventually('the coordinator knows the shard', async () => (await one.health()).shards === 1);
  });
  afterEach(() => cluster.stop());

  /** Lets writes of the catalog fail until the returned function is called, as for a coordinator that is killed. */
  function withoutCatalog(): () => void {
    const catalog = cluster.bucket(BUCKETS.catalog);
    const { update } = catalog;
    catalog.update = async () => {
      throw unavailable('the catalog is away');
    };
    return () => {
      catalog.update = update;
    };
  }

  for (const [before, change, after] of [
    [{ audit: 'on' }, { audit: 'off' }, { auditReads: undefined, days: undefined }],
    [{ audit: 'on', retentionDays: 7 }, { retentionDays: 0 }, { auditReads: true, days: undefined }],
    [{ audit: 'full' }, { retentionDays: 9 }, { auditReads: 'full', days: 9 }],
  ] as const)
    it(`is shown by the next list, which completes it: ${JSON.stringify(change)}`, async () => {
      const { collection } = await one.create('p', { name: 'c', dimension: 2, index: 'brute', ...before }, soon());
      const restore = withoutCatalog();
      await expectCode(one.changeAccess(collection, change, soon()), 'unavailable');
      const shown = async (): Promise<object> => {
        const [{ auditReads, accessRetentionDays: days } = collection] = await one.list('p', soon());
        return { auditReads, days };
      };
      expect(await shown()).to.deep.equal(after);
      restore();
      await eventually('the catalog has what the log has', async () => {
        expect(await shown()).to.deep.equal(after);
        const { auditReads, accessRetentionDays: days } = await one.find('p', 'c');
        return auditReads === after.auditReads && days === after.days;
      });
    });

  it('keeps the settings of a creation that fails before the log has them', async () => {
    const wanted = { name: 'c', dimension: 2, index: 'brute', audit: 'on', retentionDays: 7 } as const;
    const { call } = one;
    one.call = async () => {
      throw unavailable('the shard is away');
    };
    await expectCode(one.create('p', wanted, soon()), 'unavailable');
    one.call = call;
    const { backend: other } = await cluster.coordinator();
    const shown = async (): Promise<object> => {
      const [{ auditReads, accessRetentionDays: days } = {}] = await other.list('p', soon());
      return { auditReads, days };
    };
    const collection = await other.find('p', 'c');
    await other.call(collection, insertOf(fixed(1, 2)), soon());
    expect(await shown(), 'the settings in the log').to.deep.equal({ auditReads: undefined, days: undefined });
    for (let listed = 0; listed < 20; listed++) await shown();
    expect((await one.create('p', wanted, soon())).created).to.equal(false);
    expect(await shown()).to.deep.equal({ auditReads: true, days: 7 });
    await expectCode(one.create('p', { ...wanted, audit: 'full' }, soon()), 'conflict');
  });
});
