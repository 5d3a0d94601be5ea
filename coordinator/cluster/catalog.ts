/**
 * Which collections there are. The catalog bucket is the truth; every coordinator keeps a copy of it by watching, and
 * reads through on a miss, so that a collection made at one coordinator exists at all of them at once.
 */
import type { Bucket, Change, Entry, Watch } from '../../shared/bucket/bucket.js';
import { type CatalogEntry, catalogEntryOf, catalogKey, storedEntry } from '../../shared/catalogEntry.js';
import type { Clock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors.js';
import type { Collection, Imported, WantedCollection, WantedImport } from '../backend.js';
import { markDeleted } from './deletionMarks.js';
import { assertSameImport, assertUsable, importedCollection } from './imports.js';

const NEXT_ID = 'next-collection-id';

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
  /** Keys whose entry was written or read here, and not told by the watch yet: with its revision. */
  readonly #ahead = new Map<string, number>();
  #watch: Watch | undefined;
  /** Of the ids that were ever listed. */
  #greatest = 0;

  constructor(
    private readonly bucket: Bucket,
    private readonly counters: Bucket,
    private readonly clock: Clock,
    private readonly collectionsPerProject: number,
    /** The greatest id that is known from elsewhere. */
    private readonly greatestId: () => number = () => 0,
  ) {}

  async start(): Promise<void> {
    this.#watch = await this.bucket.watch((change) => this.#told(change));
  }

  stop(): void {
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

  hasId(id: number): boolean {
    return this.#byId.has(id);
  }

  /** By name. */
  list(project: string): Collection[] {
    const known = [...(this.#projects.get(project)?.values() ?? [])].map(({ collection }) => collection);
    return known.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws `collection_not_found`, `conflict` where it is being imported. */
  async find(project: string, name: string): Promise<Collection> {
    const known = this.#projects.get(project)?.get(name)?.collection;
    if (known !== undefined && known.imported?.finished !== false) return known;
    // Another coordinator may have finished the import.
    return assertUsable(await this.reread(project, name));
  }

  /** Asks the bucket itself. Throws `collection_not_found`. */
  async reread(project: string, name: string): Promise<Collection> {
    const entry = await this.bucket.get(catalogKey(project, name));
    if (entry === undefined) {
      this.#forget(catalogKey(project, name));
      throw new VouchError('collection_not_found', `there is no collection named ${JSON.stringify(name)}`);
    }
    const collection = collectionOf(catalogEntryOf(entry));
    this.#ahead.set(entry.key, entry.revision);
    this.#remember(collection, entry.revision);
    return collection;
  }

  /** Whether the catalog has this very collection, and not another of its name. Asks the bucket itself. */
  async isListed({ id, project, name }: { id: number; project: string; name: string }): Promise<boolean> {
    return (await this.#lookUp(project, name))?.id === id;
  }

  /** Whether this very collection was deleted, for sure. Ids only grow: a greater one under its name was made after it. */
  async isGone({ id, project, name }: { id: number; project: string; name: string }): Promise<boolean> {
    const now = await this.#lookUp(project, name);
    return now === undefined ? this.bucket.isAbsent(catalogKey(project, name)) : now.id > id;
  }

  async create(project: string, wanted: WantedCollection): Promise<{ collection: Collection; created: boolean }> {
    const { name, dimension, index } = wanted;
    const made = await this.#findOrMake(project, name, (id) => ({
      config: { id, project, name, dimension, metric: 'squared_l2', createdAtMs: this.clock.nowMs() },
      spec: { kind: index, parameters: {} },
    }));
    return { collection: identical(assertUsable(made.collection), dimension), created: made.created };
  }

  /** The same of a collection that is to be imported, or the import of this very export. */
  async createImport(project: string, wanted: WantedImport): Promise<{ collection: Imported; created: boolean }> {
    const { name, dimension, createdAtMs, origin, spec, end } = wanted;
    const made = await this.#findOrMake(project, name, (id) => ({
      config: { id, project, name, dimension, metric: 'squared_l2', createdAtMs, origin },
      spec,
      imported: { ...end, finished: false },
    }));
    return { collection: assertSameImport(made.collection, wanted), created: made.created };
  }

  /** Asks the bucket itself. Throws `collection_not_found`, `conflict` where it was not imported. */
  async findImport(project: string, name: string): Promise<Imported> {
    return importedCollection(await this.reread(project, name));
  }

  async finishImport({ id, project, name }: Imported): Promise<void> {
    for (;;) {
      const entry = await this.bucket.get(catalogKey(project, name));
      const now = entry && catalogEntryOf(entry);
      if (entry === undefined || now?.imported === undefined || now.config.id !== id)
        throw new VouchError('collection_not_found', `collection ${JSON.stringify(name)} was deleted`);
      if (now.imported.finished) break;
      const finished = { ...now, imported: { ...now.imported, finished: true } };
      if ((await this.bucket.update(entry.key, storedEntry(finished), entry.revision)) !== undefined) break;
    }
    await this.reread(project, name);
  }

  async #findOrMake(
    project: string,
    name: string,
    entryOf: (id: number) => CatalogEntry,
  ): Promise<{ collection: Collection; created: boolean }> {
    const known = this.#projects.get(project);
    const existing = known?.get(name)?.collection ?? (await this.#lookUp(project, name));
    // What is known of an import may have been overtaken.
    if (existing !== undefined && existing.imported?.finished !== false)
      return { collection: existing, created: false };
    if (existing !== undefined) return { collection: await this.reread(project, name), created: false };
    if ((known?.size ?? 0) >= this.collectionsPerProject)
      throw new VouchError(
        'capacity_exceeded',
        `the project has ${this.collectionsPerProject} collections, its bound; delete one first`,
      );
    const key = catalogKey(project, name);
    const entry = entryOf(await this.#nextId());
    const revision = await this.bucket.create(key, storedEntry(entry));
    // Somebody else made it between the look-up and now; the id is spent, which costs nothing.
    if (revision === undefined) return { collection: await this.reread(project, name), created: false };
    const collection = collectionOf(entry);
    this.#ahead.set(key, revision);
    this.#remember(collection, revision);
    return { collection, created: true };
  }

  /** The collection is gone by name when this resolves, and marked: its log and owner entry are the caller's to remove. */
  async remove(project: string, name: string): Promise<Collection> {
    const collection = await this.reread(project, name);
    await markDeleted(this.counters, collection);
    if (!(await this.bucket.delete(catalogKey(project, name))))
      throw new VouchError('collection_not_found', `there is no collection named ${JSON.stringify(name)}`);
    this.#forget(catalogKey(project, name));
    return collection;
  }

  async #lookUp(project: string, name: string): Promise<Collection | undefined> {
    const entry = await this.bucket.get(catalogKey(project, name));
    return entry === undefined ? undefined : collectionOf(catalogEntryOf(entry));
  }

  /**
   * Ids are never given twice, not even after a deletion: a log subject belongs to one collection for ever. Nor where the
   * counter was lost: by its id alone a collection is served, whosever it is.
   */
  async #nextId(): Promise<number> {
    for (;;) {
      const entry = await this.counters.get(NEXT_ID);
      const counted = entry === undefined ? 1 : (entry.value as number);
      const id = Math.max(counted, this.#greatest + 1, this.greatestId() + 1);
      const taken =
        entry === undefined
          ? await this.counters.create(NEXT_ID, id + 1)
          : await this.counters.update(NEXT_ID, id + 1, entry.revision);
      if (taken !== undefined) return id;
    }
  }

  #told({ key, entry }: Change): void {
    const ahead = this.#ahead.get(key);
    if (ahead !== undefined && entry === undefined) {
      // Perhaps the end of an earlier collection of that name.
      void this.#confirm(key);
      return;
    }
    if (ahead !== undefined && (entry as Entry).revision >= ahead) this.#ahead.delete(key);
    if (entry === undefined) this.#forget(key);
    else this.#remember(collectionOf(catalogEntryOf(entry)), entry.revision);
  }

  async #confirm(key: string): Promise<void> {
    const entry = await this.bucket.get(key).catch(() => undefined);
    if (entry === undefined) this.#forget(key);
  }

  #remember(collection: Collection, revision: number): void {
    let names = this.#projects.get(collection.project);
    if (names === undefined) {
      names = new Map();
      this.#projects.set(collection.project, names);
    }
    const before = names.get(collection.name);
    // The watch may lag behind a read-through, and an answer behind the watch.
    if (before !== undefined && before.revision > revision) return;
    if (before !== undefined) this.#byId.delete(before.collection.id);
    names.set(collection.name, { collection, revision });
    this.#byId.set(collection.id, collection);
    this.#greatest = Math.max(this.#greatest, collection.id);
  }

  #forget(key: string): void {
    const dot = key.indexOf('.');
    const names = this.#projects.get(key.slice(0, dot));
    const collection = names?.get(key.slice(dot + 1))?.collection;
    if (names === undefined || collection === undefined) return;
    names.delete(collection.name);
    this.#byId.delete(collection.id);
    if (names.size === 0) this.#projects.delete(collection.project);
  }
}

function identical(existing: Collection, dimension: number): Collection {
  if (existing.dimension === dimension) return existing;
  throw new VouchError(
    'conflict',
    `collection ${JSON.stringify(existing.name)} exists with dimension ${existing.dimension}; dimension and metric cannot change`,
  );
}
