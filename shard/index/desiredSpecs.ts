/** Which index each collection is to have: the catalog's word, read and changed by the shard that owns the collection. */
import type { Bucket, Entry } from '../../shared/bucket/bucket.js';
import type { CollectionConfig } from '../../shared/calls.js';
import { catalogEntryOf, catalogKey, withSpec } from '../../shared/catalogEntry.js';
import { VouchError } from '../../shared/errors.js';
import type { IndexSpec } from '../../shared/indexSpec.js';

export class DesiredSpecs {
  /** `catalog`: BUCKETS.catalog. */
  constructor(private readonly catalog: Bucket) {}

  /** Throws `collection_not_found` where the collection was deleted, `unavailable` where the catalog cannot be read. */
  async read(config: CollectionConfig): Promise<IndexSpec> {
    return catalogEntryOf(await this.#entryOf(config)).spec;
  }

  /**
   * Changes nothing but the index. Throws as `read` does; after `unavailable` it is not known which of the two specs the
   * catalog has.
   */
  async write(config: CollectionConfig, spec: IndexSpec): Promise<void> {
    for (;;) {
      const entry = await this.#entryOf(config);
      const revision = await this.catalog.update(entry.key, withSpec(entry, spec), entry.revision);
      // Otherwise the entry has changed since it was read: perhaps it is another collection's by now.
      if (revision !== undefined) return;
    }
  }

  async #entryOf({ id, project, name }: CollectionConfig): Promise<Entry> {
    const entry = await this.catalog.get(catalogKey(project, name));
    if (entry !== undefined && catalogEntryOf(entry).config.id === id) return entry;
    throw new VouchError('collection_not_found', `collection ${JSON.stringify(name)} was deleted`);
  }
}
