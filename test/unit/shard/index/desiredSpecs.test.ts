/**
 * The desired index in the catalog: a shard writes it, and overwrites no change that a coordinator makes meanwhile.
 */
import { expect } from 'chai';
import { Catalog } from '../../../../coordinator/cluster/catalog/catalog.js';
import { DesiredSpecs } from '../../../../shard/index/desiredSpecs.js';
import type { BucketValue } from '../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { CollectionConfig } from '../../../../shared/model/collectionConfig.js';
import type { DesiredKind, IndexSpec } from '../../../../shared/model/indexSpec.js';
import { expectCode } from '../../../support/expectations.js';
import { configOf } from '../../../support/rigs/engine.js';
import { LateWatch } from '../../../support/rigs/lateWatch.js';

const HNSW: IndexSpec = { kind: 'hnsw', parameters: { m: 8, efConstruction: 100, efSearch: 50 } };
const ALL = { m: 1, efConstruction: 2, efSearch: 3, nList: 4, nProbe: 5, candidates: 6 };

/** A bucket in which the test inserts writes before the next updates. */
class ContestedBucket extends MemoryBucket {
  readonly before: (() => Promise<unknown>)[] = [];

  override async update(key: string, value: BucketValue, revision: number): Promise<number | undefined> {
    await this.before.shift()?.();
    return super.update(key, value, revision);
  }
}

const BOUNDS = { collectionsPerProject: 10, aliasesPerProject: 3 };

describe('the desired index of a collection', () => {
  let bucket: ContestedBucket;
  let catalog: Catalog;
  let specs: DesiredSpecs;
  let config: CollectionConfig;
  const stored = async (): Promise<BucketValue | undefined> => (await bucket.get('p.c'))?.value;
  const make = async (index: DesiredKind): Promise<CollectionConfig> =>
    (await catalog.create('p', { name: 'c', dimension: 2, index })).collection;

  beforeEach(async () => {
    bucket = new ContestedBucket({ logger: silentLogger });
    const counters = new MemoryBucket({ logger: silentLogger });
    catalog = new Catalog({ catalog: bucket, counters, ids: counters }, systemClock, BOUNDS);
    await catalog.start();
    specs = new DesiredSpecs(bucket);
    config = await make('auto');
  });
  afterEach(() => {
    catalog.stop();
    bucket.close();
  });

  it('is that of the creation, until another is written', async () => {
    expect(await specs.read(config)).to.deep.equal({ kind: 'auto', parameters: {} });
    await specs.write(config, HNSW);
    expect(await specs.read(config)).to.deep.equal(HNSW);
    await specs.write(config, { kind: 'ivf', parameters: ALL });
    expect(await specs.read(config)).to.deep.equal({ kind: 'ivf', parameters: ALL });
    await specs.write(config, { kind: 'brute', parameters: {} });
    expect(await specs.read(config)).to.deep.equal({ kind: 'brute', parameters: {} });
  });

  it('is stored in readable form, and leaves the rest of the entry unchanged', async () => {
    const before = (await stored()) as { readonly [key: string]: BucketValue };
    expect(before).to.deep.equal({
      id: config.id,
      project: 'p',
      name: 'c',
      dimension: 2,
      metric: 'squared_l2',
      index: 'auto',
      created_at_ms: config.createdAtMs,
      created_by: { key_id: 'system' },
    });
    await bucket.put('p.c', { ...before, of_a_later_version: [1] });
    await specs.write(config, HNSW);
    const index_parameters = { m: 8, ef_construction: 100, ef_search: 50 };
    const kept = { ...before, of_a_later_version: [1] };
    expect(await stored()).to.deep.equal({ ...kept, index: 'hnsw', index_parameters });
    await specs.write(config, { kind: 'bq', parameters: {} });
    expect(await stored(), 'no parameters are left of the other kind').to.deep.equal({ ...kept, index: 'bq' });
  });

  it('is written beside a concurrent change of the entry, and keeps that change', async () => {
    const entry = (await stored()) as { readonly [key: string]: BucketValue };
    for (const n of [1, 2]) bucket.before.push(() => bucket.put('p.c', { ...entry, changed: n }));
    await specs.write(config, HNSW);
    expect(await stored()).to.deep.include({ changed: 2, index: 'hnsw' });
  });

  it('cannot be read after the collection was deleted or replaced, and is not written to the new one', async () => {
    await expectCode(specs.read(configOf(9, 'never')), 'collection_not_found');
    bucket.before.push(async () => {
      await catalog.remove('p', 'c');
      await make('brute');
    });
    await expectCode(specs.write(config, HNSW), 'collection_not_found');
    await expectCode(specs.read(config), 'collection_not_found');
    expect(await stored()).to.deep.include({ id: config.id + 1, index: 'brute' });
    await catalog.remove('p', 'c');
    await expectCode(specs.write(config, HNSW), 'collection_not_found');
  });

  it('is unavailable while the catalog is unavailable', async () => {
    bucket.close();
    await expectCode(specs.read(config), 'unavailable');
    await expectCode(specs.write(config, HNSW), 'unavailable');
  });

  it('reaches every coordinator through its watch', async () => {
    const other = new Catalog({ catalog: bucket, counters: bucket, ids: bucket }, systemClock, BOUNDS);
    await other.start();
    expect(other.list('p').map(({ index }) => index)).to.deep.equal(['auto']);
    await specs.write(config, HNSW);
    for (const one of [catalog, other]) {
      expect(one.list('p').map(({ id, index }) => [id, index])).to.deep.equal([[config.id, 'hnsw']]);
      expect((await one.find('p', 'c')).index).to.equal('hnsw');
      expect([...one.all()].map(({ index }) => index)).to.deep.equal(['hnsw']);
    }
    other.stop();
  });

  it("is current after a reread, before the coordinator's watch has delivered it", async () => {
    const watch = new LateWatch(bucket);
    const late = new Catalog({ catalog: watch.bucket, counters: bucket, ids: bucket }, systemClock, BOUNDS);
    await late.start();
    for (const kind of ['hnsw', 'ivf', 'bq'] as const) await specs.write(config, { kind, parameters: {} });
    expect(late.list('p').map(({ index }) => index)).to.deep.equal(['auto']);
    expect((await late.reread('p', 'c')).index).to.equal('bq');
    expect(late.list('p').map(({ index }) => index)).to.deep.equal(['bq']);
    late.stop();
  });
});
