/**
 * The kinds of bodies: how each is validated, and its prepared form for the handler. This runs in the coordinator's thread or,
 * for large bodies, in a worker: it is pure, and its results can be cloned.
 */
import { VouchError } from '../../shared/errors/errors.js';
import type { Scale } from '../../shared/fixedPoint.js';
import { assertNesting } from '../../shared/json/nesting.js';
import { JSON_DEPTH_MAX, REQUEST_ID_BYTES } from '../../shared/limits.js';
import { assertChangeCollection } from '../contract/access.js';
import { assertBeginImport } from '../contract/backup.js';
import {
  assertConfigureIndex,
  assertCreateCollection,
  assertPutAlias,
  assertRebuild,
} from '../contract/collections.js';
import { assertInsertEncrypted } from '../contract/encrypted.js';
import { assertErase } from '../contract/erasures.js';
import { assertCreateEdge, assertCreateNode } from '../contract/graph.js';
import { assertKnownFields } from '../contract/knownFields.js';
import {
  assertBatchInsert,
  assertBatchUpsert,
  assertCountRecords,
  assertDeleteRecords,
  assertFacets,
  assertGetRecords,
  assertInsert,
  assertListRecords,
  assertMetadata,
  assertPatchRecords,
  assertRecordReference,
  type InsertRequest,
} from '../contract/records.js';
import type { SchemaName } from '../contract/schemas.js';
import { assertMultiSearch, assertSearch, assertSearchBatch, assertTextSearch } from '../contract/search.js';
import { assertCreateKey, type CreateKeyRequest, isKeyLabel } from '../contract/service.js';
import type { JsonObject } from '../contract/values.js';
import { batchBuffers, prepareBatch } from './batch.js';
import { assertMetadataSize, type BodyBounds, checkedUtf8Size, requestIdBytes } from './bounds.js';
import { prepareErasure } from './erasures.js';
import { checkedFrames } from './frames.js';
import { assertShownAsWritten, escapedPieces, parseJson } from './json.js';
import { assertKept, assertNoTwins } from './keptJson.js';
import { unpackBody } from './packedBody.js';
import { decodedPayload } from './payload.js';
import { prepareNode, prepareReference } from './recordNames.js';
import { prepareCount, prepareDeletion, prepareFacets, prepareGet, prepareList, preparePatches } from './recordSets.js';
import {
  type PreparedMultiSearch,
  type PreparedSearch,
  prepareMultiSearch,
  prepareSearch,
  prepareSearchBatch,
  prepareTextSearch,
  searchBatchBuffers,
} from './search.js';
import { takeVectors, type VectorField } from './takenVectors.js';
import { rowOf, type TakenVectors } from './vectors.js';

interface Kind<T> {
  readonly schema: SchemaName;
  /** Largest depth of nesting: the levels that a caller may use, and those of the body around them. Absent: JSON_DEPTH_MAX. */
  readonly depthMax?: number;
  /** Present if no message may repeat a value of the body. */
  readonly isSecret?: true;
  /** The field that must be kept as it is written (`keptJson.ts`); `$`: the whole body. */
  readonly kept?: '$' | 'metadata' | 'metadata_filter' | 'searches';
  /** The value of an empty body; absent: an empty body is refused. */
  readonly whenEmpty?: T;
  /** Where the body has vectors. */
  readonly vectors?: VectorField;
  prepare(value: unknown, bounds: BodyBounds, taken: TakenVectors): T;
  /** The buffers that are transferred to another thread instead of copied. */
  buffers?(prepared: T): ArrayBufferLike[];
}

/** Bytes that are not JSON. They are prepared in the coordinator's thread, which takes some milliseconds. */
interface RawKind<T> {
  readonly schema: 'bytes';
  prepare(bytes: Buffer): T;
}

/** Larger bodies are prepared in a worker: reading the vectors of this many bytes takes half a millisecond. */
const INLINE_BYTES: Readonly<Record<BodyForm, number>> = { json: 256 * 1024, msgpack: 1024 * 1024 };
/**
 * A body is prepared in a worker if its JSON without the vectors is longer. It would take milliseconds here: up to 9 for metadata
 * that is an array of bytes.
 */
const INLINE_JSON_BYTES = 64 * 1024;
/** A body of at most this many bytes is short. */
const SHORT_BYTES = 4 * 1024;
/**
 * A body with more arrays, objects and strings, also in its strings, is prepared in a worker: each takes a microsecond. A short
 * body is not counted, and never goes to a worker, since its bytes may be in memory that other bodies share.
 */
const INLINE_PIECES = 2_000;
/** Larger bodies whose vectors are normalised to length 1 are prepared in a worker: that takes four times as long. */
const UNIT_INLINE_BYTES = 64 * 1024;

/** Properties of a body with a filter among its fields. */
const OF_FILTER = { depthMax: JSON_DEPTH_MAX + 1, kept: 'metadata_filter' } as const;

const kind = <T>(definition: Kind<T>): Kind<T> => definition;

/** A body that its handler gets unchanged. */
const unchanged = <T>(schema: SchemaName, assert: (value: unknown) => T, more: Partial<Kind<T>> = {}): Kind<T> => ({
  schema,
  prepare: (value) => assert(value),
  ...more,
});

export const BODY_KINDS = {
  insert: kind({
    schema: 'InsertRequest',
    vectors: { name: 'values' },
    depthMax: JSON_DEPTH_MAX + 1,
    kept: 'metadata',
    prepare: prepareInsert,
  }),
  batch: kind({
    schema: 'BatchInsertRequest',
    vectors: { name: 'batch' },
    depthMax: JSON_DEPTH_MAX + 2,
    kept: 'metadata',
    prepare: (value, bounds, taken) => prepareBatch(assertBatchInsert(value), bounds, taken),
    buffers: batchBuffers,
  }),
  upsert: kind({
    schema: 'BatchUpsertRequest',
    vectors: { name: 'batch' },
    depthMax: JSON_DEPTH_MAX + 2,
    kept: 'metadata',
    prepare: (value, bounds, taken) => prepareBatch(assertBatchUpsert(value), bounds, taken),
    buffers: batchBuffers,
  }),
  deleteRecords: kind({
    schema: 'DeleteRecordsRequest',
    ...OF_FILTER,
    prepare: (value) => prepareDeletion(assertDeleteRecords(value)),
  }),
  erase: kind({ schema: 'EraseRequest', ...OF_FILTER, prepare: (value) => prepareErasure(assertErase(value)) }),
  patchRecords: kind({
    schema: 'PatchRecordsRequest',
    depthMax: JSON_DEPTH_MAX + 1,
    kept: '$',
    prepare: (value, bounds) => preparePatches(assertPatchRecords(value), bounds),
  }),
  recordReference: kind({
    schema: 'RecordReference',
    prepare: (value) => prepareReference(assertRecordReference(value)),
  }),
  metadata: kind({ schema: 'JsonObject', kept: '$', prepare: prepareMetadata }),
  insertEncrypted: kind({
    schema: 'InsertEncryptedRequest',
    isSecret: true,
    prepare: prepareInsertEncrypted,
  }),
  search: kind({
    schema: 'SearchRequest',
    vectors: { name: 'query' },
    ...OF_FILTER,
    prepare: (value, bounds, taken) => prepareSearch(assertSearch(value), bounds, taken),
  }),
  multiSearch: kind({
    schema: 'MultiSearchRequest',
    vectors: { name: 'query' },
    ...OF_FILTER,
    prepare: (value, bounds, taken) => prepareMultiSearch(assertMultiSearch(value), bounds, taken),
  }),
  searchBatch: kind({
    schema: 'SearchBatchRequest',
    vectors: { name: 'query', within: 'searches' },
    depthMax: JSON_DEPTH_MAX + 3,
    kept: 'searches',
    prepare: (value, bounds, taken) => prepareSearchBatch(assertSearchBatch(value), bounds, taken),
    buffers: searchBatchBuffers,
  }),
  textSearch: kind({
    schema: 'TextSearchRequest',
    ...OF_FILTER,
    prepare: (value, bounds) => prepareTextSearch(assertTextSearch(value), bounds),
  }),
  getRecords: kind({ schema: 'GetRecordsRequest', prepare: (value) => prepareGet(assertGetRecords(value)) }),
  listRecords: kind({
    schema: 'ListRecordsRequest',
    ...OF_FILTER,
    prepare: (value) => prepareList(assertListRecords(value)),
  }),
  countRecords: kind({
    schema: 'CountRecordsRequest',
    ...OF_FILTER,
    prepare: (value) => prepareCount(assertCountRecords(value)),
  }),
  facets: kind({ schema: 'FacetsRequest', ...OF_FILTER, prepare: (value) => prepareFacets(assertFacets(value)) }),
  createCollection: unchanged('CreateCollectionRequest', assertCreateCollection),
  changeCollection: unchanged('ChangeCollectionRequest', assertChangeCollection),
  putAlias: unchanged('PutAliasRequest', assertPutAlias),
  configureIndex: unchanged('ConfigureIndexRequest', assertConfigureIndex),
  rebuild: unchanged('RebuildRequest', assertRebuild, { whenEmpty: {} }),
  createKey: kind({ schema: 'CreateKeyRequest', prepare: prepareCreateKey }),
  createNode: kind({ schema: 'CreateNodeRequest', prepare: (value) => prepareNode(assertCreateNode(value)) }),
  createEdge: unchanged('CreateEdgeRequest', assertCreateEdge),
  beginImport: unchanged('BeginImportRequest', assertBeginImport),
  frames: { schema: 'bytes', prepare: checkedFrames } satisfies RawKind<Buffer>,
};

export type BodyKind = keyof typeof BODY_KINDS;
export type Prepared<K extends BodyKind> = ReturnType<(typeof BODY_KINDS)[K]['prepare']>;

/** Whether the body may be empty. */
export const mayBeEmpty = (name: BodyKind): boolean => name === 'frames' || 'whenEmpty' in BODY_KINDS[name];

/** The largest body that is prepared in the coordinator's thread. */
export const inlineBytesMax = (name: BodyKind, form: BodyForm): number =>
  BODY_KINDS[name].schema === 'bytes' ? Number.POSITIVE_INFINITY : INLINE_BYTES[form];

/** The encoding of a body. */
export type BodyForm = 'json' | 'msgpack';

/** A body as it was sent. */
export interface SentBody {
  readonly form: BodyForm;
  readonly bytes: Buffer;
}

/** Whether the body may be msgpack: those with vectors. */
export const mayBePacked = (name: BodyKind): boolean => 'vectors' in BODY_KINDS[name];

/**
 * Prepares the body in the coordinator's thread if that takes at most two milliseconds; undefined: a worker must prepare it. Raw
 * bytes are always prepared here. Throws like `prepareBody`.
 */
export function prepareInline<K extends BodyKind>(
  name: K,
  { form, bytes }: SentBody,
  bounds: BodyBounds,
  scale: Scale = 'plain',
): Prepared<K> | undefined {
  const definition = BODY_KINDS[name] as Kind<Prepared<K>> | RawKind<Prepared<K>>;
  if (definition.schema === 'bytes') return definition.prepare(bytes);
  if (bytes.length > (scale === 'plain' ? INLINE_BYTES[form] : UNIT_INLINE_BYTES)) return undefined;
  const preparation: Preparation<Prepared<K>> = { definition, bounds, scale };
  if (form === 'msgpack')
    return preparePacked(preparation, bytes, bytes.length <= SHORT_BYTES ? undefined : INLINE_PIECES);
  const isCheap = (json: Buffer): boolean => isCheapJson(definition, json);
  const prepared = prepareTakingVectors(preparation, bytes, isCheap);
  if (prepared !== undefined) return prepared;
  return isCheap(bytes) ? prepareJson(definition, bytes, bounds, { scale, rows: null }) : undefined;
}

/** How a body of JSON or msgpack is prepared. */
interface Preparation<T> {
  readonly definition: Kind<T>;
  readonly bounds: BodyBounds;
  readonly scale: Scale;
}

function isCheapJson<T>(definition: Kind<T>, json: Buffer): boolean {
  if (json.length <= SHORT_BYTES) return true;
  return (
    json.length <= INLINE_JSON_BYTES &&
    assertNesting(json, depthOf(definition), '$', definition).pieces + escapedPieces(json) <= INLINE_PIECES
  );
}

const depthOf = ({ depthMax = JSON_DEPTH_MAX }: { readonly depthMax?: number }): number => depthMax;

/** Throws `validation_error` or `payload_too_large`. */
export function prepareBody<K extends BodyKind>(
  name: K,
  { form, bytes }: SentBody,
  bounds: BodyBounds,
  scale: Scale = 'plain',
): Prepared<K> {
  const definition = BODY_KINDS[name] as Kind<Prepared<K>> | RawKind<Prepared<K>>;
  if (definition.schema === 'bytes') return definition.prepare(bytes);
  const preparation: Preparation<Prepared<K>> = { definition, bounds, scale };
  if (form === 'msgpack') return preparePacked(preparation, bytes)!;
  return prepareTakingVectors(preparation, bytes) ?? prepareJson(definition, bytes, bounds, { scale, rows: null });
}

/** The collections that decide the scale of the body's vectors; null is the default one. Undefined for a body without vectors. */
export function collectionsIn(name: BodyKind, prepared: unknown): readonly (string | null)[] | undefined {
  if (!mayBePacked(name)) return undefined;
  const { collection, collections } = prepared as Partial<PreparedSearch & PreparedMultiSearch>;
  return collections ?? [collection ?? null];
}

/** Joins the bodies prepared for the two scales. A search in several collections keeps both; another body is taken in `unit`. */
export const joinedScales = <K extends BodyKind>(name: K, plain: Prepared<K>, unit: Prepared<K>): Prepared<K> =>
  name === 'multiSearch' ? { ...plain, unit: (unit as PreparedMultiSearch).call } : unit;

/** Undefined if the body has more than `valuesMax` values beside the components of vectors. */
function preparePacked<T>(
  { definition, bounds, scale }: Preparation<T>,
  bytes: Buffer,
  valuesMax?: number,
): T | undefined {
  const limits = {
    depthMax: depthOf(definition),
    otherBytes: bounds.metadataBytes + REQUEST_ID_BYTES,
    ...(valuesMax === undefined ? {} : { valuesMax }),
  };
  const parts = unpackBody(bytes, definition.vectors!, limits, scale);
  return parts && prepareJson(definition, parts.json, bounds, { scale, rows: parts.vectors });
}

/** Largest JSON without vectors that may be parsed twice. */
const TWICE_BYTES = 1024 * 1024;

/**
 * Prepares a body whose vectors `takeVectors` can read. Undefined if it cannot, if the JSON without them is costly, or if that is
 * short and refused. Then the whole body is parsed as JSON, so that its error shows the sent values.
 */
function prepareTakingVectors<T>(
  { definition, bounds, scale }: Preparation<T>,
  bytes: Buffer,
  isCheap: (json: Buffer) => boolean = () => true,
): T | undefined {
  const parts = definition.vectors && takeVectors(bytes, definition.vectors, scale);
  if (parts === undefined) return undefined;
  try {
    return isCheap(parts.json)
      ? prepareJson(definition, parts.json, bounds, { scale, rows: parts.vectors })
      : undefined;
  } catch (error) {
    if (error instanceof VouchError && parts.json.length <= TWICE_BYTES) return undefined;
    throw error;
  }
}

function prepareJson<T>(definition: Kind<T>, bytes: Buffer, bounds: BodyBounds, taken: TakenVectors): T {
  const { schema, isSecret, kept, whenEmpty, prepare } = definition;
  if (bytes.length === 0 && whenEmpty !== undefined) return whenEmpty;
  const json = parseJson(bytes, depthOf(definition), isSecret);
  // Look for unknown fields before `prepare` misses one: a misspelt field explains a missing one.
  assertKnownFields(schema, json.value);
  const prepared = prepare(json.value, bounds, taken);
  if (kept === undefined) assertNoTwins(json, '$');
  else assertKept(json, '$', kept === '$' ? undefined : kept);
  return prepared;
}

function prepareInsert(value: unknown, bounds: BodyBounds, taken: TakenVectors) {
  // Check the size before the validation, which looks at each of millions of bytes.
  const bytes = (value as { readonly metadata?: unknown } | null)?.metadata;
  if (Array.isArray(bytes)) assertMetadataSize(bytes.length, bounds, '$.metadata');
  const { values, collection, request_id, metadata, text, tag, expires_at, key_id }: InsertRequest =
    assertInsert(value);
  const metadataBytes = metadata ? insertedMetadata(metadata, bounds) : null;
  if (text) checkedUtf8Size(text, bounds.textBytes, '$.text');
  const { dimension, bytes: vector } = rowOf(values, taken, '$.values');
  return {
    collection: collection ?? null,
    scale: taken.scale,
    dimension,
    vector,
    tag: tag ?? 0,
    requestId: request_id ? requestIdBytes(request_id) : null,
    metadata: metadataBytes,
    text: text ?? null,
    expiry: expiryOf(expires_at),
    keyId: key_id ?? undefined,
  };
}

/** The expiry of a record in its call; absent: it does not expire. */
const expiryOf = (seconds: number | null | undefined): { readonly expiresAtMs?: number } =>
  seconds == null ? {} : { expiresAtMs: 1000 * seconds };

function insertedMetadata(metadata: NonNullable<InsertRequest['metadata']>, bounds: BodyBounds): Uint8Array {
  if (!Array.isArray(metadata)) return objectBytes(metadata, bounds, '$.metadata');
  const bytes = Uint8Array.from(metadata);
  assertShownAsWritten(bytes, '$.metadata');
  return bytes;
}

/** `description`: see `ACCEPTED_FIELDS`. */
function prepareCreateKey(value: unknown): CreateKeyRequest {
  const request = assertCreateKey(value);
  const { description } = request as { readonly description?: unknown };
  return isKeyLabel(description) && request.label == null ? { ...request, label: description } : request;
}

function prepareMetadata(value: unknown, bounds: BodyBounds) {
  return { bytes: objectBytes(assertMetadata(value), bounds, '$') };
}

function objectBytes(object: JsonObject, bounds: BodyBounds, path: string): Buffer {
  const bytes = Buffer.from(JSON.stringify(object), 'utf8');
  assertMetadataSize(bytes.length, bounds, path);
  return bytes;
}

function prepareInsertEncrypted(value: unknown, { payloadBytes }: BodyBounds) {
  const { payload, collection = null, key_id = null, tag, expires_at } = assertInsertEncrypted(value);
  const expiry = expiryOf(expires_at);
  return { collection, payload: decodedPayload(payload, payloadBytes), keyId: key_id, tag: tag ?? 0, expiry };
}
