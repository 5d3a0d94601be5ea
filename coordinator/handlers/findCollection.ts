/** From the name a caller gave to a collection. */
import { VouchError } from '../../shared/errors.js';
import type { Backend, Collection } from '../backend.js';
import { isCollectionName } from '../contract/values.js';

/** Where a request names no collection. */
const DEFAULT_COLLECTION = 'default';
const SHOWN_CHARS = 64;

/** Throws `collection_not_found`, also for what could not be a name at all, and `conflict` where it is being imported. */
export async function findCollection(
  backend: Backend,
  project: string,
  wanted: string | null | undefined,
): Promise<Collection> {
  return backend.find(project, collectionName(wanted));
}

/** The name itself, of a collection in whatever condition. Throws `collection_not_found` for what could not be one. */
export function collectionName(wanted: string | null | undefined): string {
  const name = wanted ?? DEFAULT_COLLECTION;
  if (isCollectionName(name)) return name;
  throw new VouchError(
    'collection_not_found',
    `there is no collection named ${JSON.stringify(name.slice(0, SHOWN_CHARS))}`,
  );
}

/** Throws `dimension_mismatch`. `what` names the vector in the message. */
export function assertDimension(collection: Collection, dimension: number, what: string): void {
  if (dimension === collection.dimension) return;
  throw new VouchError(
    'dimension_mismatch',
    `${what} has ${dimension} components; collection ${collection.name} has dimension ${collection.dimension}`,
  );
}
