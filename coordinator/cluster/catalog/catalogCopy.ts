/** The copy of the catalog that a process keeps: entries as its watch reports them, and those that it has just written. */
import type { Change } from '../../../shared/bucket/bucket.js';
import { type Alias, aliasOf } from '../../../shared/registry/aliasEntry.js';
import { type CatalogEntry, catalogEntryOf, catalogKey } from '../../../shared/registry/catalogEntry.js';
import type { Collection } from './collection.js';
import { EntriesByName } from './entriesByName.js';

export function collectionOf(entry: CatalogEntry): Collection {
  const { config, spec, imported, auditReads, accessRetentionDays, accessAsked, wasAudited, ttlSecs } = entry;
  const { kind: index, parameters: indexParameters } = spec;
  return {
    ...{ ...config, index, indexParameters },
    ...(imported === undefined ? {} : { imported }),
    ...(auditReads && { auditReads }),
    ...(accessRetentionDays && { accessRetentionDays }),
    ...(accessAsked && { accessAsked }),
    ...(wasAudited && { wasAudited }),
    ...(ttlSecs && { ttlSecs }),
  };
}

export class CatalogCopy {
  readonly collections = new EntriesByName<Collection>();
  readonly aliases = new EntriesByName<Alias>();
  /** The collections of `collections`, keyed by id. */
  readonly #byId = new Map<number, Collection>();
  /** Project → number of its collections whose reads are audited; above 0. */
  readonly #audited = new Map<string, number>();
  /** The greatest id that was ever listed. Never decreases, also when that collection is deleted. */
  #greatestId = 0;
  /** The greatest revision that the watch has reported. */
  #reportedUpTo = 0;

  get size(): number {
    return this.#byId.size;
  }

  get greatestId(): number {
    return this.#greatestId;
  }

  all(): IterableIterator<Collection> {
    return this.#byId.values();
  }

  byId(id: number): Collection | undefined {
    return this.#byId.get(id);
  }

  /** The collection of this name or alias. */
  named(project: string, name: string): Collection | undefined {
    const known = this.collections.get(project, name)?.value;
    if (known !== undefined) return known;
    const alias = this.aliases.get(project, name)?.value;
    return alias && this.#byId.get(alias.collectionId);
  }

  hasAudited(project: string): boolean {
    return this.#audited.has(project);
  }

  /** Takes a change that the watch reports. */
  take({ key, entry, endedUpTo }: Change): void {
    this.#reportedUpTo = Math.max(this.#reportedUpTo, entry?.revision ?? endedUpTo ?? 0);
    if (entry === undefined) {
      this.forget(key, endedUpTo);
      this.aliases.delete(key, endedUpTo);
      return;
    }
    const { revision } = entry;
    const alias = aliasOf(entry);
    if (alias === undefined) {
      this.aliases.delete(key, revision);
      this.#remember(collectionOf(catalogEntryOf(entry)), revision);
    } else {
      this.forget(key, revision);
      this.aliases.set(key, alias, revision);
    }
  }

  /** Adds a collection that this process has written, before the watch reports it. */
  addOwn(collection: Collection, revision: number): void {
    if (!this.#isReported(revision)) this.#remember(collection, revision);
  }

  /** Adds an alias that this process has written, before the watch reports it. */
  addOwnAlias(key: string, alias: Alias, revision: number): void {
    if (!this.#isReported(revision)) this.aliases.set(key, alias, revision);
  }

  /** Whether the watch has reported this write. Then it may have reported the end of the entry too, which must not come back. */
  #isReported(revision: number): boolean {
    return revision <= this.#reportedUpTo;
  }

  #remember(collection: Collection, revision: number): void {
    const { project, name, id } = collection;
    const before = this.collections.get(project, name);
    if (!this.collections.set(catalogKey(project, name), collection, revision)) return;
    if (before !== undefined) this.#byId.delete(before.value.id);
    this.#byId.set(id, collection);
    this.#noteAudited(project, before?.value, collection);
    this.#greatestId = Math.max(this.#greatestId, id);
  }

  /** Forgets the collection of the key, unless its revision is above `upTo`. */
  forget(key: string, upTo?: number): void {
    const collection = this.collections.delete(key, upTo);
    if (collection === undefined) return;
    this.#byId.delete(collection.id);
    this.#noteAudited(collection.project, collection, undefined);
  }

  #noteAudited(project: string, before: Collection | undefined, now: Collection | undefined): void {
    const change = Number(now?.auditReads !== undefined) - Number(before?.auditReads !== undefined);
    if (change === 0) return;
    const count = (this.#audited.get(project) ?? 0) + change;
    if (count === 0) this.#audited.delete(project);
    else this.#audited.set(project, count);
  }
}
