/** The entry of an alias in the catalog bucket, stored as snake_case JSON under the key that a collection of its name would have. */
import type { BucketValue, Entry } from '../bucket/bucket.js';
import { catalogKey } from './catalogEntry.js';

/** Another name of a collection. */
export interface Alias {
  readonly project: string;
  readonly name: string;
  readonly collectionId: number;
  /** The name of the collection. */
  readonly collection: string;
}

export interface StoredAlias {
  readonly project: string;
  readonly alias: string;
  readonly collection_id: number;
  readonly collection: string;
}

export const aliasKey = ({ project, name }: Pick<Alias, 'project' | 'name'>): string => catalogKey(project, name);

/** Undefined if the entry is that of a collection. */
export function aliasOf({ value }: Entry): Alias | undefined {
  if (!('alias' in (value as object))) return undefined;
  const { project, alias: name, collection_id: collectionId, collection } = value as unknown as StoredAlias;
  return { project, name, collectionId, collection };
}

export const storedAlias = ({ project, name, collectionId, collection }: Alias): BucketValue => {
  return { project, alias: name, collection_id: collectionId, collection };
};
