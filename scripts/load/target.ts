/** The collection that rows are loaded into. */
import type { CreateCollectionResponse, ListCollectionsResponse } from '../../coordinator/contract/collections.js';
import type { ServiceClient } from '../service/serviceClient.js';
import { say } from '../terminal/line.js';
import type { LoadRequest } from './request.js';
import { dimensionOf, rowOf } from './row.js';
import type { RawRow, Source } from './source.js';

interface Sample {
  readonly first: RawRow;
  readonly usual: Source['usual'];
}

/** Makes it where it is not there and the command says so. Throws an Error of one line. */
export async function collectionFor(
  client: ServiceClient,
  { collection: name, created, columns }: LoadRequest,
  { first, usual }: Sample,
): Promise<{ readonly id: number; readonly dimension: number }> {
  const { collections } = await client.ask<ListCollectionsResponse>('GET', '/v1/namespaces');
  const found = collections.find((collection) => collection.name === name);
  if (found !== undefined) return found;
  if (created === undefined) throw new Error(`there is no collection ${name}: --create makes it`);
  const dimension = dimensionOf(rowOf(first.fields, columns, usual));
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
