// Covers: coordinator/cluster/members/members.ts
/** Ownership in operation: the catalog, the leases of shards, and the placement of collections. */
import { expect } from 'chai';
import type { Collection } from '../../../../../coordinator/cluster/catalog/collection.js';
import { markDeleted } from '../../../../../coordinator/cluster/catalog/deletionMarks.js';
import type { ClusterBackend } from '../../../../../coordinator/cluster/clusterBackend.js';
import { Leadership } from '../../../../../coordinator/cluster/members/leadership.js';
import { Members } from '../../../../../coordinator/cluster/members/members.js';
import { BUCKETS } from '../../../../../shared/bucket/buckets.js';
import { MemoryBucket } from '../../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../../shared/clock.js';
import { silentLogger } from '../../../../../shared/logger.js';
import type { Results } from '../../../../../shared/protocol/calls.js';
import { ownershipOf, storedOwnership } from '../../../../../shared/registry/owners.js';
import { shardSubject } from '../../../../../shared/transport/subjects.js';
import { eventually, expectCode } from '../../../../support/expectations.js';
import { configOf, fixed, insertOf, soon } from '../../../../support/rigs/engine.js';
import { MemoryCluster, metric, TIMES } from '../../../../support/rigs/memoryCluster.js';
import { TestClock } from '../../../../support/rigs/testEdge.js';

const PROJECT = 'p';
const request = (name: string, dimension = 2) => ({ name, dimension, index: 'brute' as const });
const insert = (backend: ClusterBackend, collection: Collection, value: number): Promise<Results['insert']> =>
  backend.call(collection, insertOf(fixed(value, 0)), soon());
const countOf = async (backend: ClusterBackend, collection: Collection): Promise<number> =>
  (await backend.call(collection, { op: 'describe' }, soon())).records;

describe('placement', () => {
  let cluster: MemoryCluster;
  beforeEach(() => {
    cluster = new MemoryCluster();
  });
  afterEach(() => cluster.stop());

  const ownerOf = async (id: number): Promise<string | undefined> => {
    const entry = await cluster.bucket(BUCKETS.owners).get(String(id));
    return entry && ownershipOf(entry).shard;
  };
  /** Waits until the collection answers again, with all its records. */
  const expectServed = (backend: ClusterBackend, collection: Collection, records: number): Promise<void> =>
    eventually('the collection is served', async () => {
      const found = await countOf(backend, collection).catch(() => undefined);
      if (found !== undefined) expect(found).to.equal(records);
      return found !== undefined;
    });

  it('gives every collection a unique id, forever', async () => {
    await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    const ids: number[] = [];
    for (let i = 0; i < 5; i++) {
      const { collection } = await backend.create(PROJECT, request('c'), soon());
      ids.push(collection.id);
      await insert(backend, collection, 1);
      await backend.remove(PROJECT, 'c', soon());
      expect(cluster.logs.frames(collection.id), 'the log is erased').to.deep.equal([]);
    }
    expect(ids).to.deep.equal([1, 2, 3, 4, 5]);
    expect((await cluster.bucket(BUCKETS.quota).get(PROJECT))?.value).to.deep.equal({});
  });

  it('creates one collection for racing creates at two coordinators, with ids that differ between names', async () => {
    await Promise.all([cluster.shard('s1'), cluster.shard('s2')]);
    const one = await cluster.coordinator();
    const two = await cluster.coordinator();
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? one : two).backend.create(PROJECT, request(`c${i % 3}`), soon())),
    );
    expect(made.filter(({ created }) => created)).to.have.length(3);
    expect(new Set(made.map(({ collection }) => `${collection.name} ${collection.id}`)).size).to.equal(3);
    await expectCode(two.backend.create(PROJECT, request('c0', 3), soon()), 'conflict');
    for (const { collection } of made)
      expect((await two.backend.find(PROJECT, collection.name)).id).to.equal(collection.id);
  });

  it('spreads collections over the shards', async () => {
    await Promise.all([cluster.shard('s1'), cluster.shard('s2'), cluster.shard('s3')]);
    const { backend } = await cluster.coordinator();
    const owners = new Map<string | undefined, number>();
    for (let i = 0; i < 9; i++) {
      const { collection } = await backend.create(PROJECT, request(`c${i}`), soon());
      const owner = await ownerOf(collection.id);
      owners.set(owner, (owners.get(owner) ?? 0) + 1);
    }
    expect([...owners.values()]).to.deep.equal([3, 3, 3]);
  });

  it("moves a lost shard's collections to another, with every answered write", async () => {
    const lost = await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    const { collection } = await backend.create(PROJECT, request('c'), soon());
    for (let i = 0; i < 5; i++) await insert(backend, collection, i);
    await cluster.shard('s2');
    await lost.stop();
    await expectServed(backend, collection, 5);
    expect(await ownerOf(collection.id)).to.equal('s2');
    expect((await insert(backend, collection, 6)).id).to.equal(6);
  });

  it('lets a shard without its lease refuse reads and writes, and serve again once it is renewed', async () => {
    const { reach } = await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    const { collection } = await backend.create(PROJECT, request('c'), soon());
    await insert(backend, collection, 1);
    reach.cut = true;
    const brief = () => ({ requestId: 'test', deadlineMs: systemClock.nowMs() + TIMES.leaseMs });
    const count = () => backend.call(collection, { op: 'describe' }, brief());
    await eventually('the lease is over', () =>
      count().then(
        () => false,
        () => true,
      ),
    ); // prettier-ignore
    await expectCode(count(), 'unavailable');
    await expectCode(backend.call(collection, insertOf(fixed(2, 0)), brief()), 'unavailable');
    reach.cut = false;
    await expectServed(backend, collection, 1);
  });

  it('lets a shard serve an assigned collection as soon as it can', async () => {
    const { reach } = await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    reach.cut = true;
    await expectCode(backend.create(PROJECT, request('c'), soon()), 'unavailable');
    reach.cut = false;
    await expectServed(backend, await backend.find(PROJECT, 'c'), 0);
  });

  it('stops a returning shard from serving a moved collection, even before it learns of the move', async () => {
    const { reach } = await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    const { collection } = await backend.create(PROJECT, request('c'), soon());
    await insert(backend, collection, 1);
    await cluster.shard('s2');
    reach.cut = true;
    reach.hold(BUCKETS.owners);
    await eventually('the collection has moved', async () => (await ownerOf(collection.id)) === 's2');
    await eventually('s2 serves it', () =>
      insert(backend, collection, 2).then(
        () => true,
        () => false,
      ),
    ); // prettier-ignore
    reach.cut = false;
    const heartbeats = cluster.bucket(BUCKETS.shards, TIMES.leaseMs);
    await eventually('s1 is back', async () => (await heartbeats.get('s1')) !== undefined);
    const untilMs = systemClock.monotonicMs() + 5 * TIMES.heartbeatMs;
    // Two at once, so that each of the two shards that still serve the subject receives one.
    const other = (await cluster.coordinator()).backend;
    while (systemClock.monotonicMs() < untilMs) {
      const answers = await Promise.all([backend, other].map((one) => countOf(one, collection).catch(() => undefined)));
      for (const records of answers) expect(records).to.be.oneOf([2, undefined]);
    }
    reach.release(BUCKETS.owners);
    expect(await countOf(backend, collection)).to.equal(2);
  });

  it('gives a collection back to a former owner with the writes made in between', async () => {
    const { reach } = await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    const { collection } = await backend.create(PROJECT, request('c'), soon());
    await insert(backend, collection, 1);
    const second = await cluster.shard('s2');
    reach.cut = true;
    reach.hold(BUCKETS.owners);
    await eventually('s2 serves it', async () => {
      if ((await ownerOf(collection.id)) !== 's2') return false;
      return insert(backend, collection, 2).then(
        () => true,
        () => false,
      ); // prettier-ignore
    });
    await second.stop();
    // The entry is s1's again, by its third epoch.
    const owners = cluster.bucket(BUCKETS.owners);
    const entry = await owners.get(String(collection.id));
    const before = ownershipOf(entry!);
    await owners.put(String(collection.id), storedOwnership({ ...before, shard: 's1', epoch: before.epoch + 1 }));
    reach.cut = false;
    reach.release(BUCKETS.owners);
    await expectServed(backend, collection, 2);
  });

  it('lets a second process of the same name take over, and the first one stop answering', async () => {
    let takenOver = 0;
    await cluster.shard('s1', () => {
      takenOver++;
    });
    const { backend } = await cluster.coordinator();
    const { collection } = await backend.create(PROJECT, request('c'), soon());
    await insert(backend, collection, 1);
    await cluster.shard('s1');
    // Both still serve their subjects; from whichever a call reaches, no answer comes from the first.
    const other = (await cluster.coordinator()).backend;
    for (let i = 0; i < 10; i++) {
      const answers = await Promise.all([backend, other].map((one) => countOf(one, collection).catch(() => undefined)));
      for (const records of answers) expect(records).to.be.oneOf([1 + i, undefined]);
      await eventually('a write gets through', () =>
        insert(backend, collection, i).then(
          () => true,
          () => false,
        ),
      ); // prettier-ignore
    }
    expect(takenOver).to.equal(1);
    expect(await ownerOf(collection.id)).to.equal('s1');
  });

  it('finishes an interrupted deletion, and keeps undeleted collections even without their catalog entry', async () => {
    await cluster.shard('s1');
    const { backend, metrics } = await cluster.coordinator();
    const [collection, kept, lost] = await Promise.all(
      ['c', 'kept', 'lost'].map(async (name) => (await backend.create(PROJECT, request(name), soon())).collection),
    );
    for (const one of [collection!, kept!, lost!]) await insert(backend, one, 1);
    const entry = (await cluster.bucket(BUCKETS.catalog).get(`${PROJECT}.lost`))!;
    await cluster.bucket(BUCKETS.catalog).delete(`${PROJECT}.lost`);
    const counters = cluster.bucket(BUCKETS.counters);
    for (const one of [collection!, kept!]) await markDeleted(counters, one);
    await cluster.bucket(BUCKETS.catalog).delete(`${PROJECT}.c`);
    await eventually(
      'the deletion mark is removed',
      async () => (await counters.get(`deleted-${collection!.id}`)) === undefined,
    );
    expect(await ownerOf(collection!.id)).to.equal(undefined);
    expect(cluster.logs.frames(collection!.id)).to.deep.equal([]);
    expect((await cluster.bucket(BUCKETS.quota).get(PROJECT))?.value).to.have.all.keys(
      String(kept!.id),
      String(lost!.id),
    );
    expect(await countOf(backend, kept!)).to.equal(1);
    expect(cluster.logs.frames(lost!.id)).to.have.length(1);
    const unlisted = () => metric(metrics, 'vouch_collections_unlisted');
    await eventually('the health reports the lost one only', async () => (await unlisted()) === 1);
    await cluster.bucket(BUCKETS.catalog).create(`${PROJECT}.lost`, entry.value);
    expect(await countOf(backend, await backend.find(PROJECT, 'lost'))).to.equal(1);
    await eventually('the health reports nothing', async () => (await unlisted()) === 0);
  });

  it('answers a deletion once no shard serves the collection, even if another coordinator began it', async () => {
    const { reach } = await cluster.shard('s1');
    const [one, other] = [await cluster.coordinator(), await cluster.coordinator()];
    const { collection } = await one.backend.create(PROJECT, request('c'), soon());
    await insert(other.backend, collection, 1);
    reach.hold(BUCKETS.owners);
    other.reach.hold(BUCKETS.catalog);
    other.reach.hold(BUCKETS.owners);
    one.reach.unreachable.add(shardSubject('s1'));
    const remove = (): Promise<void> => one.backend.remove(PROJECT, 'c', soon(300));
    await expectCode(remove(), 'unavailable');
    expect(await countOf(other.backend, collection)).to.equal(1);
    await expectCode(remove(), 'unavailable');
    one.reach.unreachable.clear();
    await expectCode(remove(), 'collection_not_found');
    await expectCode(countOf(other.backend, collection), 'collection_not_found');
  });

  it('removes the mark of a finished deletion', async () => {
    await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    const { collection } = await backend.create(PROJECT, request('c'), soon());
    await insert(backend, collection, 1);
    await backend.remove(PROJECT, 'c', soon());
    expect(await cluster.bucket(BUCKETS.counters).get(`deleted-${collection.id}`)).to.equal(undefined);
    expect(cluster.logs.frames(collection.id)).to.deep.equal([]);
  });

  it('does not reuse ids, even if the counter or the catalog is lost', async () => {
    await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    const first = (await backend.create(PROJECT, request('c'), soon())).collection;
    await cluster.bucket(BUCKETS.ids).delete('collections');
    const second = (await backend.create(PROJECT, request('d'), soon())).collection;
    expect(second.id).to.equal(first.id + 1);
    for (const name of ['c', 'd']) await cluster.bucket(BUCKETS.catalog).delete(`${PROJECT}.${name}`);
    await cluster.bucket(BUCKETS.ids).delete('collections');
    const other = await cluster.coordinator();
    const third = (await other.backend.create('another', request('c'), soon())).collection;
    expect(third.id).to.equal(second.id + 1);
  });

  it('spares in its sweep a collection of the catalog that this coordinator has not yet learned of', async () => {
    await cluster.shard('s1');
    const leader = await cluster.coordinator();
    await eventually('the coordinator leads', async () => {
      const lease = await cluster.bucket(BUCKETS.leases).get('placement');
      return lease !== undefined;
    });
    leader.reach.hold(BUCKETS.catalog);
    const other = await cluster.coordinator();
    const { collection } = await other.backend.create(PROJECT, request('c'), soon());
    await insert(other.backend, collection, 1);
    const ghost = { shard: 's1', epoch: 1, collection: configOf(99, 'ghost'), followers: [] };
    await cluster.bucket(BUCKETS.owners).put('99', storedOwnership(ghost));
    for (const one of [ghost.collection, collection]) await markDeleted(cluster.bucket(BUCKETS.counters), one);
    await eventually('the real orphan is swept', async () => (await ownerOf(99)) === undefined);
    expect(await countOf(other.backend, collection)).to.equal(1);
    expect(cluster.logs.frames(collection.id)).to.have.length(1);
  });
});

describe('the parts of placement', () => {
  const bucket = (ttlMs?: number, clock = systemClock): MemoryBucket =>
    new MemoryBucket({ logger: silentLogger, clock, ...(ttlMs === undefined ? {} : { ttlMs }) });

  it('include one leader of several coordinators, until it releases or does not renew its lease', async () => {
    const clock = new TestClock();
    const leases = bucket(4_000, clock);
    const [one, two] = ['one', 'two'].map(
      (holder) => new Leadership(leases, { name: 'placement', holder, ttlMs: 4_000 }, clock),
    );
    expect([await one!.hold(), await two!.hold()]).to.deep.equal([true, false]);
    clock.advance(3_000);
    expect([await one!.hold(), await two!.hold()]).to.deep.equal([true, false]);
    clock.advance(4_000);
    expect(one!.leads).to.equal(false);
    expect([await two!.hold(), await one!.hold()]).to.deep.equal([true, false]);
    await one!.release();
    expect(two!.leads).to.equal(true);
    await two!.release();
    expect(await one!.hold()).to.equal(true);
    leases.close();
  });

  it('count a shard as lost one failover time after its last sign, except while the store is down', async () => {
    const clock = new TestClock();
    const [shards, owners] = [bucket(), bucket()];
    const members = new Members({ shards, owners }, undefined as never, clock, 4_000);
    let reportGone = (): void => undefined;
    const watch = shards.watch.bind(shards);
    shards.watch = (listener) => {
      reportGone = () => listener({ key: 's1', entry: undefined });
      return watch(listener);
    };
    await shards.put('s1', { session: 'x', collections: 0, records: 0 });
    await members.start();
    expect(members.isLost('s1', 8_000)).to.equal(false);
    expect(members.isLost('never seen', 8_000)).to.equal(false);
    clock.advance(4_000);
    await shards.delete('s1');
    clock.advance(3_999);
    expect(members.isLost('s1', 8_000)).to.equal(false);
    clock.advance(1);
    reportGone();
    expect([members.isLost('s1', 8_000), members.isLost('never seen', 8_000)]).to.deep.equal([true, true]);
    await shards.put('s1', { session: 'x', collections: 0, records: 0 });
    // The store is gone for a minute: no shard can renew, and expired entries are reported when it is back.
    clock.advance(60_000);
    await shards.delete('s1');
    expect(members.isLost('s1', 8_000)).to.equal(false);
    members.stop();
  });
});
