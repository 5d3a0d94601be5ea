// Covers: shard/node/takeoverCandidates.ts
/** A draining shard: its collections move to other shards before it ends, without a failed call. */

import { expect } from 'chai';
import type { Collection } from '../../../../coordinator/cluster/catalog/collection.js';
import type { ClusterBackend } from '../../../../coordinator/cluster/clusterBackend.js';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import type { ShardResults } from '../../../../shared/protocol/calls.js';
import { ask } from '../../../../shared/protocol/wire.js';
import { heartbeatOf, ownershipOf } from '../../../../shared/registry/owners.js';
import { shardSubject } from '../../../../shared/transport/subjects.js';
import { eventually } from '../../../support/expectations.js';
import { fixed, insertOf, soon } from '../../../support/rigs/engine.js';
import { MemoryCluster } from '../../../support/rigs/memoryCluster.js';

const PROJECT = 'p';
const PATIENT = { heartbeatMs: 100, leaseMs: 20_000, failoverMs: 30_000, drainTimeoutMs: 20_000 };

describe('a draining shard', () => {
  let cluster: MemoryCluster;
  let backend: ClusterBackend;
  const collections: Collection[] = [];
  beforeEach(() => {
    cluster = new MemoryCluster({ placement: PATIENT });
    collections.length = 0;
  });
  afterEach(() => cluster.stop());

  const fill = async (count: number): Promise<void> => {
    ({ backend } = await cluster.coordinator());
    for (let i = 0; i < count; i++) {
      const { collection } = await backend.create(PROJECT, { name: `c${i}`, dimension: 2, index: 'brute' }, soon());
      // Every second collection stays empty, so that it is not opened.
      if (i % 2 === 0) await backend.call(collection, insertOf(fixed(i, 0)), soon());
      collections.push(collection);
    }
  };
  const ownersNow = async (): Promise<string[]> => {
    const entries = collections.map(({ id }) => cluster.bucket(BUCKETS.owners).get(String(id)));
    return (await Promise.all(entries)).map((entry) => (entry === undefined ? '' : ownershipOf(entry).shard));
  };
  const following = async (shard: string): Promise<readonly number[]> => {
    const opened = await ask<ShardResults['openIds']>(
      cluster.transport,
      shardSubject(shard),
      { op: 'openIds' },
      soon(),
    );
    return opened.following;
  };
  const isLeaving = async (name: string): Promise<boolean> => {
    const entry = await cluster.bucket(BUCKETS.shards).get(name);
    return entry !== undefined && heartbeatOf(entry).leaving;
  };

  it('moves all its collections during use, without a failed call or a lost write', async () => {
    const leaving = await cluster.shard('s1');
    await cluster.shard('s2');
    await cluster.shard('s3');
    await fill(12);
    let isOver = false;
    let inserts = 0;
    const load = collections.map(async (collection, i) => {
      let mine = i % 2 === 0 ? 1 : 0;
      while (!isOver) {
        await backend.call(collection, insertOf(fixed(1, 1)), soon());
        mine++;
        inserts++;
        expect((await backend.call(collection, { op: 'describe' }, soon())).records).to.equal(mine);
      }
    });
    await eventually('the collections are in use', () => inserts > 20);
    try {
      await leaving.leave();
    } finally {
      isOver = true;
    }
    await Promise.all(load);
    expect(await ownersNow()).not.to.include('s1');
    await leaving.stop();
  });

  it('announces the drain at once, and receives no more collections', async () => {
    const leaving = await cluster.shard('s1');
    await cluster.shard('s2');
    await fill(2);
    const left = leaving.leave();
    await eventually('the heartbeat of s1 reports that it leaves', () => isLeaving('s1'));
    await left;
    const { collection } = await backend.create(PROJECT, { name: 'new', dimension: 2, index: 'brute' }, soon());
    collections.push(collection);
    expect(new Set(await ownersNow())).to.deep.equal(new Set(['s2']));
  });

  it('keeps its collections if all other shards drain too', async () => {
    const one = await cluster.shard('s1');
    const two = await cluster.shard('s2');
    await fill(4);
    const before = await ownersNow();
    await Promise.all([one.leave(), two.leave()]);
    expect(await ownersNow()).to.deep.equal(before);
  });

  it('transfers collections that followers have in memory by itself, without a coordinator', async () => {
    await cluster.stop();
    cluster = new MemoryCluster({ placement: PATIENT, followers: { count: 1 } });
    const leaving = await cluster.shard('s1');
    await cluster.shard('s2');
    await fill(4);
    const before = await ownersNow();
    const mine = collections.filter((_, i) => before[i] === 's1').map(({ id }) => id);
    for (const id of mine) await backend.call({ ...collections[0]!, id }, { op: 'describe' }, soon());
    await eventually('every open collection has a follower', async () => {
      const followed = await following('s2');
      return mine.every((id) => followed.includes(id));
    });
    await backend.stop();
    await leaving.leave();
    expect(await ownersNow()).to.deep.equal(['s2', 's2', 's2', 's2']);
    await leaving.stop();
  });

  it('waits until a hold of writes has ended', async () => {
    const leaving = await cluster.shard('s1');
    await fill(1);
    const [collection] = collections as [Collection];
    await backend.call(collection, { op: 'hold', token: 't', holdMs: 60_000 }, soon());
    await cluster.shard('s2');
    let hasLeft = false;
    const left = leaving.leave().then(() => {
      hasLeft = true;
    });
    await eventually('the heartbeat of s1 reports that it leaves', () => isLeaving('s1'));
    const { backend: other } = await cluster.coordinator();
    const { collection: next } = await other.create(PROJECT, { name: 'next', dimension: 2, index: 'brute' }, soon());
    expect([hasLeft, await ownersNow()]).to.deep.equal([false, ['s1']]);
    await backend.call(collection, { op: 'release', token: 't' }, soon());
    await left;
    collections.push(next);
    expect(await ownersNow()).to.deep.equal(['s2', 's2']);
  });

  it('ends after its time limit if its collections are not moved', async () => {
    const leaving = await cluster.shard('s1');
    await cluster.shard('s2');
    await fill(2);
    await backend.stop();
    // A second call has no further effect.
    await Promise.all([leaving.leave(), leaving.leave()]);
    expect((await ownersNow()).length).to.equal(2);
    await leaving.stop();
  });
});
