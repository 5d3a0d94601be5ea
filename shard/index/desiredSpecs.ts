/** The desired index of each collection, in the catalog: read and changed by the shard that owns the collection. */
import type { Bucket, Entry, Watch } from '../../shared/bucket/bucket.js';
import { VouchError } from '../../shared/errors/errors.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { EXACT, type IndexSpec } from '../../shared/model/indexSpec.js';
import { catalogEntryOf, catalogKey, withSpec } from '../../shared/registry/catalogEntry.js';

export class DesiredSpecs {
  /** `catalog`: BUCKETS.catalog. */
  constructor(private readonly catalog: Bucket) {}

  /** Throws `collection_not_found` where the collection was deleted, `unavailable` where the catalog cannot be read. */
  async read(config: CollectionConfig): Promise<IndexSpec> {
    return catalogEntryOf(await this.#entryOf(config)).spec;
  }

  /**
   * Changes the desired index and nothing else. Throws as `read`; after `unavailable` the catalog may have either of the
   * two specs.
   */
  async write(config: CollectionConfig, spec: IndexSpec): Promise<void> {
    for (;;) {
      const entry = await this.#entryOf(config);
      const revision = await this.catalog.update(entry.key, withSpec(entry, spec), entry.revision);
      if (revision !== undefined) return;
      // The entry has changed since it was read, and may be another collection's by now.
    }
  }

  /** Calls `listener` for every collection in the catalog, and then whenever the entry of one has changed. */
  watch(listener: (collectionId: number) => void): Promise<Watch> {
    return this.catalog.watch(({ entry }) => {
      if (entry !== undefined) listener(catalogEntryOf(entry).config.id);
    });
  }

  async #entryOf({ id, project, name }: CollectionConfig): Promise<Entry> {
    const entry = await this.catalog.get(catalogKey(project, name));
    if (entry !== undefined && catalogEntryOf(entry).config.id === id) return entry;
    throw new VouchError('collection_not_found', `collection ${JSON.stringify(name)} was deleted`);
  }
}

/** Returns the desired index; exact search for a collection that is being deleted, whose catalog entry is gone. */
export async function desiredSpec(specs: Pick<DesiredSpecs, 'read'>, config: CollectionConfig): Promise<IndexSpec> {
  try {
    return await specs.read(config);
  } catch (error) {
    if (error instanceof VouchError && error.code === 'collection_not_found') return EXACT;
    throw error;
  }
}
