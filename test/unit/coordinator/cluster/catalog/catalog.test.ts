// Covers: coordinator/cluster/catalog/catalogCopy.ts, coordinator/cluster/catalog/wanted.ts
// Covers: shared/model/collectionConfig.ts
/** The catalog of collections at several coordinators that share and watch one bucket. */
import { expect } from 'chai';
import { Catalog } from '../../../../../coordinator/cluster/catalog/catalog.js';
import type { Bucket, Watch } from '../../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../../shared/clock.js';
import { unavailable } from '../../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { expectCode } from '../../../../support/expectations.js';
import { LateWatch } from '../../../../support/rigs/lateWatch.js';

const BOUNDS = { collectionsPerProject: 10, aliasesPerProject: 3 };
const request = (name: string, dimension = 2) => ({ name, dimension, index: 'brute' as const });

/** The bucket with some of its methods replaced. */
const changed = (bucket: Bucket, methods: Partial<Bucket>): Bucket =>
  new Proxy(bucket, {
    get: (target, property) => {
      const value: unknown = Reflect.get(property in methods ? methods : target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

describe('the catalog', () => {
  const started: Catalog[] = [];
  const opened: MemoryBucket[] = [];
  const bucket = (): MemoryBucket => {
    const made = new MemoryBucket({ logger: silentLogger });
    opened.push(made);
    return made;
  };

  /** Several coordinators with one catalog. */
  const catalogs = async (count: number, entries: Bucket, collectionsPerProject = 10): Promise<Catalog[]> => {
    const buckets = { catalog: entries, counters: bucket(), ids: bucket() };
    const all = Array.from(
      { length: count },
      () => new Catalog(buckets, systemClock, { collectionsPerProject, aliasesPerProject: 3 }),
    );
    for (const catalog of all) await catalog.start();
    started.push(...all);
    return all;
  };

  afterEach(() => {
    for (const catalog of started.splice(0)) catalog.stop();
    for (const made of opened.splice(0)) made.close();
  });

  it('creates a collection once for concurrent callers, within the limit of the project', async () => {
    const all = await catalogs(3, bucket(), 4);
    const made = await Promise.all(all.map((catalog) => catalog.create('p', request('c'))));
    expect(made.filter(({ created }) => created)).to.have.length(1);
    expect(new Set(made.map(({ collection }) => collection.id)).size).to.equal(1);
    const [catalog] = all as [Catalog];
    const more = await Promise.allSettled(['d', 'e', 'f', 'g', 'h'].map((name) => catalog.create('p', request(name))));
    expect(more.filter(({ status }) => status === 'fulfilled')).to.have.length(3);
    expect(catalog.list('p').map(({ name }) => name)).to.have.length(4);
  });

  it('calls a deleted collection gone, unless another one has its id', async () => {
    const [one, other] = (await catalogs(2, bucket())) as [Catalog, Catalog];
    const { collection } = await one.create('p', request('c'));
    expect(await other.isGone(collection)).to.equal(false);
    // The counter of ids was lost after the deletion of collection d.
    expect(await other.isGone({ ...collection, name: 'd' })).to.equal(false);
    await one.remove('p', 'c');
    expect(await other.isGone(collection)).to.equal(true);
    expect(await other.isGone({ ...collection, name: 'd' })).to.equal(true);
  });

  it('deletes the current collection, and none that was created later', async () => {
    const entries = bucket();
    const [one, other] = (await catalogs(2, entries)) as [Catalog, Catalog];
    await one.create('p', request('c'));
    const remove = entries.delete.bind(entries);
    // Another coordinator deletes and recreates the collection just before this deletion takes effect.
    entries.delete = async (key, revision) => {
      entries.delete = remove;
      await other.remove('p', 'c');
      await other.create('p', request('c', 5));
      return entries.delete(key, revision);
    };
    expect(await one.remove('p', 'c')).to.include({ dimension: 5 });
    await expectCode(one.reread('p', 'c'), 'collection_not_found');
  });

  it('does not list a collection whose deletion the watch reports before the creation returns', async () => {
    const entries = bucket();
    const [one, other] = (await catalogs(2, entries)) as [Catalog, Catalog];
    const create = entries.create.bind(entries);
    entries.create = async (...entry) => {
      entries.create = create;
      const revision = await create(...entry);
      await other.remove('p', 'c');
      return revision;
    };
    expect(await one.create('p', request('c'))).to.deep.include({ created: true });
    expect(one.list('p')).to.deep.equal([]);
    expect(await one.create('p', request('c'))).to.deep.include({ created: true });
  });

  /** A catalog whose watch is late, that watch, and another catalog. */
  const late = async (entries: Bucket): Promise<[Catalog, LateWatch, Catalog]> => {
    const watch = new LateWatch(entries);
    const [[catalog], [other]] = [await catalogs(1, watch.bucket), await catalogs(1, entries)] as [
      [Catalog],
      [Catalog],
    ];
    return [catalog, watch, other];
  };
  const idsOf = (catalog: Catalog): number[] => catalog.list('p').map(({ id }) => id);

  it('has started once it lists all collections, also if the replica of its watch is stale', async () => {
    const entries = bucket();
    const [[other]] = [await catalogs(1, entries)] as [[Catalog]];
    await other.create('p', request('there'));
    const delayed: (() => void)[] = [];
    let tries = 0;
    const behind = changed(entries, {
      watch: async (listener) => {
        const watch = await entries.watch((change) => delayed.push(() => listener(change)));
        const caughtUp = async (): Promise<void> => {
          if (++tries === 1) throw unavailable('a watch of the cluster does not catch up; retry shortly');
          for (const deliver of delayed.splice(0)) deliver();
        };
        const read: Watch['read'] = (key) => caughtUp().then(() => watch.read(key));
        return { caughtUp, read, stop: () => watch.stop() };
      },
    });
    const catalog = new Catalog({ catalog: behind, counters: bucket(), ids: bucket() }, systemClock, BOUNDS);
    started.push(catalog);
    await expectCode(catalog.start(), 'unavailable');
    expect(idsOf(catalog)).to.deep.equal([]);
    await catalog.start();
    expect(idsOf(catalog)).to.deep.equal([1]);
  });

  it('finds a collection that another coordinator created, and not a deleted one, before its watch reports either', async () => {
    const [catalog, watch, other] = await late(bucket());
    const { collection } = await other.create('p', request('c'));
    expect(await catalog.find('p', 'c')).to.deep.equal(collection);
    await other.remove('p', 'c');
    expect(watch.pending).to.equal(1);
    await expectCode(catalog.reread('p', 'c'), 'collection_not_found');
    expect(idsOf(catalog)).to.deep.equal([]);
    await expectCode(catalog.find('p', 'd'), 'collection_not_found');
  });

  it('knows the scale of collections, also of one that another coordinator has made', async () => {
    const [catalog, , other] = await late(bucket());
    await catalog.create('p', request('plain'));
    await catalog.create('p', { ...request('unit'), normalise: true });
    expect(catalog.scaleFor('p', ['plain'])).to.equal('plain');
    expect(catalog.scaleFor('p', ['plain', 'unit', 'missing'])).to.equal('unit');
    await other.create('p', { ...request('new'), normalise: true });
    expect(await catalog.scaleFor('p', ['plain', 'missing'])).to.equal('plain');
    expect(await catalog.scaleFor('p', ['plain', 'new'])).to.equal('unit');
    expect(catalog.scaleFor('q', [])).to.equal('plain');
  });

  it('takes a collection that cannot be read for one without a scale of its own', async () => {
    const entries = bucket();
    const unread = changed(entries, {
      watch: async (listener) => {
        const watch = await entries.watch(listener);
        return {
          caughtUp: watch.caughtUp.bind(watch),
          read: async () => {
            throw unavailable('no answer');
          },
          stop: () => watch.stop(),
        };
      },
    });
    const [[catalog]] = [await catalogs(1, unread)] as [[Catalog]];
    expect(await catalog.scaleFor('p', ['c'])).to.equal('plain');
  });

  it('refuses a creation of the same name with another normalise', async () => {
    const [[catalog]] = [await catalogs(1, bucket())] as [[Catalog]];
    const { collection } = await catalog.create('p', { ...request('c'), normalise: true });
    expect(collection).to.include({ normalise: true });
    await expectCode(catalog.create('p', request('c')), 'conflict');
    expect((await catalog.create('p', { ...request('c'), normalise: true })).created).to.equal(false);
    await catalog.create('p', request('d'));
    await expectCode(catalog.create('p', { ...request('d'), normalise: true }), 'conflict');
  });

  it('lists a collection under a reused name, however late the deletion of the old one is reported', async () => {
    const entries = bucket();
    const [catalog, watch, other] = await late(entries);
    await other.create('p', request('c'));
    await other.remove('p', 'c');
    expect(watch.pending).to.equal(2);
    const caughtUp = watch.caughtUp.bind(watch);
    watch.caughtUp = async () => {};
    const { collection } = await catalog.create('p', request('c', 5));
    expect(watch.pending).to.equal(3);
    watch.caughtUp = caughtUp;
    while (watch.pending > 0) {
      expect(idsOf(catalog)).to.deep.equal([collection.id]);
      watch.deliver();
    }
    expect(idsOf(catalog)).to.deep.equal([collection.id]);
  });

  it('keeps a collection that another coordinator creates while this one removes its name', async () => {
    const entries = bucket();
    const [other] = (await catalogs(1, entries)) as [Catalog];
    const racing = changed(entries, {
      delete: async (key, revision) => {
        const isDeleted = await entries.delete(key, revision);
        await other.create('p', request('c', 5));
        return isDeleted;
      },
    });
    const [catalog] = (await catalogs(1, racing)) as [Catalog];
    await other.create('p', request('c'));
    await catalog.remove('p', 'c');
    expect(idsOf(catalog)).to.deep.equal(idsOf(other));
    expect(await catalog.find('p', 'c')).to.include({ dimension: 5 });
  });
});
