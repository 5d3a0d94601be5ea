/** Documents of the frameworks: records under the ids of their documents. */

import { counted } from '../verifier/counted.js';
import type { Collection } from './collection.js';
import type { SearchHit } from './contract/search.js';
import { CollectionNotFoundError } from './errors.js';
import { assertKnown, assertName, assertOptions, assertRequest } from './exact.js';
import type { JsonObject, Vector } from './values.js';

export interface StoredDocument {
  readonly id: string;
  readonly vector: Vector;
  readonly text: string | null;
  readonly metadata: JsonObject;
}

/** The most records that one request deletes by their ids. */
const DELETED_AT_ONCE = 16_384;

const CONFIG = ['vouch', 'collection', 'index', 'normalise', 'text', 'ttlSecs'];

/**
 * Refuses a configuration with unknown members: the collection would be created without what they ask for. Known are those of both
 * stores, `own` and `ofFramework`.
 */
export function assertConfig(
  config: object,
  { own = [], ofFramework = [] }: { readonly own?: readonly string[]; readonly ofFramework?: readonly string[] } = {},
): void {
  assertRequest(config, 'a store', '{ vouch, collection }');
  const ours = Object.entries(config).filter(([name]) => !ofFramework.includes(name));
  assertOptions(Object.fromEntries(ours), [...CONFIG, ...own], 'config');
}

/** The length of all vectors. Throws TypeError where they differ, or one is empty: no collection is created for them. */
export function dimensionOf(vectors: readonly Vector[], documents: readonly unknown[]): number {
  const dimension = vectors[0]?.length ?? 0;
  if (vectors.length !== documents.length)
    throw new TypeError(
      `${counted(vectors.length, 'vector was', 'vectors were')} given for ${counted(documents.length, 'document')}`,
    );
  const odd = vectors.findIndex((vector) => vector.length === 0 || vector.length !== dimension);
  if (odd >= 0)
    throw new TypeError(
      `the vector of document ${odd} has ${counted(vectors[odd]!.length, 'component')}, the first one ${dimension}`,
    );
  return dimension;
}

/** Inserts or replaces documents. If several have one id, the last one counts. Batches that were answered before a failure stay. */
export async function upsertDocuments(collection: Collection, documents: readonly StoredDocument[]): Promise<void> {
  const last = new Map(documents.map((document) => [document.id, document]));
  const records = Array.from(last.values(), ({ id, vector, text, metadata }) => ({
    ...{ externalId: id, values: vector, text, metadata },
  }));
  await collection.insertMany(records, { concurrency: 1 });
}

/** Deletes the documents that exist. A collection that does not exist yet has none. */
export async function deleteDocuments(
  collection: Collection,
  of: { readonly ids: readonly string[] } | { readonly filter: JsonObject },
): Promise<void> {
  assertChoice(of);
  await unlessMissing(async () => {
    if ('filter' in of) {
      await collection.deleteMany({ metadataFilter: of.filter });
      return;
    }
    const ids = [...new Set(of.ids)];
    for (let at = 0; at < ids.length; at += DELETED_AT_ONCE)
      await collection.deleteMany({ externalIds: ids.slice(at, at + DELETED_AT_ONCE) });
  });
}

/** Throws TypeError unless exactly one of `ids` and `filter` is given: the answer would claim a deletion that never was. */
function assertChoice(of: object | undefined): void {
  assertKnown(of ?? {}, ['ids', 'filter'], 'delete');
  if (Object.keys(of ?? {}).length !== 1) throw new TypeError('delete: give exactly one of ids and filter');
  if (!('ids' in of!)) return;
  const { ids } = of as { readonly ids: readonly unknown[] };
  if (!Array.isArray(ids)) throw new TypeError('delete.ids: expected a list of ids');
  for (const [i, id] of ids.entries()) assertName(id, `delete.ids[${i}]`);
}

/** Resolves to undefined if the collection does not exist yet: the first documents create it. */
export async function unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CollectionNotFoundError) return undefined;
    throw error;
  }
}

/** 1 for an exact match, and less the farther a hit is: the cosine where the collection normalises. */
export const relevanceOf = ({ score, similarity }: Pick<SearchHit, 'score' | 'similarity'>): number =>
  similarity ?? 1 / (1 + score);
