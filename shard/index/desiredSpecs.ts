/** The desired index of each collection, in the catalog. The shard that owns the collection reads and changes it. */
import type { Bucket, Entry, Watch } from '../../shared/bucket/bucket.js';
import { refusal, VouchError } from '../../shared/errors/errors.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { BRUTE, type IndexSpec } from '../../shared/model/indexSpec.js';
import { aliasOf } from '../../shared/registry/aliasEntry.js';
import { catalogEntryOf, catalogKey, withSpec } from '../../shared/registry/catalogEntry.js';

export class DesiredSpecs {
  /** `catalog`: BUCKETS.catalog. */
  constructor(private readonly catalog: Bucket) {}

  /**
   * Reads the desired index. Throws `collection_not_found` if the collection was deleted, `unavailable` if the catalog
   * cannot be read.
   */
  async read(config: CollectionConfig): Promise<IndexSpec> {
    return catalogEntryOf(await this.#entryOf(config)).spec;
  }

  /**
   * Changes only the desired index. Throws like `read`. After `unavailable` the catalog may have either of the two
   * specs.
   */
  async write(config: CollectionConfig, spec: IndexSpec): Promise<void> {
    for (;;) {
      const entry = await this.#entryOf(config);
      const revision = await this.catalog.update(entry.key, withSpec(entry, spec), entry.revision);
      if (revision !== undefined) return;
      // The entry changed after it was read, and may belong to another collection now.
    }
  }

  /** Calls `listener` for every collection in the catalog, and again for each change of an entry. */
  watch(listener: (collectionId: number) => void): Promise<Watch> {
    return this.catalog.watch(({ entry }) => {
      if (entry !== undefined && aliasOf(entry) === undefined) listener(catalogEntryOf(entry).config.id);
    });
  }

  async #entryOf({ id, project, name }: CollectionConfig): Promise<Entry> {
    const entry = await this.catalog.get(catalogKey(project, name));
    const isCollection = entry !== undefined && aliasOf(entry) === undefined;
    if (isCollection && catalogEntryOf(entry).config.id === id) return entry;
    throw refusal('collection_not_found', 'deleted', { name: JSON.stringify(name) });
  }
}

/** Returns the desired index; exact search for a collection that is being deleted, which has no catalog entry. */
export async function desiredSpec(specs: Pick<DesiredSpecs, 'read'>, config: CollectionConfig): Promise<IndexSpec> {
  try {
    return await specs.read(config);
  } catch (error) {
    if (error instanceof VouchError && error.code === 'collection_not_found') return BRUTE;
    throw error;
  }
}
