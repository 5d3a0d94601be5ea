/** The collection that rows are loaded into. */
import type { CreateCollectionResponse, ListCollectionsResponse } from '../../coordinator/contract/collections.js';
import type { ServiceClient } from '../service/serviceClient.js';
import { say } from '../terminal/line.js';
import type { Opened } from './combined.js';
import { RowRejected, rejection } from './rejects.js';
import type { LoadRequest } from './request.js';
import { dimensionOf, rowOf } from './row.js';

/** Makes it where it is not there and the command says so. Throws an Error of one line. */
export async function collectionFor(
  client: ServiceClient,
  { collection: name, created, columns }: LoadRequest,
  { first, fault, source }: Opened,
): Promise<{ readonly id: number; readonly dimension: number }> {
  const { collections } = await client.ask<ListCollectionsResponse>('GET', '/v1/namespaces');
  const found = collections.find((collection) => collection.name === name);
  if (found !== undefined) return found;
  if (created === undefined) throw new Error(`there is no collection ${name}: --create makes it`);
  if (first === undefined) throw new RowRejected(rejection(fault!.number, fault!.fault));
  const dimension = dimensionOf(rowOf(first.fields, columns, source.usual));
  const wanted = {
    name,
    dimension,
    metric: 'squared_l2',
    ...(created.index !== undefined && { index: created.index }),
  };
  const { id } = await client.ask<CreateCollectionResponse>('POST', '/v1/namespaces', wanted);
  say('done', 'collection', `${name} is made, of ${dimension} components`);
  return { id, dimension };
}
