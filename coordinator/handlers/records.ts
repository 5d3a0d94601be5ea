/** Inserting, reading, changing and deleting single records. */
import { dequantise } from '../../shared/fixedPoint.js';
import { shownMetadata } from '../body/json.js';
import type { Prepared } from '../body/kinds.js';
import type {
  CollectionQuery,
  DeleteResponse,
  InsertResponse,
  MetadataResponse,
  RecordResponse,
} from '../contract/records.js';
import { idParameter } from '../http/pathParameters.js';
import { json, type Reply } from '../http/reply.js';
import { assertDimension, findCollection } from './findCollection.js';
import { headerRequestId } from './idempotencyKey.js';
import { logIndex } from './logIndex.js';
import type { HandlerRequest, Services } from './route.js';

export async function insertRecord(
  { caller, body, idempotencyKey, envelope }: HandlerRequest<Prepared<'insert'>>,
  { backend }: Services,
): Promise<Reply> {
  const { vector, tag, metadata, text } = body;
  const requestId = body.requestId ?? headerRequestId(idempotencyKey);
  const collection = await findCollection(backend, caller.project, body.collection);
  assertDimension(collection, body.dimension, '$.values');
  const call = { op: 'insert', vector, tag, requestId, metadata, text } as const;
  const { id, deduplicated, receipt } = await backend.call(collection, call, envelope);
  return json<InsertResponse>({ id, deduplicated, receipt });
}

export async function getRecord(
  { caller, parameters, query, envelope }: HandlerRequest<undefined, CollectionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const id = idParameter(parameters[0]);
  const collection = await findCollection(backend, caller.project, query.collection);
  const record = await backend.call(collection, { op: 'get', id }, envelope);
  return json<RecordResponse>({
    id: record.id,
    vector: dequantise(record.vector),
    tag: record.tag,
    metadata: shownMetadata(record.metadata),
  });
}

/** For both deletions: they differ in what they leave behind, which is the shard's business. */
export const deleteRecord =
  (op: 'softDelete' | 'delete') =>
  async (
    { caller, body, envelope }: HandlerRequest<Prepared<'recordReference'>>,
    { backend }: Services,
  ): Promise<Reply> => {
    const collection = await findCollection(backend, caller.project, body.collection);
    const { sequence } = await backend.call(collection, { op, id: body.id }, envelope);
    return json<DeleteResponse>({ success: true, ...logIndex(backend, sequence) });
  };

export async function updateMetadata(
  { caller, parameters, query, body, envelope }: HandlerRequest<Prepared<'metadata'>, CollectionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const id = idParameter(parameters[0]);
  const collection = await findCollection(backend, caller.project, query.collection);
  const call = { op: 'updateMetadata', id, metadata: body.bytes } as const;
  const { sequence } = await backend.call(collection, call, envelope);
  return json<MetadataResponse>({ ok: true, id, ...logIndex(backend, sequence) });
}
