/** The catalog of collections at several coordinators, which ask one bucket and are told by it. */
import { expect } from 'chai';
import { Catalog } from '../../../../coordinator/cluster/catalog.js';
import type { Bucket } from '../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import { LateWatch } from '../../../support/rigs/lateWatch.js';
import { eventually, expectCode } from '../../../support/suites/expectations.js';

const wanted = (name: string, dimension = 2) => ({ name, dimension, index: 'brute' as const });

/** The bucket, but for some of its methods. */
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
  const catalogs = async (count: number, entries: Bucket, collectionsMax = 10): Promise<Catalog[]> => {
    const buckets = { catalog: entries, counters: bucket(), ids: bucket() };
    const all = Array.from({ length: count }, () => new Catalog(buckets, systemClock, collectionsMax));
    for (const catalog of all) await catalog.start();
    started.push(...all);
    return all;
  };

  afterEach(() => {
    for (const catalog of started.splice(0)) catalog.stop();
    for (const made of opened.splice(0)) made.close();
  });

  it('makes a collection once, whoever is asked, and no more than the project may have', async () => {
    const all = await catalogs(3, bucket(), 4);
    const made = await Promise.all(all.map((catalog) => catalog.create('p', wanted('c'))));
    expect(made.filter(({ created }) => created)).to.have.length(1);
    expect(new Set(made.map(({ collection }) => collection.id)).size).to.equal(1);
    const [catalog] = all as [Catalog];
    const more = await Promise.allSettled(['d', 'e', 'f', 'g', 'h'].map((name) => catalog.create('p', wanted(name))));
    expect(more.filter(({ status }) => status === 'fulfilled')).to.have.length(3);
    expect(catalog.list('p').map(({ name }) => name)).to.have.length(4);
  });

  it('deletes what there is, and nothing that was made since', async () => {
    const entries = bucket();
    const [one, other] = (await catalogs(2, entries)) as [Catalog, Catalog];
    await one.create('p', wanted('c'));
    const remove = entries.delete.bind(entries);
    // Another deletes it and makes it anew, just before this deletion has its effect.
    entries.delete = async (key, revision) => {
      entries.delete = remove;
      await other.remove('p', 'c');
      await other.create('p', wanted('c', 5));
      return entries.delete(key, revision);
    };
    expect(await one.remove('p', 'c')).to.include({ dimension: 5 });
    await expectCode(one.reread('p', 'c'), 'collection_not_found');
  });

  it('takes the later one where a server takes two of one name', async () => {
    const entries = bucket();
    const [one, other] = (await catalogs(2, entries)) as [Catalog, Catalog];
    const create = entries.create.bind(entries);
    entries.create = async (key, value) => {
      entries.create = create;
      await other.create('p', wanted('c', 5));
      return entries.put(key, value);
    };
    const [late, early] = [await one.create('p', wanted('c', 5)), await other.create('p', wanted('c', 5))];
    expect(late.created).to.equal(true);
    expect(early).to.deep.equal({ collection: late.collection, created: false });
    expect(await other.find('p', 'c')).to.deep.equal(late.collection);
  });

  /** One that is told late, how it is told, and another. */
  const late = async (entries: Bucket): Promise<[Catalog, LateWatch, Catalog]> => {
    const watch = new LateWatch(entries);
    const [[catalog], [other]] = [await catalogs(1, watch.bucket), await catalogs(1, entries)] as [
      [Catalog],
      [Catalog],
    ];
    return [catalog, watch, other];
  };
  const idsOf = (catalog: Catalog): number[] => catalog.list('p').map(({ id }) => id);
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('has begun once it lists all that there is, also where the server that tells it lags', async () => {
    const entries = bucket();
    const [[other]] = [await catalogs(1, entries)] as [[Catalog]];
    await other.create('p', wanted('there'));
    const told: (() => void)[] = [];
    let tries = 0;
    const behind = changed(entries, {
      watch: async (listener) => {
        const watch = await entries.watch((change) => told.push(() => listener(change)));
        const caughtUp = async (): Promise<void> => {
          if (++tries === 1) throw unavailable('a watch of the cluster does not catch up; retry shortly');
          for (const tell of told.splice(0)) tell();
        };
        return { toldUpTo: 0, caughtUp, stop: () => watch.stop() };
      },
    });
    const catalog = new Catalog({ catalog: behind, counters: bucket(), ids: bucket() }, systemClock, 10);
    started.push(catalog);
    await expectCode(catalog.start(), 'unavailable');
    expect(idsOf(catalog)).to.deep.equal([]);
    await catalog.start();
    expect(idsOf(catalog)).to.deep.equal([1]);
  });

  it('tells nobody that a collection is not there because a server that led before has not got it', async () => {
    const entries = bucket();
    const told: (() => void)[] = [];
    let isBehind = true;
    const behind = changed(entries, {
      get: async (key) => (isBehind ? undefined : entries.get(key)),
      watch: async (listener) => {
        const watch = await entries.watch((change) => told.push(() => listener(change)));
        const caughtUp = async (): Promise<void> => {
          isBehind = false;
          for (const tell of told.splice(0)) tell();
        };
        return { caughtUp, stop: () => watch.stop() };
      },
    });
    const [[catalog], [other]] = [await catalogs(1, behind), await catalogs(1, entries)] as [[Catalog], [Catalog]];
    const { collection } = await other.create('p', wanted('c'));
    expect(await catalog.find('p', 'c')).to.deep.equal(collection);
    isBehind = true;
    await expectCode(catalog.find('p', 'd'), 'collection_not_found');
  });

  it('forgets what was deleted while it was being read', async () => {
    const entries = bucket();
    const [other] = (await catalogs(1, entries)) as [Catalog];
    const slow = changed(entries, {
      get: async (key) => {
        const entry = await entries.get(key);
        await other.remove('p', 'c');
        return entry;
      },
    });
    const [catalog] = (await catalogs(1, slow)) as [Catalog];
    await other.create('p', wanted('c'));
    expect(await catalog.reread('p', 'c').catch(({ code }) => code)).to.equal('collection_not_found');
    expect(catalog.list('p')).to.deep.equal([]);
  });

  it('a collection made anew under an old name stays listed, however late the old one’s end is told', async () => {
    const entries = bucket();
    const [catalog, watch, other] = await late(entries);
    await other.create('p', wanted('c'));
    await other.remove('p', 'c');
    const { collection } = await other.create('p', wanted('c', 5));
    expect(await catalog.find('p', 'c')).to.deep.equal(collection);
    expect(watch.held).to.equal(3);
    while (watch.held > 0) {
      watch.tell();
      await settled();
      expect(idsOf(catalog)).to.deep.equal([collection.id]);
    }
  });

  it('a collection made anew is there though its name was just given up, or found absent, here', async () => {
    const entries = bucket();
    const [other] = (await catalogs(1, entries)) as [Catalog];
    const makeAnew = async <T>(work: () => Promise<T>): Promise<T> => {
      const result = await work();
      await other.create('p', wanted('c', 5));
      return result;
    };
    let isBehind = false;
    const racing = changed(entries, {
      get: async (key) => (isBehind ? undefined : entries.get(key)),
      delete: (key, revision) => makeAnew(() => entries.delete(key, revision)),
      isAbsent: async (key) => {
        isBehind = false;
        await entries.delete(key);
        return makeAnew(() => entries.isAbsent(key));
      },
    });
    const [catalog] = (await catalogs(1, racing)) as [Catalog];
    await other.create('p', wanted('c'));
    await catalog.remove('p', 'c');
    const [id] = idsOf(other) as [number];
    expect(idsOf(catalog)).to.deep.equal([id]);
    isBehind = true;
    expect(await catalog.reread('p', 'c')).to.include({ dimension: 5 });
    expect(idsOf(catalog)).to.deep.equal([id + 1]);
    expect(await catalog.find('p', 'c')).to.include({ id: id + 1 });
  });

  it('keeps nothing of what it reads while its watch begins anew, which may have told the end of it', async () => {
    const entries = bucket();
    const [catalog, watch, other] = await late(entries);
    watch.toldUpTo = undefined;
    const { collection } = await other.create('p', wanted('c'));
    expect(await catalog.find('p', 'c')).to.deep.equal(collection);
    expect(idsOf(catalog)).to.deep.equal([]);
    await watch.caughtUp();
    expect(idsOf(catalog)).to.deep.equal([collection.id]);
  });

  it('forgets what it had read before its watch began anew, and then was told to be gone', async () => {
    const entries = bucket();
    const [catalog, watch, other] = await late(entries);
    const { collection } = await other.create('p', wanted('c'));
    expect(await catalog.find('p', 'c')).to.deep.equal(collection);
    await other.remove('p', 'c');
    watch.toldUpTo = undefined;
    watch.forgetFirst();
    watch.tell();
    await settled();
    expect(idsOf(catalog)).to.deep.equal([]);
    await expectCode(catalog.find('p', 'c'), 'collection_not_found');
  });

  it('forgets nothing where its watch cannot catch up, and asks again', async () => {
    const entries = bucket();
    const [catalog, watch, other] = await late(entries);
    await other.create('p', wanted('c'));
    await other.remove('p', 'c');
    const { collection } = await other.create('p', wanted('c', 5));
    expect(await catalog.find('p', 'c')).to.deep.equal(collection);
    watch.toldUpTo = undefined;
    const caughtUp = watch.caughtUp.bind(watch);
    let tries = 0;
    watch.caughtUp = async () => {
      if (tries++ === 0) throw unavailable('it does not');
      await caughtUp();
    };
    watch.tell();
    watch.tell();
    await eventually('it is asked again', () => tries === 2);
    await settled();
    expect(idsOf(catalog)).to.deep.equal([collection.id]);
  });
});
