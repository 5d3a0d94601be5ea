import type { Bucket } from '../../shared/bucket/bucket.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { aliasOf } from '../../shared/registry/aliasEntry.js';
import { catalogEntryOf, catalogKey, isImporting } from '../../shared/registry/catalogEntry.js';

/** Whether the collection is being imported. Until that ends, its log must be a copy of the imported one. */
export async function isBeingImported(
  catalog: Pick<Bucket, 'get'>,
  { origin, project, name }: CollectionConfig,
): Promise<boolean> {
  const entry = origin === undefined ? undefined : await catalog.get(catalogKey(project, name));
  return entry !== undefined && aliasOf(entry) === undefined && isImporting(catalogEntryOf(entry));
}
