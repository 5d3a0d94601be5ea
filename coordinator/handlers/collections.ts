/** Creating, listing and deleting collections. */
import type { Prepared } from '../body/kinds.js';
import type { CreateCollectionResponse, ListCollectionsResponse } from '../contract/collections.js';
import { json, noContent, type Reply } from '../http/reply.js';
import { collectionName } from './findCollection.js';
import { assertIndexing } from './indexes.js';
import type { HandlerRequest, Services } from './route.js';

export async function createCollection(
  { caller, body, envelope }: HandlerRequest<Prepared<'createCollection'>>,
  { backend, config }: Services,
): Promise<Reply> {
  const { name, dimension } = body;
  const index = body.index ?? 'brute';
  if (index !== 'brute') assertIndexing(config);
  const { collection, created } = await backend.create(caller.project, { name, dimension, index }, envelope);
  return json<CreateCollectionResponse>({ name: collection.name, id: collection.id, created });
}

export async function listCollections(
  { caller, envelope }: HandlerRequest,
  { backend, config }: Services,
): Promise<Reply> {
  const collections = await backend.list(caller.project, envelope);
  return json<ListCollectionsResponse>({
    collections: collections.map(({ name, id, dimension, metric, serving, records, imported }) => ({
      name,
      id,
      dimension,
      metric,
      index: serving,
      record_count: records,
      max_records: config.limits.maxRecords,
      ...(imported?.finished === false ? { importing: true } : {}),
    })),
  });
}

export async function deleteCollection(
  { caller, parameters, envelope }: HandlerRequest,
  { backend }: Services,
): Promise<Reply> {
  await backend.remove(caller.project, collectionName(parameters[0]), envelope);
  return noContent;
}
