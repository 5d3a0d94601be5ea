/** Batch insert: all of it or nothing. */
import { VouchError } from '../../shared/errors.js';
import type { PreparedBatch } from '../body/batch.js';
import { unpackBytes } from '../body/packedBytes.js';
import type { BatchInsertResponse } from '../contract/records.js';
import { json, type Reply } from '../http/reply.js';
import { assertDimension, findCollection } from './findCollection.js';
import { numbersOf } from './numbers.js';
import type { HandlerRequest, Services } from './route.js';

export async function insertBatch(
  { caller, body, envelope }: HandlerRequest<PreparedBatch>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, body.collection);
  if (body.count === 0) return json<BatchInsertResponse>({ ids: [] });
  assertDimension(collection, body.dimension, '$.batch[0]');
  if (body.unevenAt >= 0)
    throw new VouchError('dimension_mismatch', `$.batch[${body.unevenAt}] is not as long as $.batch[0]`);
  const { count, vectors, metadata, texts, requestIds } = body;
  const call = {
    op: 'insertBatch',
    count,
    vectors,
    metadata: metadata && unpackBytes(metadata),
    texts,
    requestIds: requestIds && unpackBytes(requestIds),
  } as const;
  const { ids } = await backend.call(collection, call, envelope);
  return json<BatchInsertResponse>({ ids: [...numbersOf(ids)] });
}
