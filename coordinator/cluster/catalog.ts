/**
 * The catalog of all collections. The bucket is the truth; every coordinator keeps a copy by watching it, and reads the
 * bucket on a miss, so that a collection created at one coordinator exists at all of them at once.
 *
 * A collection that comes as an export of another is first only sent to, listed and deleted:
 *
 *   importing ──its log is the announced one──▶ finished: like any other collection
 *       └──deleted──▶ gone
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Change, Entry, Watch } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors/errors.js';
import { originOf } from '../../shared/model/collectionConfig.js';
import { type CatalogEntry, catalogEntryOf, catalogKey, storedEntry } from '../../shared/registry/catalogEntry.js';
import { KeyedMutex } from '../../shared/scheduling/mutex.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';
import { SharedRun } from '../../shared/scheduling/sharedRun.js';
import type { Collection, Created, ImportedCollection, WantedCollection, WantedImport } from './collection.js';
import { markDeleted } from './deletionMarks.js';

/** Of BUCKETS.ids. */
const IDS = 'collections';

export interface CatalogBuckets {
  /** BUCKETS.catalog. */
  readonly catalog: Bucket;
  /** BUCKETS.counters, with the marks of deletions. */
  readonly counters: Bucket;
  /** BUCKETS.ids. */
  readonly ids: Bucket;
}

interface Known {
  readonly collection: Collection;
  readonly revision: number;
}

function collectionOf(entry: CatalogEntry): Collection {
  const { config, spec, imported } = entry;
  const { kind: index, parameters: indexParameters } = spec;
  return { ...config, index, indexParameters, ...(imported === undefined ? {} : { imported }) };
}

export class Catalog {
  /** Project → name → collection. */
  readonly #projects = new Map<string, Map<string, Known>>();
  readonly #byId = new Map<number, Collection>();
  /** Keys whose entry was written or read here before the watch told it, with the revision. */
  readonly #ahead = new Map<string, number>();
  /** By project. */
  readonly #creations = new KeyedMutex<string>();
  readonly #caughtUp = new SharedRun(async () => this.#watch?.caughtUp());
  readonly #bucket: Bucket;
  readonly #counters: Bucket;
  readonly #ids: Bucket;
  #watch: Watch | undefined;
  #isStopped = false;
  /** The greatest id that was ever listed. */
  #greatestId = 0;

  constructor(
    { catalog, counters, ids }: CatalogBuckets,
    private readonly clock: Clock,
    private readonly collectionsPerProject: number,
    /** The greatest id that ever had an owner. */
    private readonly greatestOwnedId: () => number = () => 0,
  ) {
    this.#bucket = catalog;
    this.#counters = counters;
    this.#ids = ids;
  }

  /** Resolves when all is known that there is: a server that lags tells less at first. May be called again. */
  async start(): Promise<void> {
    this.#watch ??= await this.#bucket.watch((change) => this.#onChange(change));
    await this.#caughtUp.next();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.stop();
  }

  get size(): number {
    return this.#byId.size;
  }

  all(): IterableIterator<Collection> {
    return this.#byId.values();
  }

  byId(id: number): Collection | undefined {
    return this.#byId.get(id);
  }

  /** By name. */
  list(project: string): Collection[] {
    const known = [...(this.#projects.get(project)?.values() ?? [])].map(({ collection }) => collection);
    return known.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws `collection_not_found`, and `conflict` while the collection is being imported. */
  async find(project: string, name: string): Promise<Collection> {
    const known = this.#known(project, name)?.collection;
    if (known !== undefined && known.imported?.finished !== false) return known;
    // Another coordinator may have finished the import.
    return assertUsable(await this.reread(project, name));
  }

  /** Asks the bucket itself. Throws `collection_not_found`. */
  async reread(project: string, name: string): Promise<Collection> {
    return (await this.#lookUp(project, name)).collection;
  }

  async #lookUp(project: string, name: string): Promise<Known> {
    const found = await this.#ask(project, name);
    if (found === undefined)
      throw new VouchError('collection_not_found', `there is no collection named ${JSON.stringify(name)}`);
    return found;
  }

  /**
   * Undefined where the bucket has no such entry. A server that led before may answer so for a while, so it is certain only when
   * the watch has caught up, and for an entry that this process was told of, when the bucket takes its absence.
   */
  async #ask(project: string, name: string): Promise<Known | undefined> {
    const key = catalogKey(project, name);
    for (;;) {
      const entry = await this.#bucket.get(key);
      if (entry !== undefined && !this.#isOutdated(entry, this.#known(project, name))) return this.#taken(entry);
      if (!this.#isKnown(project, name)) await this.#caughtUp.next();
      const known = this.#known(project, name);
      if (known === undefined) return undefined;
      if (!(await this.#bucket.isAbsent(key))) continue;
      this.#forget(key, known.revision);
      if (!this.#isKnown(project, name)) return undefined;
    }
  }

  /** Keeps the entry that was read, unless the watch begins anew: it may have told the end of it. */
  #taken(entry: Entry): Known {
    const { key, revision } = entry;
    const collection = collectionOf(catalogEntryOf(entry));
    const known = this.#known(collection.project, collection.name);
    if (known !== undefined && known.revision >= revision) return known;
    if (this.#watch?.toldUpTo === undefined) return { collection, revision };
    this.#ahead.set(key, revision);
    this.#remember(collection, revision);
    return { collection, revision };
  }

  /** The id of the collection of that name; undefined where there is certainly none. */
  async listedId(project: string, name: string): Promise<number | undefined> {
    return (await this.#ask(project, name))?.collection.id;
  }

  /** Whether the bucket lists the collection of this id under its name. */
  async isListed({ id, project, name }: { id: number; project: string; name: string }): Promise<boolean> {
    return (await this.#read(project, name))?.id === id;
  }

  /** Whether the collection is there as of this call. */
  async isThere({ id }: { id: number }): Promise<boolean> {
    await this.#caughtUp.next();
    return this.#byId.has(id);
  }

  /** Whether the collection of this id was certainly deleted. Ids only grow: a greater id under its name came later. */
  async isGone({ id, project, name }: { id: number; project: string; name: string }): Promise<boolean> {
    const now = await this.#read(project, name);
    return now === undefined ? this.#bucket.isAbsent(catalogKey(project, name)) : now.id > id;
  }

  async create(project: string, wanted: WantedCollection): Promise<Created> {
    const { name, dimension, index } = wanted;
    const made = await this.#findOrMake(project, name, (id) => ({
      config: { id, project, name, dimension, metric: 'squared_l2', createdAtMs: this.clock.nowMs() },
      spec: { kind: index, parameters: {} },
    }));
    return { collection: assertDimension(assertUsable(made.collection), dimension), created: made.created };
  }

  /** Creates the collection, or finds the import of the same export. Throws `conflict` for any other. */
  async createImport(project: string, wanted: WantedImport): Promise<Created<ImportedCollection>> {
    const { name, dimension, createdAtMs, origin, spec, end } = wanted;
    const made = await this.#findOrMake(project, name, (id) => ({
      config: { id, project, name, dimension, metric: 'squared_l2', createdAtMs, origin },
      spec,
      imported: { ...end, finished: false },
    }));
    return { collection: assertSameImport(made.collection, wanted), created: made.created };
  }

  /** Asks the bucket itself. Throws `collection_not_found`, `conflict` if the collection was not imported. */
  async findImport(project: string, name: string): Promise<ImportedCollection> {
    return assertImported(await this.reread(project, name));
  }

  async finishImport({ id, project, name }: ImportedCollection): Promise<void> {
    for (;;) {
      const entry = await this.#bucket.get(catalogKey(project, name));
      const now = entry && catalogEntryOf(entry);
      if (entry === undefined || now?.imported === undefined || now.config.id !== id) {
        const current = await this.#ask(project, name);
        if (current !== undefined && current.collection.id <= id) continue;
        throw new VouchError('collection_not_found', `collection ${JSON.stringify(name)} was deleted`);
      }
      if (now.imported.finished) break;
      const finished = { ...now, imported: { ...now.imported, finished: true } };
      if ((await this.#bucket.update(entry.key, storedEntry(finished), entry.revision)) !== undefined) break;
    }
    await this.reread(project, name);
  }

  /** One after the other, or all of them would find room. */
  #findOrMake(project: string, name: string, entryOf: (id: number) => CatalogEntry): Promise<Created> {
    return this.#creations.run(project, () => this.#findOrMakeInTurn(project, name, entryOf));
  }

  /**
   * Looks once more when the entry is made: nats-server before 2.12 may take two entries of one name, of which the later one
   * stays.
   */
  async #findOrMakeInTurn(project: string, name: string, entryOf: (id: number) => CatalogEntry): Promise<Created> {
    let made: Collection | undefined;
    for (;;) {
      const now = await this.#current(project, name);
      if (now !== undefined) return { collection: now, created: now.id === made?.id };
      // Another has deleted it since.
      if (made !== undefined) return { collection: made, created: true };
      this.#assertRoom(project);
      const entry = entryOf(await this.#nextId());
      const revision = await this.#bucket.create(catalogKey(project, name), storedEntry(entry));
      if (revision !== undefined) made = collectionOf(entry);
    }
  }

  /** As of this call: what this process was told may be older, and so may the answer of a server that led before. */
  async #current(project: string, name: string): Promise<Collection | undefined> {
    await this.#caughtUp.next();
    if (!this.#isKnown(project, name)) return undefined;
    return (await this.#ask(project, name))?.collection;
  }

  #assertRoom(project: string): void {
    if ((this.#projects.get(project)?.size ?? 0) < this.collectionsPerProject) return;
    throw new VouchError(
      'capacity_exceeded',
      `the project has ${this.collectionsPerProject} collections, its bound; delete one first`,
    );
  }

  /**
   * Marks the collection and removes its name. The caller removes its log and its owner entry. What another has made under the name
   * meanwhile is another collection, or one that has changed.
   */
  async remove(project: string, name: string): Promise<Collection> {
    const key = catalogKey(project, name);
    for (;;) {
      const { collection, revision } = await this.#lookUp(project, name);
      await markDeleted(this.#counters, collection);
      if (!(await this.#bucket.delete(key, revision))) continue;
      this.#forget(key, revision);
      return collection;
    }
  }

  #known(project: string, name: string): Known | undefined {
    return this.#projects.get(project)?.get(name);
  }

  #isKnown(project: string, name: string): boolean {
    return this.#known(project, name) !== undefined;
  }

  /** Whether the end of the entry that was read has been told: the answer came late, or from a server that led before. */
  #isOutdated({ revision }: Entry, known: Known | undefined): boolean {
    return known === undefined && revision <= (this.#watch?.toldUpTo ?? 0);
  }

  async #read(project: string, name: string): Promise<Collection | undefined> {
    const entry = await this.#bucket.get(catalogKey(project, name));
    return entry === undefined ? undefined : collectionOf(catalogEntryOf(entry));
  }

  /**
   * An id is never given twice, not even after a deletion or the loss of the counter: it names the log and the subject of
   * one collection for ever.
   */
  #nextId(): Promise<number> {
    return this.#ids.next(IDS, Math.max(this.#greatestId, this.greatestOwnedId()));
  }

  #onChange({ key, entry }: Change): void {
    const ahead = this.#ahead.get(key);
    const revision = entry?.revision ?? this.#watch?.toldUpTo;
    if (ahead !== undefined && revision === undefined) {
      // This may be the deletion of an earlier collection of that name.
      void this.#forgetIfGone(key, ahead);
      return;
    }
    if (ahead !== undefined && (revision as number) >= ahead) this.#ahead.delete(key);
    else if (ahead !== undefined && entry === undefined) return;
    if (entry === undefined) this.#forget(key);
    else this.#remember(collectionOf(catalogEntryOf(entry)), entry.revision);
  }

  /** A watch that has caught up has told the entry that was read, or a later one, unless it is gone. */
  async #forgetIfGone(key: string, ahead: number): Promise<void> {
    for (;;)
      try {
        await this.#caughtUp.next();
        break;
      } catch {
        if (this.#isStopped) return;
        await delay(RETRY_MS.watch);
      }
    if (this.#ahead.get(key) !== ahead) return;
    this.#ahead.delete(key);
    this.#forget(key, ahead);
  }

  #remember(collection: Collection, revision: number): void {
    let names = this.#projects.get(collection.project);
    if (names === undefined) {
      names = new Map();
      this.#projects.set(collection.project, names);
    }
    const before = names.get(collection.name);
    // The watch may lag behind a read of the bucket, and the answer of a read behind the watch.
    if (before !== undefined && before.revision > revision) return;
    if (before !== undefined) this.#byId.delete(before.collection.id);
    names.set(collection.name, { collection, revision });
    this.#byId.set(collection.id, collection);
    this.#greatestId = Math.max(this.#greatestId, collection.id);
  }

  /** `upTo`: of a later entry nothing is forgotten. */
  #forget(key: string, upTo = Number.POSITIVE_INFINITY): void {
    const dot = key.indexOf('.');
    const names = this.#projects.get(key.slice(0, dot));
    const known = names?.get(key.slice(dot + 1));
    if (names === undefined || known === undefined || known.revision > upTo) return;
    const { collection } = known;
    names.delete(collection.name);
    this.#byId.delete(collection.id);
    if (names.size === 0) this.#projects.delete(collection.project);
  }
}

function assertDimension(existing: Collection, dimension: number): Collection {
  if (existing.dimension === dimension) return existing;
  throw conflict(existing, `exists with dimension ${existing.dimension}; dimension and metric cannot change`);
}

const conflict = ({ name }: Collection, what: string): VouchError =>
  new VouchError('conflict', `collection ${JSON.stringify(name)} ${what}`);

function assertUsable(collection: Collection): Collection {
  if (collection.imported?.finished === false)
    throw conflict(collection, 'is being imported; finish the import, or delete the collection');
  return collection;
}

function assertImported(collection: Collection): ImportedCollection {
  const { imported } = collection;
  if (imported === undefined) throw conflict(collection, 'is there already, and was not imported');
  return { ...collection, imported };
}

function assertSameImport(
  collection: Collection,
  { origin, dimension, createdAtMs, end }: WantedImport,
): ImportedCollection {
  const existing = assertImported(collection);
  const { imported } = existing;
  const own = originOf(existing);
  const isSame =
    own.project === origin.project &&
    own.name === origin.name &&
    own.id === origin.id &&
    existing.dimension === dimension &&
    existing.createdAtMs === createdAtMs &&
    imported.sequence === end.sequence &&
    imported.chainHead === end.chainHead &&
    imported.stateHash === end.stateHash;
  if (!isSame) throw conflict(existing, 'came, or comes, from another export; choose another name');
  return existing;
}
