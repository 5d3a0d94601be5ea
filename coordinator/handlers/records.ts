/** The endpoints of records: insert one or many, read, delete, and change metadata. */

import { counted } from '../../shared/errors/counted.js';
import { refusal, unavailable, type VouchError } from '../../shared/errors/errors.js';
import { type Scale, scaleOf } from '../../shared/fixedPoint.js';
import { toHex } from '../../shared/hashing/hash.js';
import { reuseLong } from '../../shared/longMemory.js';
import type { RecordName } from '../../shared/model/recordName.js';
import type { DeleteManyCall } from '../../shared/protocol/writes.js';
import { inSlices } from '../../shared/scheduling/slice.js';
import type { PreparedBatch } from '../body/batch.js';
import { shownMetadata } from '../body/json.js';
import type { Prepared } from '../body/kinds.js';
import { unpackBytes } from '../body/packedBytes.js';
import { guardOf, prepareExternal } from '../body/recordNames.js';
import type { Collection } from '../cluster/catalog/collection.js';
import {
  assertExternalMetadataQuery,
  assertExternalRecordQuery,
  assertMetadataQuery,
  assertRecordQuery,
  type BatchInsertResponse,
  type BatchUpsertResponse,
  type DeleteRecordsResponse,
  type DeleteResponse,
  type MetadataQuery,
  type MetadataResponse,
  type PatchRecordsResponse,
  type RecordQuery,
  type RecordResponse,
} from '../contract/records.js';
import { COLLECTION_ERRORS, type HandlerRequest } from '../http/handlerRequest.js';
import { JsonWriter } from '../http/jsonWriter.js';
import { isMergePatch } from '../http/mediaTypes.js';
import { json, jsonText, type Reply } from '../http/reply.js';
import { queryType, type Route, readRoute, writeRoute } from '../http/route.js';
import { float64sOf } from './hits.js';
import { batchRequestIds, bodyRequestId } from './idempotencyKey.js';
import { unixSeconds, utf8Text, writeVector } from './recordJson.js';

const INSERT_ERRORS = ['dimension_mismatch', ...COLLECTION_ERRORS, 'capacity_exceeded'] as const;
const RECORD_ERRORS = [...COLLECTION_ERRORS, 'record_not_found'] as const;

export const RECORD_ROUTES: readonly Route[] = [
  writeRoute('POST /v1/records', {
    summary: 'Insert a vector',
    body: 'insert',
    isIdempotent: true,
    answers: 'InsertResponse',
    errors: INSERT_ERRORS,
    handle: async (request) => {
      const { vector, tag, metadata, text, expiry, keyId } = request.body;
      const requestId = bodyRequestId(request.idempotencyKey, request.body.requestId);
      const collection = await request.find(request.body.collection);
      assertFits(collection, request.body, '$.values');
      const life = { ...expiry, ...lifeOf(collection) };
      const call = { op: 'insert', vector, tag, requestId, metadata, text, ...life, ...(keyId && { keyId }) } as const;
      const { id, deduplicated, receipt, keyId: key } = await request.call(collection, call);
      const start = `{"id":${id},"deduplicated":${deduplicated},"receipt":${receipt}`;
      return jsonText(key === undefined ? `${start}}` : `${start},"key_id":"${key}"}`);
    },
  }),
  writeRoute('POST /v1/vectors/batch-insert', {
    summary: 'Insert many vectors, all of them or none',
    body: 'batch',
    isIdempotent: true,
    answers: 'BatchInsertResponse',
    errors: INSERT_ERRORS,
    handle: async (request) => {
      const { ids, keys } = await writeBatch(request);
      return json<BatchInsertResponse>({ ids, ...keys });
    },
  }),
  writeRoute('POST /v1/vectors/batch-upsert', {
    alsoReads: true,
    summary: 'Insert or replace many vectors by external ids, all of them or none',
    body: 'upsert',
    isIdempotent: true,
    answers: 'BatchUpsertResponse',
    errors: INSERT_ERRORS,
    handle: async (request) => {
      const { ids, created, keys } = await writeBatch(request);
      return json<BatchUpsertResponse>({ ids, created, replaced: ids.length - created, ...keys });
    },
  }),
  writeRoute('POST /v1/records/delete', {
    alsoReads: true,
    summary: 'Delete many records and free their slots, all of them or none',
    body: 'deleteRecords',
    isIdempotent: true,
    answers: 'DeleteRecordsResponse',
    errors: COLLECTION_ERRORS,
    handle: async (request) => {
      const { collection, of, guard } = request.body;
      const requestId = bodyRequestId(request.idempotencyKey, request.body.requestId);
      const call = { op: 'deleteMany', of, ...guard, ...(requestId === null ? {} : { requestId }) } as const;
      const { deleted, missing, sequence, deduplicated } = await request.callNamed(collection, call);
      if (deduplicated) return json<DeleteRecordsResponse>({ deleted, log_index: sequence!, deduplicated });
      return json<DeleteRecordsResponse>({ deleted, ...ofMany(of, sequence, missing) });
    },
  }),
  writeRoute('POST /v1/records/metadata', {
    alsoReads: true,
    summary: 'Merge a patch into the metadata of many records, all of them or none',
    body: 'patchRecords',
    answers: 'PatchRecordsResponse',
    errors: COLLECTION_ERRORS,
    handle: async (request) => {
      const { collection, of, guard, patch } = request.body;
      const call = { op: 'patchMany', of, patch, ...guard } as const;
      const { updated, missing, sequence } = await request.callNamed(collection, call);
      return json<PatchRecordsResponse>({ updated, ...ofMany(of, sequence, missing) });
    },
  }),
  readRoute('GET /v1/records/{id}', {
    summary: 'Read a record',
    query: queryType('RecordQuery', assertRecordQuery),
    answers: 'RecordResponse',
    errors: ['record_not_found'],
    handle: (request) => getRecord(request, { ...request.query, of: request.id }),
  }),
  readRoute('GET /v1/records/by-external-id', {
    summary: 'Read a record by its external id',
    query: queryType('ExternalRecordQuery', (given) => prepareExternal(assertExternalRecordQuery(given))),
    answers: 'RecordResponse',
    errors: ['record_not_found'],
    handle: (request) => getRecord(request, request.query),
  }),
  writeRoute('POST /v1/soft-delete', {
    alsoReads: true,
    summary: 'Hide a record and keep its slot',
    body: 'recordReference',
    answers: 'DeleteResponse',
    errors: RECORD_ERRORS,
    handle: (request) => deleteRecord('softDelete', request),
  }),
  writeRoute('POST /v1/delete', {
    alsoReads: true,
    summary: 'Delete a record and free its slot',
    body: 'recordReference',
    answers: 'DeleteResponse',
    errors: RECORD_ERRORS,
    handle: (request) => deleteRecord('delete', request),
  }),
  writeRoute('PATCH /v1/records/{id}/metadata', {
    alsoReads: true,
    summary: "Replace a record's metadata, or merge a patch into it",
    body: 'metadata',
    query: queryType('MetadataQuery', assertMetadataQuery),
    answers: 'MetadataResponse',
    errors: ['record_not_found'],
    handle: (request) => updateMetadata(request, { ...request.query, of: request.id }),
  }),
  writeRoute('PATCH /v1/records/by-external-id/metadata', {
    alsoReads: true,
    summary: "Replace a record's metadata, or merge a patch into it, by the external id",
    body: 'metadata',
    query: queryType('ExternalMetadataQuery', (given) => prepareExternal(assertExternalMetadataQuery(given))),
    answers: 'MetadataResponse',
    errors: ['record_not_found'],
    handle: (request) => updateMetadata(request, request.query),
  }),
];

/** The last event of a write of many records, and those that were not there, unless a filter named them. */
function ofMany(
  of: DeleteManyCall['of'],
  sequence: number | null,
  missing: readonly number[],
): Pick<DeleteRecordsResponse, 'log_index' | 'missing'> {
  const named = 'filter' in of ? undefined : 'ids' in of ? of.ids : of.externalIds;
  return {
    ...(sequence === null ? {} : { log_index: sequence }),
    ...(named === undefined ? {} : { missing: missing.map((place) => named[place]!) }),
  };
}

/** A record, and the collection that has it. */
interface Named {
  readonly collection?: string;
  readonly of: RecordName;
}

async function getRecord(
  request: HandlerRequest,
  { collection: name, of, with: fields }: Named & RecordQuery,
): Promise<Reply> {
  const collection = await request.find(name);
  const named = fields?.split(',') ?? [];
  const call = {
    ...({ op: 'get', id: of } as const),
    ...(named.includes('text') && ({ text: true } as const)),
    ...(named.includes('salt') && ({ salt: true } as const)),
  };
  const read = await request.call(collection, call);
  const { id, externalId, expiresAtMs, vector, tag, metadata, text, changedBy, keyId, salt } = read;
  const external = externalId === null ? '' : `"external_id":${JSON.stringify(utf8Text(externalId))},`;
  const rest: Omit<RecordResponse, 'id' | 'external_id' | 'vector'> = {
    tag,
    ...(expiresAtMs === null ? {} : { expires_at: unixSeconds(expiresAtMs) }),
    metadata: shownMetadata(metadata),
    ...(text === undefined ? {} : { text: text && utf8Text(text) }),
    ...(keyId === undefined ? {} : { key_id: keyId }),
    ...(salt === undefined ? {} : { salt: toHex(salt) }),
    ...(named.includes('log_index') ? { log_index: changedBy } : {}),
  };
  const writer = new JsonWriter();
  const slice = request.slice();
  writer.write(`{"id":${id},${external}"vector":`);
  await inSlices(writeVector(writer, vector, scaleOf(collection)), slice);
  writer.write(`,${JSON.stringify(rest).slice(1)}`);
  return inSlices(writer.reply(), slice);
}

async function updateMetadata(
  request: HandlerRequest<Prepared<'metadata'>>,
  { collection, of, ...query }: Named & MetadataQuery,
): Promise<Reply> {
  const guard = guardOf(query);
  const { bytes } = request.body;
  const { id, sequence } = await (isMergePatch(request)
    ? request.callNamed(collection, { op: 'patchMetadata', id: of, patch: bytes, ...guard })
    : request.callNamed(collection, { op: 'updateMetadata', id: of, metadata: bytes, ...guard }));
  return json<MetadataResponse>({ ok: true, id, ...request.logIndex(sequence) });
}

/** Carries out a batch of inserts or of upserts. */
async function writeBatch(request: HandlerRequest<PreparedBatch>): Promise<{
  readonly ids: number[];
  readonly created: number;
  readonly keys: Pick<BatchInsertResponse, 'key_ids'>;
}> {
  const { count, vectors, unevenAt, tags, externalIds, expiresAtMs, keyIds: named, guard, ...packed } = request.body;
  const ownIds = packed.requestIds && unpackBytes(packed.requestIds);
  const requestIds = batchRequestIds(request.idempotencyKey, count, ownIds);
  const collection = await request.find(packed.collection);
  if (count === 0) return { ids: [], created: 0, keys: {} };
  assertFits(collection, request.body, '$.batch[0]');
  if (unevenAt >= 0) throw refusal('dimension_mismatch', 'uneven', { at: unevenAt });
  const metadata = packed.metadata && unpackBytes(packed.metadata);
  const texts = packed.texts && unpackBytes(packed.texts);
  const { ids, created, keyIds } = await request.call(collection, {
    ...{ op: 'insertBatch', count, vectors, metadata, texts, requestIds },
    ...(tags === undefined ? {} : { tags }),
    ...(externalIds === undefined ? {} : { externalIds }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...lifeOf(collection),
    ...(named === undefined ? {} : { keyIds: named }),
    ...guard,
  });
  // The records are stored, so nothing reads the vectors any more. After a failure the shard may still do so.
  reuseLong(vectors);
  return { ids: [...float64sOf(ids)], created, keys: keyIds === undefined ? {} : { key_ids: [...keyIds] } };
}

async function deleteRecord(
  op: 'softDelete' | 'delete',
  request: HandlerRequest<Prepared<'recordReference'>>,
): Promise<Reply> {
  const { collection, of, guard } = request.body;
  const { sequence } = await request.callNamed(collection, { op, id: of, ...guard });
  return json<DeleteResponse>({ success: true, ...request.logIndex(sequence) });
}

/** The life of the inserted records without an expiry of their own. */
export const lifeOf = ({ ttlSecs }: Collection): { readonly ttlMs?: number } =>
  ttlSecs === undefined ? {} : { ttlMs: 1000 * ttlSecs };

/** Vectors of a body as they were prepared. */
interface PreparedVectors {
  readonly dimension: number;
  readonly scale: Scale;
}

/** Throws `dimension_mismatch`, and `unavailable` if the vectors are in another scale. `path`: of the vector in the body. */
export function assertFits(collection: Collection, { dimension, scale }: PreparedVectors, path: string): void {
  assertDimension(collection, dimension, path);
  if (scale !== scaleOf(collection)) throw replaced(collection);
}

/** The error if the name means another collection than the one for which the body was prepared. */
export const replaced = ({ name }: Collection): VouchError =>
  unavailable(`collection ${JSON.stringify(name)} was replaced while the request was read; retry`);

/** Throws `dimension_mismatch`. `path`: of the vector in the body. */
export function assertDimension({ name, dimension }: Collection, components: number, path: string): void {
  if (components === dimension) return;
  throw refusal('dimension_mismatch', 'vector', {
    path,
    components: counted(components, 'component'),
    collection: name,
    dimension,
  });
}
