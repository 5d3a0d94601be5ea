// Covers: coordinator/cluster/clusterBackend.ts, coordinator/cluster/reports/collectionStats.ts
/** The index of each collection in a listing, with and without its shards. */
import { expect } from 'chai';
import { type DesiredKind, INDEX_KINDS } from '../../../../shared/model/indexSpec.js';
import { eventually, expectCode } from '../../../support/expectations.js';
import { soon } from '../../../support/rigs/engine.js';
import { MemoryCluster } from '../../../support/rigs/memoryCluster.js';

const KINDS: readonly DesiredKind[] = ['auto', 'brute', ...INDEX_KINDS];

describe('the index in a listing', () => {
  let cluster: MemoryCluster;
  beforeEach(() => {
    cluster = new MemoryCluster();
  });
  afterEach(() => cluster.stop());

  it('is the one that serves, and without a shard the listing is unavailable', async () => {
    const shard = await cluster.shard('s1');
    const { backend } = await cluster.coordinator();
    for (const index of KINDS) {
      const { collection } = await backend.create('p', { name: index, dimension: 2, index }, soon());
      await backend.call(collection, { op: 'describe' }, soon());
    }
    const serving = async () => (await backend.list('p', soon())).map((one) => one.serving);
    // `auto` searches a small collection exactly. A listing is in the order of the names.
    const all = [...KINDS].sort().map((kind) => (kind === 'auto' ? 'brute' : kind));
    await eventually('every index serves', async () => (await serving()).join() === all.join());
    const ivf = await backend.find('p', 'ivf');
    await backend.call(ivf, { op: 'configureIndex', spec: { kind: 'brute', parameters: {} } }, soon());
    const dropped = all.map((kind) => (kind === 'ivf' ? 'brute' : kind));
    expect(await serving()).to.deep.equal(dropped);
    expect((await backend.find('p', 'ivf')).index).to.equal('brute');
    await shard.stop();
    await expectCode(serving(), 'unavailable');
  });
});
