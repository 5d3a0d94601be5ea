/**
 * The catalog of all collections and aliases. Its bucket decides; every coordinator keeps a copy, which a watch brings up to date. On
 * a miss the watch catches up first, so that a collection created at one coordinator exists at all of them at once.
 */
import type { Bucket, Watch } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';
import { refusal, unavailable, VouchError } from '../../../shared/errors/errors.js';
import { type Scale, scaleOf } from '../../../shared/fixedPoint.js';
import { type Actor, SYSTEM } from '../../../shared/model/actor.js';
import { type AccessChange, type AccessSettings, readAuditOf } from '../../../shared/model/readAudit.js';
import { type Alias, aliasOf } from '../../../shared/registry/aliasEntry.js';
import {
  accessFields,
  type CatalogEntry,
  catalogEntryOf,
  catalogKey,
  isImporting,
  storedEntry,
} from '../../../shared/registry/catalogEntry.js';
import { KeyedMutex } from '../../../shared/scheduling/mutex.js';
import { Aliases } from './aliases.js';
import { CatalogCopy, collectionOf } from './catalogCopy.js';
import type { Collection, Created, ImportedCollection, WantedCollection, WantedImport } from './collection.js';
import { markDeleted } from './deletionMarks.js';
import { assertIdentical, assertImported, assertSameImport, assertUsable, fixedOf, inPath, shown } from './wanted.js';

/** The key in BUCKETS.ids. */
const IDS = 'collections';

export interface CatalogBuckets {
  /** BUCKETS.catalog. */
  readonly catalog: Bucket;
  /** BUCKETS.counters, with the marks of deletions. */
  readonly counters: Bucket;
  /** BUCKETS.ids. */
  readonly ids: Bucket;
}

/** The bounds of a project. */
export interface CatalogBounds {
  readonly collectionsPerProject: number;
  readonly aliasesPerProject: number;
}

type Named = Pick<Collection, 'id' | 'project' | 'name'>;

/** The owner of a name. */
type Owner = { readonly collection: Collection; readonly revision: number } | { readonly alias: Alias };

export class Catalog {
  readonly aliases: Aliases;
  readonly #copy = new CatalogCopy();
  /** Keyed by project. */
  readonly #creations = new KeyedMutex<string>();
  readonly #bucket: Bucket;
  readonly #counters: Bucket;
  readonly #ids: Bucket;
  /** Undefined before the start: then nothing can be read. */
  #watch: Watch | undefined;

  constructor(
    { catalog, counters, ids }: CatalogBuckets,
    private readonly clock: Clock,
    private readonly bounds: CatalogBounds,
    /** The greatest id that ever had an owner. */
    private readonly greatestOwnedId: () => number = () => 0,
  ) {
    this.#bucket = catalog;
    this.#counters = counters;
    this.#ids = ids;
    const parts = {
      bucket: catalog,
      copy: this.#copy,
      caughtUp: () => this.#caughtUp(),
      aliasable: (project: string, name: string) => this.#aliasable(project, name),
      assertNoCollection: (project: string, name: string) => this.#assertNoCollection(project, name),
    };
    this.aliases = new Aliases(parts, bounds.aliasesPerProject);
  }

  /** Resolves when every collection is known, even if a stale replica reports fewer at first. May be called again. */
  async start(): Promise<void> {
    this.#watch ??= await this.#bucket.watch((change) => this.#copy.take(change));
    await this.#watch.caughtUp();
  }

  stop(): void {
    this.#watch?.stop();
  }

  get size(): number {
    return this.#copy.size;
  }

  all(): IterableIterator<Collection> {
    return this.#copy.all();
  }

  byId(id: number): Collection | undefined {
    return this.#copy.byId(id);
  }

  /** The collections of a project, sorted by name. */
  list(project: string): Collection[] {
    return this.#copy.collections.of(project);
  }

  /** The collection of this name or alias. Throws `collection_not_found`, and `conflict` while the collection is being imported. */
  async find(project: string, name: string): Promise<Collection> {
    const known = this.#copy.collections.get(project, name)?.value;
    if (known !== undefined && !isImporting(known)) return known;
    // Another coordinator may have created it, finished its import, or moved the alias.
    return assertUsable(await this.reread(project, name));
  }

  /**
   * `unit` if one of the collections normalises. Reads those that this process does not know. A collection that does not exist, or
   * cannot be read, counts as one that does not normalise.
   */
  scaleFor(project: string, names: readonly string[]): Scale | Promise<Scale> {
    const unknown: string[] = [];
    for (const name of names) {
      const known = this.#copy.named(project, name);
      if (known === undefined) unknown.push(name);
      else if (scaleOf(known) === 'unit') return 'unit';
    }
    return unknown.length === 0 ? 'plain' : this.#scaleForUnknown(project, unknown);
  }

  async #scaleForUnknown(project: string, names: readonly string[]): Promise<Scale> {
    const read = await Promise.allSettled(names.map((name) => this.reread(project, name)));
    const isUnit = read.some((one) => one.status === 'fulfilled' && scaleOf(one.value) === 'unit');
    return isUnit ? 'unit' : 'plain';
  }

  /** Reads the collection of this name or alias as of this call. Throws `collection_not_found`. */
  async reread(project: string, name: string): Promise<Collection> {
    const found = await this.#lookUp(project, name);
    return 'alias' in found ? this.#targetOf(found.alias) : found.collection;
  }

  async #lookUp(project: string, name: string): Promise<Owner> {
    const found = await this.#read(project, name);
    if (found === undefined) throw refusal('collection_not_found', 'named', shown({ name }));
    return found;
  }

  /** The owner of the name as of this call. The copy has caught up then. */
  async #read(project: string, name: string): Promise<Owner | undefined> {
    if (this.#watch === undefined) throw notRead();
    const entry = await this.#watch.read(catalogKey(project, name));
    if (entry === undefined) return undefined;
    const alias = aliasOf(entry);
    return alias ? { alias } : { collection: collectionOf(catalogEntryOf(entry)), revision: entry.revision };
  }

  async #caughtUp(): Promise<void> {
    if (this.#watch === undefined) throw notRead();
    await this.#watch.caughtUp();
  }

  /** Reads the copy. An alias names a collection by its id, so it never leads to a later one of the name. */
  #targetOf({ name: alias, collectionId }: Alias): Collection {
    const collection = this.#copy.byId(collectionId);
    if (collection !== undefined) return collection;
    throw refusal('collection_not_found', 'aliased', { alias: JSON.stringify(alias) });
  }

  /** Returns the refusal of an alias where a collection is meant. Keys of other collections must not learn the name of a deleted one. */
  #aliasRefusal({ name, collection, collectionId }: Alias): VouchError {
    const named = { ...shown({ name }), ...inPath({ name }) };
    return this.#copy.byId(collectionId) === undefined
      ? refusal('conflict', 'deadAlias', named)
      : refusal('conflict', 'alias', { ...named, collection: JSON.stringify(collection) });
  }

  /** The collection that an alias may be moved to. */
  async #aliasable(project: string, name: string): Promise<Collection> {
    const found = await this.#lookUp(project, name);
    if (!('alias' in found)) return assertUsable(found.collection);
    const { collection } = found.alias;
    const message = `$.collection: ${JSON.stringify(name)} is an alias; name its collection ${JSON.stringify(collection)}`;
    throw new VouchError('validation_error', message);
  }

  #assertNoCollection(project: string, name: string): void {
    if (this.#copy.collections.get(project, name) !== undefined) throw refusal('conflict', 'notAlias', shown({ name }));
  }

  /** The id of the collection of that name, not of an alias; undefined if it certainly does not exist. */
  async listedId(project: string, name: string): Promise<number | undefined> {
    const found = await this.#read(project, name);
    return found && 'collection' in found ? found.collection.id : undefined;
  }

  /** Reads the collection of this id under its name as of this call; undefined if it was deleted. */
  async rereadById({ id, project, name }: Named): Promise<Collection | undefined> {
    const found = await this.#read(project, name);
    return found && 'collection' in found && found.collection.id === id ? found.collection : undefined;
  }

  /** Whether the catalog lists the collection of this id under its name, as of this call. */
  async isListed(named: Named): Promise<boolean> {
    return (await this.rereadById(named)) !== undefined;
  }

  /**
   * Whether the collection of this id was deleted, as of this call. Ids only grow: a greater id under its name is newer. After a loss
   * of the counter of ids another collection may have this one, whose content must not be erased.
   */
  async isGone({ id, project, name }: Named): Promise<boolean> {
    const now = await this.listedId(project, name);
    await this.#watch?.caughtUp();
    const { project: ofProject, name: ofName } = this.byId(id) ?? { project, name };
    return ofProject === project && ofName === name && (now === undefined || now > id);
  }

  async create(project: string, wanted: WantedCollection, createdBy: Actor = SYSTEM): Promise<Created> {
    const { name, index, audit, retentionDays, ttlSecs } = wanted;
    const fixed = fixedOf(wanted);
    const access = accessFields({ audit, retentionDays });
    const made = await this.#findOrMake(project, name, (id) => ({
      config: { id, project, name, ...fixed, createdAtMs: this.clock.nowMs(), createdBy },
      spec: { kind: index, parameters: {} },
      ...(Object.keys(access).length > 0 && { ...access, accessAsked: true }),
      ...(ttlSecs && { ttlSecs }),
    }));
    return { collection: assertIdentical(assertUsable(made.collection), wanted), created: made.created };
  }

  /** Creates the collection, or finds the import of the same export. Throws `conflict` for any other. */
  async createImport(project: string, wanted: WantedImport, by: Actor = SYSTEM): Promise<Created<ImportedCollection>> {
    const { name, createdAtMs, createdBy, origin, spec, end, ttlSecs } = wanted;
    const fixed = fixedOf(wanted);
    const made = await this.#findOrMake(project, name, (id) => ({
      config: { id, project, name, ...fixed, createdAtMs, ...(createdBy && { createdBy }), origin },
      spec,
      imported: { ...end, finished: false, by },
      ...(ttlSecs && { ttlSecs }),
    }));
    return { collection: assertSameImport(made.collection, wanted), created: made.created };
  }

  /** Reads the import as of this call. Throws `collection_not_found`, `conflict` if the collection was not imported. */
  async findImport(project: string, name: string): Promise<ImportedCollection> {
    return assertImported(await this.reread(project, name));
  }

  /** `access`: the settings of the access log in the imported log. */
  finishImport(collection: ImportedCollection, access: AccessSettings): Promise<Collection> {
    return this.#change(collection, (now) => {
      if (now.imported === undefined) throw refusal('collection_not_found', 'deleted', shown(collection));
      return { ...now, ...accessFields(access), imported: { ...now.imported, finished: true } };
    });
  }

  /** Stores the settings of the access log. Resolves to the changed collection. Throws `collection_not_found`. */
  setAccess(collection: Collection, change: AccessChange): Promise<Collection> {
    return this.#change(collection, ({ auditReads, accessRetentionDays = 0, accessAsked: _, ...now }) => {
      const { audit = readAuditOf(auditReads), retentionDays = accessRetentionDays } = change;
      const isOff = auditReads !== undefined && audit === 'off';
      return { ...now, ...accessFields({ audit, retentionDays }), ...(isOff && { wasAudited: true }) };
    });
  }

  /** Whether reads of a collection of the project are audited, as last received by this process. */
  hasAudited(project: string): boolean {
    return this.#copy.hasAudited(project);
  }

  /** Changes the entry of the collection, and never that of another one under its name. */
  async #change({ id, project, name }: Collection, change: (now: CatalogEntry) => CatalogEntry): Promise<Collection> {
    for (;;) {
      const entry = await this.#watch?.read(catalogKey(project, name));
      const now = entry && aliasOf(entry) === undefined ? catalogEntryOf(entry) : undefined;
      if (entry === undefined || now === undefined || now.config.id !== id)
        throw refusal('collection_not_found', 'deleted', shown({ name }));
      const changed = change(now);
      if ((await this.#bucket.update(entry.key, storedEntry(changed), entry.revision)) === undefined) continue;
      await this.#caughtUp();
      return collectionOf(changed);
    }
  }

  /** Runs one creation after another in a project. Otherwise all of them would find room for one more. */
  #findOrMake(project: string, name: string, entryOf: (id: number) => CatalogEntry): Promise<Created> {
    return this.#creations.run(project, () => this.#findOrMakeInTurn(project, name, entryOf));
  }

  async #findOrMakeInTurn(project: string, name: string, entryOf: (id: number) => CatalogEntry): Promise<Created> {
    for (;;) {
      await this.#watch?.caughtUp();
      const now = this.#copy.collections.get(project, name);
      if (now !== undefined) return { collection: now.value, created: false };
      const alias = this.#copy.aliases.get(project, name);
      if (alias !== undefined) throw this.#aliasRefusal(alias.value);
      this.#assertRoom(project);
      const entry = entryOf(await this.#nextId());
      const revision = await this.#bucket.create(catalogKey(project, name), storedEntry(entry));
      if (revision === undefined) continue;
      const collection = collectionOf(entry);
      this.#copy.addOwn(collection, revision);
      return { collection, created: true };
    }
  }

  #assertRoom(project: string): void {
    const { collectionsPerProject: count } = this.bounds;
    if (this.#copy.collections.count(project) < count) return;
    throw refusal('capacity_exceeded', 'collections', { count });
  }

  /**
   * Marks the collection and removes its name. The caller removes its log and its owner entry. Repeats if another process replaces
   * or changes the entry meanwhile. Throws `collection_not_found`, and `conflict` if the name is an alias or an alias names it.
   * Throws what `assertMay` throws for the collection that would be removed.
   */
  async remove(
    project: string,
    name: string,
    assertMay: (collection: Collection) => void = () => undefined,
  ): Promise<Collection> {
    const key = catalogKey(project, name);
    for (;;) {
      const found = await this.#lookUp(project, name);
      if ('alias' in found) throw this.#aliasRefusal(found.alias);
      const { collection, revision } = found;
      assertMay(collection);
      this.#assertNotAliased(collection);
      await markDeleted(this.#counters, collection);
      if (!(await this.#bucket.delete(key, revision))) continue;
      this.#copy.forget(key, revision);
      return collection;
    }
  }

  #assertNotAliased(collection: Collection): void {
    const alias = this.#copy.aliases.of(collection.project).find(({ collectionId }) => collectionId === collection.id);
    if (alias === undefined) return;
    throw refusal('conflict', 'aliased', { ...shown(collection), alias: JSON.stringify(alias.name) });
  }

  /**
   * Returns an id that no collection ever had, even after a deletion or the loss of the counter. It names the log and the subject of
   * one collection for ever.
   */
  #nextId(): Promise<number> {
    return this.#ids.next(IDS, Math.max(this.#copy.greatestId, this.greatestOwnedId()));
  }
}

const notRead = (): VouchError => unavailable('the catalog is not read yet; retry shortly');
