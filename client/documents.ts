/** Documents of the frameworks: records under the ids of their documents. */
import type { Collection } from './collection.js';
import { CollectionNotFoundError } from './errors.js';
import type { JsonObject, Vector } from './values.js';

export interface StoredDocument {
  readonly id: string;
  readonly vector: Vector;
  readonly text: string | null;
  readonly metadata: JsonObject;
}

const BATCH_DOCUMENTS = 500;

/** Inserts or replaces documents; of several with one id the last one. Batches that were answered before a failure stay. */
export async function upsertDocuments(collection: Collection, documents: readonly StoredDocument[]): Promise<void> {
  const last = [...new Map(documents.map((document) => [document.id, document])).values()];
  for (let at = 0; at < last.length; at += BATCH_DOCUMENTS) {
    const part = last.slice(at, at + BATCH_DOCUMENTS);
    await collection.batchUpsert({
      externalIds: part.map(({ id }) => id),
      batch: part.map(({ vector }) => vector),
      texts: part.map(({ text }) => text),
      metadata: part.map(({ metadata }) => metadata),
    });
  }
}

/** Deletes the documents that are there. A collection that nothing was ever added to has none. */
export async function deleteDocuments(
  collection: Collection,
  of: { readonly ids: readonly string[] } | { readonly filter: JsonObject },
): Promise<void> {
  try {
    if ('filter' in of) await collection.deleteMany({ metadataFilter: of.filter });
    else if (of.ids.length > 0) await collection.deleteMany({ externalIds: [...of.ids] });
  } catch (error) {
    if (!(error instanceof CollectionNotFoundError)) throw error;
  }
}
