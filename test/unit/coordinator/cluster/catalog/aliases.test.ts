// Covers: coordinator/cluster/catalog/aliases.ts, coordinator/cluster/catalog/entriesByName.ts
// Covers: shared/registry/aliasEntry.ts, shared/scheduling/mutex.ts
/** Aliases in the catalogs of several coordinators that share one bucket. */
import { expect } from 'chai';
import { Catalog } from '../../../../../coordinator/cluster/catalog/catalog.js';
import type { Bucket } from '../../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../../shared/clock.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { catalogKey } from '../../../../../shared/registry/catalogEntry.js';
import { expectCode, rejection } from '../../../../support/expectations.js';
import { LateWatch } from '../../../../support/rigs/lateWatch.js';

const ALIASES_MAX = 3;

describe('the aliases of the catalog', () => {
  const started: Catalog[] = [];
  const opened: MemoryBucket[] = [];
  let entries: MemoryBucket;
  let counters: MemoryBucket;
  let one: Catalog;
  let other: Catalog;

  const bucket = (): MemoryBucket => {
    const made = new MemoryBucket({ logger: silentLogger });
    opened.push(made);
    return made;
  };
  const catalog = async (reached: Bucket): Promise<Catalog> => {
    const bounds = { collectionsPerProject: 10, aliasesPerProject: ALIASES_MAX };
    const made = new Catalog({ catalog: reached, counters, ids: counters }, systemClock, bounds);
    started.push(made);
    await made.start();
    return made;
  };
  const create = async (at: Catalog, name: string): Promise<number> =>
    (await at.create('p', { name, dimension: 2, index: 'brute' })).collection.id;
  const idBehind = async (at: Catalog, name: string): Promise<number> => (await at.find('p', name)).id;
  const listed = async (at: Catalog): Promise<string[]> =>
    (await at.aliases.list('p')).map(({ name, collection }) => `${name} → ${collection}`);

  beforeEach(async () => {
    entries = bucket();
    counters = bucket();
    one = await catalog(entries);
    other = await catalog(entries);
    for (const name of ['a', 'b']) await create(one, name);
  });
  afterEach(() => {
    for (const each of started.splice(0)) each.stop();
    for (const each of opened.splice(0)) each.close();
  });

  it('are gone if their deletion is reported before their creation returns', async () => {
    const create = entries.create.bind(entries);
    entries.create = async (...entry) => {
      entries.create = create;
      const revision = await create(...entry);
      await other.aliases.remove('p', 'x');
      return revision;
    };
    await one.aliases.put('p', 'x', 'a');
    expect(await listed(one)).to.deep.equal([]);
    await expectCode(one.find('p', 'x'), 'collection_not_found');
  });

  it('lead to the collection that they were moved to, at a coordinator whose watch is late', async () => {
    const watch = new LateWatch(entries);
    const behind = await catalog(watch.bucket);
    await other.aliases.put('p', 'x', 'a');
    expect(await idBehind(behind, 'x')).to.equal(1);
    await other.aliases.put('p', 'x', 'b');
    expect(watch.pending).to.be.greaterThan(0);
    expect(await idBehind(behind, 'x')).to.equal(2);
    await other.aliases.remove('p', 'x');
    await expectCode(behind.find('p', 'x'), 'collection_not_found');
    expect(await listed(behind)).to.deep.equal([]);
  });

  it('have names that no collection has, whichever was first', async () => {
    await one.aliases.put('p', 'x', 'a');
    await expectCode(create(other, 'x'), 'conflict');
    await expectCode(other.aliases.put('p', 'b', 'a'), 'conflict');
    const outcomes = await Promise.allSettled([create(one, 'y'), other.aliases.put('p', 'y', 'a')]);
    expect(outcomes.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
  });

  it('do not name their collection once it was deleted, as in the middle of a move', async () => {
    await create(one, 'secret');
    await one.aliases.put('p', 'x', 'secret');
    const { revision } = (await entries.get(catalogKey('p', 'secret')))!;
    await entries.delete(catalogKey('p', 'secret'), revision);
    for (const [refused, text] of [
      [one.find('p', 'x'), 'the collection of the alias "x" was deleted'],
      [create(one, 'x'), '"x" is an alias whose collection was deleted'],
      [one.remove('p', 'x'), '"x" is an alias whose collection was deleted'],
    ] as const) {
      const { message } = await rejection(refused);
      expect(message).to.contain(text).and.not.to.contain('secret');
    }
  });

  it('name collections, never aliases', async () => {
    await one.aliases.put('p', 'x', 'a');
    await expectCode(one.aliases.put('p', 'y', 'x'), 'validation_error');
    await expectCode(one.aliases.put('p', 'y', 'missing'), 'collection_not_found');
    expect(await listed(one)).to.deep.equal(['x → a']);
  });

  it('are bounded in number, and can still be moved at the bound', async () => {
    const names = ['x1', 'x2', 'x3', 'x4', 'x5'];
    const outcomes = await Promise.allSettled(names.map((name) => one.aliases.put('p', name, 'a')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(ALIASES_MAX);
    await expectCode(one.aliases.put('p', 'x5', 'b'), 'capacity_exceeded');
    await one.aliases.put('p', 'x1', 'b');
    expect(await listed(one)).to.deep.equal(['x1 → b', 'x2 → a', 'x3 → a']);
  });

  it('keep their collection from being deleted, and cannot be deleted as one', async () => {
    await one.aliases.put('p', 'x', 'a');
    await expectCode(other.remove('p', 'a'), 'conflict');
    await expectCode(other.remove('p', 'x'), 'conflict');
    expect(await idBehind(other, 'x')).to.equal(1);
    await one.aliases.put('p', 'x', 'b');
    await other.remove('p', 'a');
    expect(await idBehind(one, 'x')).to.equal(2);
  });

  /** The bucket, with `before` run once just before that method. */
  const interrupted = (method: 'delete' | 'update' | 'create', before: () => Promise<unknown>): Bucket => {
    let isDue = true;
    return new Proxy(entries, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property);
        if (typeof value !== 'function') return value;
        return async (...parameters: unknown[]) => {
          if (property === method && isDue) {
            isDue = false;
            await before();
          }
          return value.apply(target, parameters);
        };
      },
    });
  };

  it('are seen by a deletion that began before they were written', async () => {
    const deleting = await catalog(interrupted('delete', () => other.aliases.put('p', 'x', 'a')));
    await expectCode(deleting.remove('p', 'a'), 'conflict');
    expect(await idBehind(one, 'x')).to.equal(1);
  });

  it('are not created where their collection is deleted meanwhile', async () => {
    const creating = await catalog(interrupted('create', () => other.remove('p', 'a')));
    await expectCode(creating.aliases.put('p', 'x', 'a'), 'collection_not_found');
    expect(await listed(one)).to.deep.equal([]);
  });

  it('stay where they were if the collection that they are moved to is deleted meanwhile', async () => {
    await one.aliases.put('p', 'x', 'a');
    const moving = await catalog(interrupted('update', () => other.remove('p', 'b')));
    await expectCode(moving.aliases.put('p', 'x', 'b'), 'collection_not_found');
    expect(await listed(one)).to.deep.equal(['x → a']);
    expect(await idBehind(other, 'x')).to.equal(1);
  });

  it('end at one collection at all coordinators after concurrent moves', async () => {
    await one.aliases.put('p', 'x', 'a');
    await Promise.all([one.aliases.put('p', 'x', 'b'), other.aliases.put('p', 'x', 'a')]);
    expect(await idBehind(one, 'x')).to.equal(await idBehind(other, 'x'));
  });

  it('never lead to a later collection of the name of a deleted one', async () => {
    await one.aliases.put('p', 'x', 'a');
    // The entry of the collection is lost, as if a deletion had not seen the alias.
    await entries.delete('p.a');
    await create(other, 'a');
    for (const each of [one, other]) await expectCode(each.find('p', 'x'), 'collection_not_found');
    await one.aliases.put('p', 'x', 'a');
    expect(await idBehind(other, 'x')).to.equal(3);
  });

  it('replace the name of a deleted collection in a copy that has not seen the deletion', async () => {
    const watch = new LateWatch(entries);
    const behind = await catalog(watch.bucket);
    await other.remove('p', 'b');
    await other.aliases.put('p', 'b', 'a');
    expect(await idBehind(behind, 'b')).to.equal(2);
    await behind.reread('p', 'b');
    expect(await idBehind(behind, 'b')).to.equal(1);
    expect(behind.byId(2)).to.equal(undefined);
  });

  it('have the scale of their collection', async () => {
    await one.create('p', { name: 'unit', dimension: 2, normalise: true, index: 'brute' });
    await one.aliases.put('p', 'x', 'unit');
    await one.aliases.put('p', 'y', 'a');
    expect(one.scaleFor('p', ['x'])).to.equal('unit');
    expect(one.scaleFor('p', ['y'])).to.equal('plain');
  });
});
