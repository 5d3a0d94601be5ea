// Covers: coordinator/cluster/catalog/catalog.ts, shard/index/desiredSpecs.ts
/** Imported collections in the catalog, at two coordinators at once. */
import { expect } from 'chai';
import { Catalog } from '../../../../../coordinator/cluster/catalog/catalog.js';
import type { WantedImport } from '../../../../../coordinator/cluster/catalog/collection.js';
import { DesiredSpecs } from '../../../../../shard/index/desiredSpecs.js';
import { MemoryBucket } from '../../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../../shared/clock.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { SYSTEM } from '../../../../../shared/model/actor.js';
import { catalogEntryOf } from '../../../../../shared/registry/catalogEntry.js';
import { expectCode } from '../../../../support/expectations.js';

const WANTED: WantedImport = {
  name: 'copy',
  origin: { project: 'q', name: 'original', id: 77 },
  dimension: 2,
  createdAtMs: 1_700_000_000_000,
  spec: { kind: 'hnsw', parameters: { m: 8 } },
  end: { sequence: 9, chainHead: 'a'.repeat(64), stateHash: 'b'.repeat(64) },
};

const BOUNDS = { collectionsPerProject: 2, aliasesPerProject: 3 };

describe('an import in the catalog', () => {
  let bucket: MemoryBucket;
  let one: Catalog;
  let two: Catalog;
  beforeEach(async () => {
    bucket = new MemoryBucket({ logger: silentLogger });
    const counters = new MemoryBucket({ logger: silentLogger });
    [one, two] = [1, 2].map(() => new Catalog({ catalog: bucket, counters, ids: counters }, systemClock, BOUNDS)) as [
      Catalog,
      Catalog,
    ];
    await Promise.all([one.start(), two.start()]);
  });
  afterEach(() => {
    one.stop();
    two.stop();
    bucket.close();
  });

  it('refuses other uses of its collection, until it is finished everywhere at once', async () => {
    const { collection, created } = await one.createImport('p', WANTED);
    expect(created).to.equal(true);
    for (const catalog of [one, two]) {
      await expectCode(catalog.find('p', 'copy'), 'conflict');
      await expectCode(catalog.create('p', { name: 'copy', dimension: 2, index: 'brute' }), 'conflict');
      expect(await catalog.createImport('p', WANTED)).to.deep.equal({ collection, created: false });
      expect(await catalog.findImport('p', 'copy')).to.deep.equal(collection);
    }
    await two.finishImport(collection, { audit: 'off', retentionDays: 0 });
    // The first coordinator's entry is out of date, so it reads again.
    for (const catalog of [one, two]) {
      expect(await catalog.find('p', 'copy')).to.deep.equal({
        ...collection,
        imported: { ...WANTED.end, finished: true, by: SYSTEM },
      });
      expect((await catalog.create('p', { name: 'copy', dimension: 2, index: 'brute' })).created).to.equal(false);
    }
    await one.finishImport(collection, { audit: 'off', retentionDays: 0 });
  });

  it('keeps its announced configuration, whatever the shard does to the index', async () => {
    const { collection } = await one.createImport('p', WANTED);
    const specs = new DesiredSpecs(bucket);
    expect(await specs.read(collection)).to.deep.equal(WANTED.spec);
    await specs.write(collection, { kind: 'bq', parameters: {} });
    await one.finishImport(collection, { audit: 'off', retentionDays: 0 });
    const { config, spec, imported } = catalogEntryOf((await bucket.get('p.copy'))!);
    expect(config).to.deep.include({ id: collection.id, project: 'p', name: 'copy', origin: WANTED.origin });
    expect(spec.kind).to.equal('bq');
    expect(imported).to.deep.equal({ ...WANTED.end, finished: true, by: SYSTEM });
  });

  it('takes one export only, counts as a collection, and can be deleted and started again', async () => {
    const { collection } = await one.createImport('p', WANTED);
    const others: WantedImport[] = [
      { ...WANTED, dimension: 3 },
      { ...WANTED, createdAtMs: 1 },
      { ...WANTED, origin: { ...WANTED.origin, project: 'other' } },
      { ...WANTED, origin: { ...WANTED.origin, name: 'other' } },
      { ...WANTED, origin: { ...WANTED.origin, id: 78 } },
      { ...WANTED, end: { ...WANTED.end, sequence: 10 } },
      { ...WANTED, end: { ...WANTED.end, chainHead: 'c'.repeat(64) } },
      { ...WANTED, end: { ...WANTED.end, stateHash: 'c'.repeat(64) } },
    ];
    for (const other of others) await expectCode(two.createImport('p', other), 'conflict');
    await two.createImport('p', { ...WANTED, name: 'second' });
    await expectCode(one.createImport('p', { ...WANTED, name: 'third' }), 'capacity_exceeded');
    await one.remove('p', 'copy');
    await expectCode(two.finishImport(collection, { audit: 'off', retentionDays: 0 }), 'collection_not_found');
    const again = await two.createImport('p', WANTED);
    expect(again.created).to.equal(true);
    expect(again.collection.id).to.be.above(collection.id);
    // A collection that was created here is not imported, and an import does not replace it.
    await one.remove('p', 'second');
    await one.create('p', { name: 'own', dimension: 2, index: 'brute' });
    await expectCode(two.createImport('p', { ...WANTED, name: 'own' }), 'conflict');
    await expectCode(two.findImport('p', 'own'), 'conflict');
  });
});
