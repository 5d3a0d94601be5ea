// Covers: coordinator/cluster/clusterBackend.ts
/** Requests of several steps, between which another coordinator deletes the collection. */
import { expect } from 'chai';
import type { ClusterBackend } from '../../../../../coordinator/cluster/clusterBackend.js';
import { BUCKETS } from '../../../../../shared/bucket/buckets.js';
import { VouchError } from '../../../../../shared/errors/errors.js';
import { collectionSubject } from '../../../../../shared/transport/subjects.js';
import { eventually, expectCode } from '../../../../support/expectations.js';
import { soon } from '../../../../support/rigs/engine.js';
import { MemoryCluster } from '../../../../support/rigs/memoryCluster.js';

const NAME = 'c';
const PLAIN = { name: NAME, dimension: 2, index: 'brute' } as const;
const AUDITED = { ...PLAIN, audit: 'on' } as const;

describe('a collection that is deleted during a request', () => {
  let cluster: MemoryCluster;
  let one: ClusterBackend;
  let other: ClusterBackend;

  beforeEach(async () => {
    cluster = new MemoryCluster();
    await cluster.shard('s1');
    one = (await cluster.coordinator()).backend;
    other = (await cluster.coordinator()).backend;
    await eventually('both coordinators know the shard', async () =>
      (await Promise.all([one, other].map((backend) => backend.health()))).every(({ shards }) => shards === 1),
    );
  });
  afterEach(() => cluster.stop());

  /** Does the work once, just before the first call of the collection reaches its shard. */
  const beforeCall = (collectionId: number, work: () => Promise<unknown>): void => {
    const { transport } = cluster;
    const request = transport.request.bind(transport);
    const subject = collectionSubject(collectionId, 1, 'write');
    transport.request = async (asked, ...rest) => {
      if (asked === subject) {
        transport.request = request;
        await work();
      }
      return request(asked, ...rest);
    };
  };
  /** Deletes the next collection at the other coordinator, as soon as it is in the catalog. */
  const deleteNext = (andThen?: () => Promise<unknown>): void => {
    const catalog = cluster.bucket(BUCKETS.catalog);
    const create = catalog.create.bind(catalog);
    catalog.create = async (...entry) => {
      catalog.create = create;
      const revision = await create(...entry);
      await other.remove('p', NAME, soon());
      await andThen?.();
      return revision;
    };
  };
  const recreate = () => other.create('p', PLAIN, soon());

  it('is created by a repeated request, after the creation has failed as unavailable', async () => {
    deleteNext();
    const error = await expectCode(one.create('p', AUDITED, soon()), 'unavailable');
    expect(error.message).to.equal('collection "c" was deleted before this request had set it up; retry');
    expect((await one.create('p', AUDITED, soon())).created).to.equal(true);
    beforeCall((await one.find('p', NAME)).id, () => other.remove('p', NAME, soon()));
    await expectCode(one.create('p', AUDITED, soon()), 'unavailable');
  });

  it('passes none of its settings on to another one of its name', async () => {
    deleteNext(recreate);
    await expectCode(one.create('p', AUDITED, soon()), 'unavailable');
    const { auditReads, id } = await one.find('p', NAME);
    expect(auditReads).to.equal(undefined);
    const before = await one.find('p', NAME);
    beforeCall(id, async () => {
      await other.remove('p', NAME, soon());
      await recreate();
    });
    await expectCode(one.changeAccess(before, { audit: 'full' }, soon()), 'unavailable');
    await expectCode(one.changeAccess(before, { audit: 'full' }, soon()), 'collection_not_found');
    expect((await one.listed('p', NAME, soon())).auditReads).to.equal(undefined);
  });

  it('is not found by its id, also if another one has its name', async () => {
    const { collection } = await other.create('p', PLAIN, soon());
    await one.find('p', NAME);
    // The first coordinator has not received that another collection has the name.
    const { id } = collection;
    await other.remove('p', NAME, soon());
    await recreate();
    expect(await one.findById(id)).to.equal(undefined);
  });

  it('lets a deletion check its permission again for another one of its name', async () => {
    await one.create('p', PLAIN, soon());
    const catalog = cluster.bucket(BUCKETS.catalog);
    const remove = catalog.delete.bind(catalog);
    catalog.delete = async (key, revision) => {
      catalog.delete = remove;
      await other.remove('p', NAME, soon());
      await other.create('p', AUDITED, soon());
      return catalog.delete(key, revision);
    };
    const checked: string[] = [];
    const assertMay = ({ auditReads }: { readonly auditReads?: true | 'full' }): void => {
      checked.push(auditReads === undefined ? 'plain' : 'audited');
      if (auditReads !== undefined) throw new VouchError('forbidden', 'audited');
    };
    await expectCode(one.remove('p', NAME, soon(), assertMay), 'forbidden');
    expect(checked).to.deep.equal(['plain', 'audited']);
    expect((await one.find('p', NAME)).auditReads).to.equal(true);
  });
});
