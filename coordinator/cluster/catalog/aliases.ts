/**
 * Writes aliases. A name belongs to a collection or to an alias, since both have the same key in the catalog. Every use of an alias
 * reads its entry as of that call: after a move is answered, no coordinator uses the former collection.
 *
 * An alias and the deletion of its collection cannot both succeed. A move writes the alias, and then the entry of the collection
 * unchanged. A deletion reads the entry, then looks for aliases, and removes only the revision that it read.
 */
import type { Bucket } from '../../../shared/bucket/bucket.js';
import { refusal } from '../../../shared/errors/errors.js';
import { type Alias, aliasKey, aliasOf, storedAlias } from '../../../shared/registry/aliasEntry.js';
import { catalogEntryOf, catalogKey } from '../../../shared/registry/catalogEntry.js';
import { KeyedMutex } from '../../../shared/scheduling/mutex.js';
import type { CatalogCopy } from './catalogCopy.js';
import type { Collection } from './collection.js';
import type { Revised } from './entriesByName.js';

/** The parts of the catalog that aliases need. */
interface AliasCatalog {
  /** BUCKETS.catalog. */
  readonly bucket: Bucket;
  readonly copy: CatalogCopy;
  /** Resolves when the copy has everything that was stored before the call. */
  caughtUp(): Promise<void>;
  /** The usable collection of that name as of this call; the copy has caught up then. Throws, also if the name is an alias. */
  aliasable(project: string, name: string): Promise<Collection>;
  /** Throws `conflict` if a collection has the name, by the copy. */
  assertNoCollection(project: string, name: string): void;
}

export class Aliases {
  readonly #copy: CatalogCopy;
  readonly #bucket: Bucket;
  /** Keyed by project. */
  readonly #puts = new KeyedMutex<string>();

  constructor(
    private readonly catalog: AliasCatalog,
    private readonly aliasesPerProject: number,
  ) {
    this.#copy = catalog.copy;
    this.#bucket = catalog.bucket;
  }

  /** The aliases of a project as of this call, sorted by name. */
  async list(project: string): Promise<Alias[]> {
    await this.catalog.caughtUp();
    return this.#copy.aliases.of(project);
  }

  /**
   * Creates the alias, or moves it to the collection. Throws `collection_not_found` and `capacity_exceeded`. Throws `validation_error`
   * if the collection's name is an alias. Throws `conflict` if the alias is the name of a collection, or the collection is imported.
   */
  put(project: string, name: string, collection: string): Promise<Alias> {
    // Run one after another: otherwise all creations would find room for one more.
    return this.#puts.run(project, () => this.#putInTurn(project, name, collection));
  }

  async #putInTurn(project: string, name: string, wanted: string): Promise<Alias> {
    for (;;) {
      const { id, name: collection } = await this.catalog.aliasable(project, wanted);
      const before = this.#copy.aliases.get(project, name);
      const alias = { project, name, collectionId: id, collection };
      const revision = before?.value.collectionId === id ? before.revision : await this.#write(alias, before);
      if (revision === undefined) continue;
      if (await this.#confirm(alias)) return alias;
      await this.#takeBack(alias, revision, before?.value);
    }
  }

  /** The new revision; undefined if another process has written the entry. */
  async #write(alias: Alias, before: Revised<Alias> | undefined): Promise<number | undefined> {
    const key = aliasKey(alias);
    if (before === undefined) this.#assertRoom(alias);
    const value = storedAlias(alias);
    const revision = await (before === undefined
      ? this.#bucket.create(key, value)
      : this.#bucket.update(key, value, before.revision));
    if (revision !== undefined) this.#copy.addOwnAlias(key, alias, revision);
    return revision;
  }

  #assertRoom({ project, name }: Alias): void {
    this.catalog.assertNoCollection(project, name);
    if (this.#copy.aliases.count(project) < this.aliasesPerProject) return;
    throw refusal('capacity_exceeded', 'aliases', { count: this.aliasesPerProject });
  }

  /** Writes the entry of the collection unchanged, so that a deletion that has not seen the alias looks again. False if it is deleted. */
  async #confirm({ project, collection, collectionId }: Alias): Promise<boolean> {
    for (;;) {
      const entry = await this.#bucket.get(catalogKey(project, collection));
      if (entry === undefined || aliasOf(entry) !== undefined) return false;
      if (catalogEntryOf(entry).config.id !== collectionId) return false;
      if ((await this.#bucket.update(entry.key, entry.value, entry.revision)) !== undefined) return true;
    }
  }

  /** Undoes a move to a collection that is deleted meanwhile, unless another process has moved the alias since. */
  async #takeBack(alias: Alias, revision: number, before: Alias | undefined): Promise<void> {
    const key = aliasKey(alias);
    if (before === undefined || before.collectionId === alias.collectionId) {
      if (await this.#bucket.delete(key, revision)) this.#copy.aliases.delete(key, revision);
      return;
    }
    const restored = await this.#bucket.update(key, storedAlias(before), revision);
    if (restored !== undefined) this.#copy.addOwnAlias(key, before, restored);
  }

  /** Removes the alias; its collection stays. Throws `not_found`. */
  async remove(project: string, name: string): Promise<void> {
    for (;;) {
      await this.catalog.caughtUp();
      const known = this.#copy.aliases.get(project, name);
      if (known === undefined) throw refusal('not_found', 'alias', { name: JSON.stringify(name) });
      const key = aliasKey(known.value);
      if (!(await this.#bucket.delete(key, known.revision))) continue;
      this.#copy.aliases.delete(key, known.revision);
      return;
    }
  }
}
