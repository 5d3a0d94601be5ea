/**
 * The catalog of all collections. Its bucket decides; every coordinator keeps a copy, which a watch brings up to date. On a miss the
 * watch catches up first, so that a collection created at one coordinator exists at all of them at once.
 */
import type { Bucket, Change, Watch } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';
import { refusal, unavailable } from '../../../shared/errors/errors.js';
import { type Scale, scaleOf } from '../../../shared/fixedPoint.js';
import { originOf } from '../../../shared/model/collectionConfig.js';
import {
  type CatalogEntry,
  catalogEntryOf,
  catalogKey,
  isImporting,
  storedEntry,
} from '../../../shared/registry/catalogEntry.js';
import { KeyedMutex } from '../../../shared/scheduling/mutex.js';
import type { Collection, Created, ImportedCollection, WantedCollection, WantedImport } from './collection.js';
import { markDeleted } from './deletionMarks.js';

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
  /** Project → name → collection. No map is empty. */
  readonly #projects = new Map<string, Map<string, Known>>();
  /** The collections of `#projects`, keyed by id. */
  readonly #byId = new Map<number, Collection>();
  /** Keyed by project. */
  readonly #creations = new KeyedMutex<string>();
  readonly #bucket: Bucket;
  readonly #counters: Bucket;
  readonly #ids: Bucket;
  /** Undefined before the start: then nothing can be read. */
  #watch: Watch | undefined;
  /** The greatest id that was ever listed. Never decreases, also when that collection is deleted. */
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

  /** Resolves when every collection is known, even if a stale replica reports fewer at first. May be called again. */
  async start(): Promise<void> {
    this.#watch ??= await this.#bucket.watch((change) => this.#onChange(change));
    await this.#watch.caughtUp();
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

  /** The collections of a project, sorted by name. */
  list(project: string): Collection[] {
    const known = [...(this.#projects.get(project)?.values() ?? [])].map(({ collection }) => collection);
    return known.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Throws `collection_not_found`, and `conflict` while the collection is being imported. */
  async find(project: string, name: string): Promise<Collection> {
    const known = this.#known(project, name)?.collection;
    if (known !== undefined && !isImporting(known)) return known;
    // Another coordinator may have created it, or finished its import.
    return assertUsable(await this.reread(project, name));
  }

  /**
   * `unit` if one of the collections normalises, as far as is known, with a read of those that are not known. A collection that
   * does not exist, or cannot be read, counts as one that does not.
   */
  scaleFor(project: string, names: readonly string[]): Scale | Promise<Scale> {
    const known = names.map((name) => this.#known(project, name)?.collection);
    if (known.some((collection) => collection !== undefined && scaleOf(collection) === 'unit')) return 'unit';
    const unknown = names.filter((_, i) => known[i] === undefined);
    return unknown.length === 0 ? 'plain' : this.#scaleForUnknown(project, unknown);
  }

  async #scaleForUnknown(project: string, names: readonly string[]): Promise<Scale> {
    const read = await Promise.allSettled(names.map((name) => this.#read(project, name)));
    const isUnit = read.some(
      (one) => one.status === 'fulfilled' && one.value !== undefined && scaleOf(one.value.collection) === 'unit',
    );
    return isUnit ? 'unit' : 'plain';
  }

  /** Reads the collection as of this call. Throws `collection_not_found`. */
  async reread(project: string, name: string): Promise<Collection> {
    return (await this.#lookUp(project, name)).collection;
  }

  async #lookUp(project: string, name: string): Promise<Known> {
    const found = await this.#read(project, name);
    if (found === undefined) throw refusal('collection_not_found', 'named', { name: JSON.stringify(name) });
    return found;
  }

  /** The collection of that name as of this call. */
  async #read(project: string, name: string): Promise<Known | undefined> {
    if (this.#watch === undefined) throw unavailable('the catalog is not read yet; retry shortly');
    const entry = await this.#watch.read(catalogKey(project, name));
    return entry && { collection: collectionOf(catalogEntryOf(entry)), revision: entry.revision };
  }

  /** The id of the collection of that name; undefined if it certainly does not exist. */
  async listedId(project: string, name: string): Promise<number | undefined> {
    return (await this.#read(project, name))?.collection.id;
  }

  /** Whether the catalog lists the collection of this id under its name, as of this call. */
  async isListed({ id, project, name }: { id: number; project: string; name: string }): Promise<boolean> {
    return (await this.listedId(project, name)) === id;
  }

  /** Whether the collection of this id was deleted, as of this call. Ids only grow: a greater id under its name is newer. */
  async isGone({ id, project, name }: { id: number; project: string; name: string }): Promise<boolean> {
    const now = await this.listedId(project, name);
    return now === undefined || now > id;
  }

  async create(project: string, wanted: WantedCollection): Promise<Created> {
    const { name, dimension, normalise, index } = wanted;
    const fixed = { dimension, metric: 'squared_l2', ...(normalise && { normalise }) } as const;
    const made = await this.#findOrMake(project, name, (id) => ({
      config: { id, project, name, ...fixed, createdAtMs: this.clock.nowMs() },
      spec: { kind: index, parameters: {} },
    }));
    return { collection: assertIdentical(assertUsable(made.collection), wanted), created: made.created };
  }

  /** Creates the collection, or finds the import of the same export. Throws `conflict` for any other. */
  async createImport(project: string, wanted: WantedImport): Promise<Created<ImportedCollection>> {
    const { name, dimension, normalise, createdAtMs, origin, spec, end } = wanted;
    const fixed = { dimension, metric: 'squared_l2', ...(normalise && { normalise }) } as const;
    const made = await this.#findOrMake(project, name, (id) => ({
      config: { id, project, name, ...fixed, createdAtMs, origin },
      spec,
      imported: { ...end, finished: false },
    }));
    return { collection: assertSameImport(made.collection, wanted), created: made.created };
  }

  /** Reads the import as of this call. Throws `collection_not_found`, `conflict` if the collection was not imported. */
  async findImport(project: string, name: string): Promise<ImportedCollection> {
    return assertImported(await this.reread(project, name));
  }

  async finishImport({ id, project, name }: ImportedCollection): Promise<void> {
    for (;;) {
      const entry = await this.#watch?.read(catalogKey(project, name));
      const now = entry && catalogEntryOf(entry);
      if (entry === undefined || now?.imported === undefined || now.config.id !== id)
        throw refusal('collection_not_found', 'deleted', { name: JSON.stringify(name) });
      if (now.imported.finished) break;
      const finished = { ...now, imported: { ...now.imported, finished: true } };
      if ((await this.#bucket.update(entry.key, storedEntry(finished), entry.revision)) !== undefined) break;
    }
    await this.reread(project, name);
  }

  /** Runs one creation after another in a project. Otherwise all of them would find room for one more. */
  #findOrMake(project: string, name: string, entryOf: (id: number) => CatalogEntry): Promise<Created> {
    return this.#creations.run(project, () => this.#findOrMakeInTurn(project, name, entryOf));
  }

  async #findOrMakeInTurn(project: string, name: string, entryOf: (id: number) => CatalogEntry): Promise<Created> {
    for (;;) {
      await this.#watch?.caughtUp();
      const now = this.#known(project, name);
      if (now !== undefined) return { collection: now.collection, created: false };
      this.#assertRoom(project);
      const entry = entryOf(await this.#nextId());
      const revision = await this.#bucket.create(catalogKey(project, name), storedEntry(entry));
      if (revision === undefined) continue;
      const collection = collectionOf(entry);
      // The watch reports it a little later.
      this.#remember(collection, revision);
      return { collection, created: true };
    }
  }

  #assertRoom(project: string): void {
    if ((this.#projects.get(project)?.size ?? 0) < this.collectionsPerProject) return;
    throw refusal('capacity_exceeded', 'collections', { count: this.collectionsPerProject });
  }

  /**
   * Marks the collection and removes its name. The caller removes its log and its owner entry. Repeats if another process replaces
   * or changes the entry meanwhile.
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

  /**
   * Returns an id that no collection ever had, even after a deletion or the loss of the counter. It names the log and the subject of
   * one collection for ever.
   */
  #nextId(): Promise<number> {
    return this.#ids.next(IDS, Math.max(this.#greatestId, this.greatestOwnedId()));
  }

  #onChange({ key, entry, endedUpTo }: Change): void {
    if (entry === undefined) this.#forget(key, endedUpTo);
    else this.#remember(collectionOf(catalogEntryOf(entry)), entry.revision);
  }

  #remember(collection: Collection, revision: number): void {
    let names = this.#projects.get(collection.project);
    if (names === undefined) {
      names = new Map();
      this.#projects.set(collection.project, names);
    }
    const before = names.get(collection.name);
    // The watch may be behind the writes of this process.
    if (before !== undefined && before.revision > revision) return;
    if (before !== undefined) this.#byId.delete(before.collection.id);
    names.set(collection.name, { collection, revision });
    this.#byId.set(collection.id, collection);
    this.#greatestId = Math.max(this.#greatestId, collection.id);
  }

  /** Forgets the entry of the key, unless its revision is above `upTo`. */
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

function assertIdentical(existing: Collection, { dimension, normalise }: WantedCollection): Collection {
  if (existing.dimension !== dimension)
    throw refusal('conflict', 'dimension', { ...shown(existing), dimension: existing.dimension });
  if (existing.normalise !== normalise)
    throw refusal('conflict', 'normalise', { ...shown(existing), has: existing.normalise ? 'with' : 'without' });
  return existing;
}

/** The name in a message. */
const shown = ({ name }: Collection): { name: string } => ({ name: JSON.stringify(name) });

function assertUsable(collection: Collection): Collection {
  if (isImporting(collection)) throw refusal('conflict', 'importing', shown(collection));
  return collection;
}

function assertImported(collection: Collection): ImportedCollection {
  const { imported } = collection;
  if (imported === undefined) throw refusal('conflict', 'notImported', shown(collection));
  return { ...collection, imported };
}

function assertSameImport(
  collection: Collection,
  { origin, dimension, normalise, createdAtMs, end }: WantedImport,
): ImportedCollection {
  const existing = assertImported(collection);
  const { imported } = existing;
  const own = originOf(existing);
  const isSame =
    own.project === origin.project &&
    own.name === origin.name &&
    own.id === origin.id &&
    existing.dimension === dimension &&
    existing.normalise === normalise &&
    existing.createdAtMs === createdAtMs &&
    imported.sequence === end.sequence &&
    imported.chainHead === end.chainHead &&
    imported.stateHash === end.stateHash;
  if (!isSame) throw refusal('conflict', 'otherImport', shown(existing));
  return existing;
}
