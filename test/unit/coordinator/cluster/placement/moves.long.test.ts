// Covers: coordinator/cluster/placement/context.ts, coordinator/cluster/placement/moveMetrics.ts
/** Placement in operation: real owner entries and coordinators over fake shards. */
import { expect } from 'chai';
import type { ConfigOverrides } from '../../../../../config/load.js';
import type { ClusterBackend } from '../../../../../coordinator/cluster/clusterBackend.js';
import { BUCKETS } from '../../../../../shared/bucket/buckets.js';
import { VouchError } from '../../../../../shared/errors/errors.js';
import { type Ownership, ownershipOf } from '../../../../../shared/registry/owners.js';
import { eventually } from '../../../../support/expectations.js';
import { soon } from '../../../../support/rigs/engine.js';
import { FakeShard } from '../../../../support/rigs/fakeShard.js';
import { MemoryCluster, metric } from '../../../../support/rigs/memoryCluster.js';

const PROJECT = 'p';

describe('placement in operation', () => {
  let cluster: MemoryCluster;
  const shards = new Map<string, FakeShard>();

  const begin = (overrides: ConfigOverrides = {}): void => {
    cluster = new MemoryCluster(overrides);
  };
  const join = async (name: string, session?: string): Promise<FakeShard> => {
    const shard = await FakeShard.join(cluster, name, session);
    shards.set(name, shard);
    return shard;
  };
  const create = async (backend: ClusterBackend, count: number): Promise<number[]> => {
    const ids: number[] = [];
    for (let i = 0; i < count; i++)
      ids.push((await backend.create(PROJECT, { name: `c${i}`, dimension: 2, index: 'brute' }, soon())).collection.id);
    return ids;
  };
  const entryOf = async (id: number): Promise<Ownership> =>
    ownershipOf((await cluster.bucket(BUCKETS.owners).get(String(id)))!);
  const entries = (ids: readonly number[]): Promise<Ownership[]> => Promise.all(ids.map(entryOf));
  const counts = async (ids: readonly number[]): Promise<Record<string, number>> => {
    const counted: Record<string, number> = {};
    for (const { shard } of await entries(ids)) counted[shard] = (counted[shard] ?? 0) + 1;
    return counted;
  };
  const spread = (ids: readonly number[], expected: Record<string, number>): Promise<void> =>
    eventually(`spread as ${JSON.stringify(expected)}`, async () => {
      const now = await counts(ids);
      return JSON.stringify(Object.entries(now).sort()) === JSON.stringify(Object.entries(expected).sort());
    });
  /** Waits until no collection has unnecessary followers. */
  const trimmed = (ids: readonly number[]): Promise<void> =>
    eventually('no follower is left over', async () =>
      (await entries(ids)).every(({ followers }) => followers.length === 0),
    );

  afterEach(async () => {
    await Promise.all([...shards.values()].map((shard) => shard.die()));
    shards.clear();
    await cluster.stop();
  });

  it('gives a new shard its share: open collections are warmed first, others move at once', async () => {
    begin();
    const s1 = await join('s1');
    const { backend, metrics } = await cluster.coordinator();
    const ids = await create(backend, 6);
    for (const id of ids.slice(0, 3)) s1.open.add(id);
    const s2 = await join('s2');
    for (const id of ids) s2.cold.set(id, 2);
    await spread(ids, { s1: 3, s2: 3 });
    await trimmed(ids);
    for (const id of ids) {
      const { shard, epoch } = await entryOf(id);
      expect(epoch).to.equal(shard === 's2' ? 2 : 1);
      const warmed = shard === 's2' && s1.open.has(id) ? 3 : 0;
      const expected = [...Array(warmed).fill(`warm ${id}`), ...(shard === 's2' ? [`adopt ${id}`] : [])];
      const asked = (): string[] => s2.asked.filter((one) => one.endsWith(` ${id}`));
      // The call announces what the entry already says.
      await eventually('the shard was asked', () => asked().length >= expected.length);
      expect(asked()).to.deep.equal(expected);
    }
    const moved = (kind: string) => metric(metrics, 'vouch_placement_moves_total', { kind, stage: 'finished' });
    await eventually(
      'warm and cold moves are counted',
      async () => (await moved('warm')) + (await moved('cold')) === 3,
    );
    expect(await metric(metrics, 'vouch_placement_leader')).to.equal(1);
  });

  it('takes everything from a draining shard and gives it nothing, even if one shard then has all', async () => {
    begin();
    const [s1] = [await join('s1'), await join('s2')];
    const { backend } = await cluster.coordinator();
    const ids = await create(backend, 5);
    s1.leaving = true;
    await spread(ids, { s2: 5 });
    const [more] = [await backend.create(PROJECT, { name: 'more', dimension: 2, index: 'brute' }, soon())];
    expect((await entryOf(more.collection.id)).shard).to.equal('s2');
    shards.get('s2')!.leaving = true;
    await eventually('no collection stays', async () => {
      const made = backend.create(PROJECT, { name: 'never', dimension: 2, index: 'brute' }, soon());
      return made.then(
        () => false,
        (error) => error instanceof VouchError && error.code === 'unavailable',
      );
    });
    expect(await counts(ids)).to.deep.equal({ s2: 5 });
  });

  it('leaves a collection in place after a failed transfer, counts the failure, and retries later', async () => {
    begin();
    const s1 = await join('s1');
    const { backend, metrics } = await cluster.coordinator();
    const ids = await create(backend, 2);
    for (const id of ids) s1.open.add(id);
    let stuck: number | undefined;
    let isStuck = true;
    s1.handOver = async (call) => {
      stuck ??= call.collectionId;
      if (stuck === call.collectionId && isStuck) throw new VouchError('conflict', 'not now');
      return s1.handOverNow(call);
    };
    await join('s2');
    // The other collection moves instead.
    await spread(ids, { s1: 1, s2: 1 });
    expect(await entryOf(stuck!)).to.include({ shard: 's1', epoch: 1 });
    await trimmed(ids);
    isStuck = false;
    s1.leaving = true;
    await spread(ids, { s2: 2 });
    const failed = await metric(metrics, 'vouch_placement_moves_total', { kind: 'warm', stage: 'failed' });
    expect(failed).to.be.at.least(1);
  });

  it('follows the owner entry after a transfer of unknown outcome', async () => {
    begin();
    const s1 = await join('s1');
    const { backend, metrics } = await cluster.coordinator();
    const ids = await create(backend, 2);
    s1.handOver = async (call) => {
      await s1.handOverNow(call);
      throw new VouchError('unavailable', 'the answer was lost');
    };
    const s2 = await join('s2');
    await spread(ids, { s1: 1, s2: 1 });
    await eventually('the shard is asked', async () => s2.asked.some((one) => one.startsWith('adopt')));
    const finished = () => metric(metrics, 'vouch_placement_moves_total', { kind: 'cold', stage: 'finished' });
    await eventually('the move is counted as finished', async () => (await finished()) === 1);
  });

  it('gives a collection to a live shard if its new owner dies during the transfer', async () => {
    begin();
    const s1 = await join('s1');
    const { backend } = await cluster.coordinator();
    const ids = await create(backend, 2);
    s1.handOver = async (call) => {
      await shards.get('s2')!.die();
      await s1.handOverNow(call);
    };
    await join('s2');
    await eventually('s2 owns the collection', async () => (await counts(ids)).s2 === 1);
    await spread(ids, { s1: 2 });
  });

  it("gives a lost shard's collections to their followers, and restores the wanted number of followers", async () => {
    begin({ followers: { count: 1 } });
    const [s1, s2] = [await join('s1'), await join('s2')];
    const { backend, metrics } = await cluster.coordinator();
    const ids = await create(backend, 6);
    await join('s3');
    await spread(ids, { s1: 2, s2: 2, s3: 2 });
    const isFollowed = async (live: readonly string[]): Promise<boolean> =>
      (await entries(ids)).every(
        ({ shard, followers }) =>
          followers.length === 1 && !followers.includes(shard) && followers.every((one) => live.includes(one)),
      );
    await eventually('every collection has a follower', () => isFollowed(['s1', 's2', 's3']));
    expect(await metric(metrics, 'vouch_followers_wanted')).to.equal(6);
    expect(await metric(metrics, 'vouch_followers_present')).to.equal(6);
    const before = await entries(ids);
    await s1.die();
    await eventually('s1 owns no collection', async () => !('s1' in (await counts(ids))));
    const after = await entries(ids);
    for (const [i, { shard, followers }] of before.entries())
      if (shard === 's1') expect(followers).to.include(after[i]!.shard);
    await eventually('the followers on s1 are replaced', () => isFollowed(['s2', 's3']));
    await s2.die();
    await eventually('the last shard has no follower', async () =>
      (await entries(ids)).every(({ shard, followers }) => shard === 's3' && followers.length === 0),
    );
  });

  it('replaces a follower that reports a wrong copy, and does not promote it', async () => {
    begin({ followers: { count: 1 } });
    const s1 = await join('s1');
    const { backend } = await cluster.coordinator();
    const [id] = (await create(backend, 1)) as [number];
    const s2 = await join('s2');
    await eventually('s2 follows', async () => (await entryOf(id)).followers.join() === 's2');
    s2.damages = [{ collectionId: id, part: 'follower', reason: 'another state hash' }];
    await eventually('the damaged follower is removed', async () => (await entryOf(id)).followers.length === 0);
    s2.damages = [];
    await join('s3');
    await eventually('s3 follows', async () => (await entryOf(id)).followers.join() === 's3');
    await s1.die();
    await eventually('s3 owns it', async () => (await entryOf(id)).shard === 's3');
  });

  it('leaves a shard its collections if its process restarts soon', async () => {
    begin();
    const [s1] = [await join('s1'), await join('s2')];
    const { backend } = await cluster.coordinator();
    const ids = await create(backend, 4);
    const before = await entries(ids);
    await s1.die();
    await join('s1', 's1 two');
    await eventually('rounds have passed', async () => {
      const lease = await cluster.bucket(BUCKETS.leases).get('placement');
      return (lease?.revision ?? 0) > 8;
    });
    expect(await entries(ids)).to.deep.equal(before);
  });

  it('stays consistent with two coordinators that both believe they lead', async () => {
    begin({ followers: { count: 1 } });
    await join('s1');
    const first = await cluster.coordinator();
    const ids = await create(first.backend, 12);
    for (const id of ids) shards.get('s1')!.open.add(id);
    // Each has a lease of its own, so neither can see that the other leads.
    const leases = cluster.bucket(BUCKETS.leases);
    const watch = await leases.watch(({ key, entry }) => {
      if (key === 'placement' && entry !== undefined) void leases.delete(key);
    });
    const second = await cluster.coordinator();
    await eventually('both coordinators lead', async () => {
      const leaders = await Promise.all(
        [first, second].map(({ metrics }) => metric(metrics, 'vouch_placement_leader')),
      );
      return leaders.every((leads) => leads === 1);
    });
    await join('s2');
    await join('s3');
    await spread(ids, { s1: 4, s2: 4, s3: 4 });
    await shards.get('s3')!.die();
    await spread(ids, { s1: 6, s2: 6 });
    watch.stop();
    await eventually('the other shard follows every collection', async () =>
      (await entries(ids)).every(({ shard, followers }) => followers.join() === (shard === 's1' ? 's2' : 's1')),
    );
  });

  it('continues with another coordinator when its leader is gone, including started moves', async () => {
    begin();
    const s1 = await join('s1');
    const first = await cluster.coordinator();
    const second = await cluster.coordinator();
    const ids = await create(first.backend, 2);
    for (const id of ids) s1.open.add(id);
    await eventually(
      'one coordinator leads',
      async () => (await cluster.bucket(BUCKETS.leases).get('placement')) !== undefined,
    );
    const leads = async ({ metrics }: typeof first) => (await metric(metrics, 'vouch_placement_leader')) === 1;
    const leader = (await leads(first)) ? first : second;
    const other = leader === first ? second : first;
    const s2 = await FakeShard.join(cluster, 's2');
    shards.set('s2', s2);
    for (const id of ids) s2.cold.set(id, 1_000);
    await eventually('the collections are being warmed', async () => s2.asked.length > 2);
    // Cut off: it can renew nothing and reach no other process.
    leader.reach.cut = true;
    for (const id of ids) s2.cold.set(id, 0);
    await eventually('the other coordinator leads', () => leads(other));
    await spread(ids, { s1: 1, s2: 1 });
    await trimmed(ids);
  });

  it('reports unserved collections in health and metrics', async () => {
    begin();
    const s1 = await join('s1');
    const { backend, metrics } = await cluster.coordinator();
    const ids = await create(backend, 3);
    expect(await backend.health()).to.include({ shards: 1, problem: undefined, impairment: undefined });
    await join('s2');
    await spread(ids, { s1: 2, s2: 1 });
    await s1.die();
    await eventually('the shard is asked', async () => {
      const { impairment } = await backend.health();
      return impairment === '2 of 3 collections have no live owner';
    });
    expect(await metric(metrics, 'vouch_owners_without_live_shard')).to.equal(2);
    await spread(ids, { s2: 3 });
    expect(await backend.health()).to.include({ shards: 1, problem: undefined, impairment: undefined });
  });
});
