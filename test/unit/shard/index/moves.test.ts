// Covers: shard/index/collectionIndex.ts, shard/index/generationMaker.ts, shard/index/desiredSpecs.ts
/** The index of a collection that is moved or deleted, and of one whose shard stops, before and during a build. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Collection } from '../../../../coordinator/cluster/catalog/collection.js';
import type { ClusterBackend } from '../../../../coordinator/cluster/clusterBackend.js';
import { systemClock } from '../../../../shared/clock.js';
import { eventually, rejection } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { batchOf, fixed, insertOf, soon } from '../../../support/rigs/engine.js';
import { MemoryCluster } from '../../../support/rigs/memoryCluster.js';

const PROJECT = 'p';
const DIMENSION = 8;
const ROWS = 1_500;
/** Number of rows whose build takes seconds. */
const SLOW = { m: 64, efConstruction: 4_096 };

describe('the index of a collection', () => {
  let cluster: MemoryCluster;
  let backend: ClusterBackend;
  let collection: Collection;
  let vectors: Uint8Array[];

  beforeEach(async () => {
    const random = seededRandom(testSeed());
    vectors = Array.from({ length: ROWS }, () => fixed(...Array.from({ length: DIMENSION }, () => random.int(1_000))));
    cluster = new MemoryCluster();
  });
  afterEach(() => cluster.stop());

  const fill = async (index: 'hnsw' | 'brute'): Promise<void> => {
    ({ backend } = await cluster.coordinator());
    ({ collection } = await backend.create(PROJECT, { name: 'c', dimension: DIMENSION, index }, soon()));
    await backend.call(collection, batchOf(vectors), soon());
  };
  const state = () => backend.call(collection, { op: 'indexState' }, soon());
  const serves = (kind: string): Promise<void> =>
    eventually(`${kind} serves`, async () => (await state().catch(() => undefined))?.activeKind === kind);
  /** Ids of collections with saved indexes. */
  const saved = (): string[] => {
    const folder = join(cluster.config.dataDir, 'indexes');
    return readdirSync(folder).flatMap((shard) => readdirSync(join(folder, shard)));
  };
  const slowRebuild = async (): Promise<{ readonly failure: Promise<Error> }> => {
    await backend.call(collection, { op: 'configureIndex', spec: { kind: 'hnsw', parameters: SLOW } }, soon());
    const later = { requestId: 'rebuild', deadlineMs: systemClock.nowMs() + 60_000 };
    return { failure: rejection(backend.call(collection, { op: 'rebuild', kind: null }, later)) };
  };

  it('is built by the next owner, as the catalog says', async () => {
    const first = await cluster.shard('s1');
    await fill('brute');
    await backend.call(collection, { op: 'configureIndex', spec: { kind: 'ivf', parameters: { nList: 20 } } }, soon());
    await serves('ivf');
    await cluster.shard('s2');
    await first.stop();
    await serves('ivf');
    expect((await state()).desiredKind).to.equal('ivf');
    const { ids } = await backend.call(collection, { op: 'search', query: vectors[7]!, k: 1 }, soon());
    expect(new Float64Array(new Uint8Array(ids).buffer)[0]).to.equal(8);
  });

  it('is deleted with its files when its collection is deleted, also during a rebuild', async () => {
    await cluster.shard('s1');
    await fill('hnsw');
    await serves('hnsw');
    await eventually('the index is saved', () => saved().length === 1);
    const { failure } = await slowRebuild();
    await backend.remove(PROJECT, 'c', soon());
    expect((await failure).message).to.match(/moving|no collection|gone/);
    await eventually('the files of the index are deleted', () => saved().length === 0);
  });

  it('lets its shard stop during a rebuild that holds writes', async () => {
    const shard = await cluster.shard('s1');
    await fill('hnsw');
    const { failure } = await slowRebuild();
    await backend.call(collection, { op: 'hold', token: 't', holdMs: 60_000 }, soon());
    const written = outcomeOf(backend.call(collection, insertOf(vectors[0]!), soon()));
    await shard.stop();
    expect((await failure).message).to.match(/moving|gone/);
    expect(await written).to.match(/^(?:record 1501|.*retry.*)$/);
  });
});

/** Outcome of an insert: committed while the shard stopped, or refused. */
const outcomeOf = (insert: Promise<{ readonly id: number }>): Promise<string> =>
  insert.then(
    ({ id }) => `record ${id}`,
    (error: Error) => error.message,
  );
