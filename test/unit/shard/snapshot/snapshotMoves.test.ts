// Covers: shard/snapshot/collectionSnapshots.ts, shard/snapshot/snapshotStore.ts
/** Snapshots of collections that move or are deleted: a shard keeps those of its own collections only. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Collection } from '../../../../coordinator/cluster/catalog/collection.js';
import type { ClusterBackend } from '../../../../coordinator/cluster/clusterBackend.js';
import { eventually } from '../../../support/expectations.js';
import { batchOf, fixed, insertOf, requestIdOf, soon } from '../../../support/rigs/engine.js';
import { MemoryCluster } from '../../../support/rigs/memoryCluster.js';

const PROJECT = 'p';
const DIMENSION = 4;

describe('the snapshots of a collection', () => {
  let cluster: MemoryCluster;
  let backend: ClusterBackend;
  let collection: Collection;

  beforeEach(async () => {
    cluster = new MemoryCluster({ snapshots: { everyBytes: 2_000, keep: 2 } });
  });
  afterEach(() => cluster.stop());

  const fill = async (): Promise<void> => {
    ({ backend } = await cluster.coordinator());
    ({ collection } = await backend.create(PROJECT, { name: 'c', dimension: DIMENSION, index: 'brute' }, soon()));
    await backend.call(collection, batchOf(rows(40)), soon());
  };
  const rows = (count: number): Uint8Array[] => Array.from({ length: count }, (_, i) => fixed(i, 1, 2, 3));
  /** Snapshots of a shard, by its name. */
  const saved = (shard: string): string[] => {
    const folder = join(cluster.config.dataDir, 'snapshots', Buffer.from(shard).toString('hex'));
    return readdirSync(folder, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.snapshot'));
  };
  const stateHash = async (): Promise<string> =>
    Buffer.from((await backend.call(collection, { op: 'proofState' }, soon())).stateHash).toString('hex');

  it('serve a restart of the shard, and a new owner makes its own', async () => {
    const first = await cluster.shard('s1');
    await fill();
    const requestId = requestIdOf(1);
    const written = await backend.call(collection, insertOf(fixed(9, 9, 9, 9), { requestId }), soon());
    await eventually('a snapshot exists', () => saved('s1').length > 0);
    const before = await stateHash();
    await first.stop();
    const again = await cluster.shard('s1');
    await eventually('the collection is served', async () => (await stateHash().catch(() => '')) === before);
    expect(await backend.call(collection, insertOf(fixed(9, 9, 9, 9), { requestId }), soon())).to.deep.equal({
      ...written,
      deduplicated: true,
    });
    await cluster.shard('s2');
    await again.stop();
    await eventually('the collection has moved', async () => (await stateHash().catch(() => '')) === before);
    await backend.call(collection, batchOf(rows(40)), soon());
    await eventually('the new owner has a snapshot', () => saved('s2').length > 0);
    // A shard deletes snapshots of collections that it no longer owns at its next start.
    await cluster.shard('s1');
    await eventually('the former owner has no snapshot', () => saved('s1').length === 0);
  });

  it('are deleted with the collection, also while one is being made', async () => {
    await cluster.shard('s1');
    await fill();
    await backend.remove(PROJECT, 'c', soon());
    await eventually('the files of the collection are deleted', () => saved('s1').length === 0);
  });

  it('are counted in the usage', async () => {
    await cluster.shard('s1');
    await fill();
    await eventually('a snapshot is counted', async () => {
      const [counted] = await backend.list(PROJECT, soon());
      return (counted?.snapshotBytes ?? 0) > 0;
    });
    expect(saved('s1')).to.have.length.within(1, 2);
  });
});
