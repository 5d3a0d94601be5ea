/**
 * The bodies there are: for each, how it is validated and what a handler gets of it. All of this runs in the
 * coordinator's thread or, for large bodies, in a worker: it is pure, and what it returns can be cloned.
 */
import { JSON_DEPTH_MAX } from '../../shared/limits.js';
import { assertBeginImport } from '../contract/backup.js';
import {
  assertConfigureIndex,
  assertCreateCollection,
  assertRebuild,
  type RebuildRequest,
} from '../contract/collections.js';
import { assertCreateEdge, assertCreateNode } from '../contract/graph.js';
import {
  assertBatchInsert,
  assertInsert,
  assertMetadata,
  assertRecordReference,
  type InsertRequest,
} from '../contract/records.js';
import type { SchemaName } from '../contract/schemas.js';
import { assertMultiSearch, assertSearch } from '../contract/search.js';
import { assertCreateKey } from '../contract/service.js';
import { batchBuffers, prepareBatch } from './batch.js';
import { assertedTextBytes, assertMetadataSize, type BodyBounds, requestIdBytes } from './bounds.js';
import { prepareInsertEncrypted } from './encrypted.js';
import { splitFrames } from './frames.js';
import { parseJson } from './json.js';
import { prepareMultiSearch, prepareSearch } from './search.js';
import { vectorBytes } from './vectors.js';

interface Kind<T> {
  readonly schema: SchemaName;
  /** Levels of nesting: those of the JSON a caller chooses, and of what stands around it. */
  readonly depthMax: number;
  /** No message repeats any of it. */
  readonly isSecret?: true;
  /** What an empty body stands for; undefined: nothing. */
  readonly whenEmpty?: T;
  prepare(value: unknown, bounds: BodyBounds): T;
  /** What may be handed over to another thread instead of copied. */
  buffers?(prepared: T): ArrayBufferLike[];
}

/** Nothing in these bodies needs it, but unknown fields are ignored and may hold anything. */
const PLAIN_DEPTH = JSON_DEPTH_MAX;
/** From this size on a batch is parsed in a worker: a millisecond of the coordinator's thread. */
const BATCH_INLINE_BYTES = 64 * 1024;
const INLINE_BYTES = 256 * 1024;

/** Bytes that are no JSON. Prepared in the coordinator's thread: that takes no time. */
interface RawKind<T> {
  readonly schema: 'bytes';
  prepare(bytes: Buffer): T;
}

const kind = <T>(definition: Kind<T>): Kind<T> => definition;

export const BODY_KINDS = {
  insert: kind({ schema: 'InsertRequest', depthMax: PLAIN_DEPTH, prepare: prepareInsert }),
  batch: kind({
    schema: 'BatchInsertRequest',
    depthMax: JSON_DEPTH_MAX + 2,
    prepare: (value, bounds) => prepareBatch(assertBatchInsert(value), bounds),
    buffers: batchBuffers,
  }),
  recordReference: kind({
    schema: 'RecordReference',
    depthMax: PLAIN_DEPTH,
    prepare: (value) => assertRecordReference(value),
  }),
  metadata: kind({ schema: 'JsonObject', depthMax: JSON_DEPTH_MAX, prepare: prepareMetadata }),
  insertEncrypted: kind({
    schema: 'InsertEncryptedRequest',
    depthMax: PLAIN_DEPTH,
    isSecret: true,
    prepare: (value, bounds) => prepareInsertEncrypted(value, bounds),
  }),
  search: kind({
    schema: 'SearchRequest',
    depthMax: JSON_DEPTH_MAX + 1,
    prepare: (value, bounds) => prepareSearch(assertSearch(value), bounds),
  }),
  multiSearch: kind({
    schema: 'MultiSearchRequest',
    depthMax: JSON_DEPTH_MAX + 1,
    prepare: (value) => prepareMultiSearch(assertMultiSearch(value)),
  }),
  createCollection: kind({
    schema: 'CreateCollectionRequest',
    depthMax: PLAIN_DEPTH,
    prepare: (value) => assertCreateCollection(value),
  }),
  configureIndex: kind({
    schema: 'ConfigureIndexRequest',
    depthMax: PLAIN_DEPTH,
    prepare: (value) => assertConfigureIndex(value),
  }),
  rebuild: kind<RebuildRequest>({
    schema: 'RebuildRequest',
    depthMax: PLAIN_DEPTH,
    whenEmpty: {},
    prepare: (value) => assertRebuild(value),
  }),
  createKey: kind({ schema: 'CreateKeyRequest', depthMax: PLAIN_DEPTH, prepare: (value) => assertCreateKey(value) }),
  createNode: kind({ schema: 'CreateNodeRequest', depthMax: PLAIN_DEPTH, prepare: (value) => assertCreateNode(value) }),
  createEdge: kind({ schema: 'CreateEdgeRequest', depthMax: PLAIN_DEPTH, prepare: (value) => assertCreateEdge(value) }),
  beginImport: kind({
    schema: 'BeginImportRequest',
    depthMax: PLAIN_DEPTH,
    prepare: (value) => assertBeginImport(value),
  }),
  frames: { schema: 'bytes', prepare: splitFrames } satisfies RawKind<Uint8Array[]>,
};

export type BodyKind = keyof typeof BODY_KINDS;
export type Prepared<K extends BodyKind> = ReturnType<(typeof BODY_KINDS)[K]['prepare']>;
export type PreparedInsert = Prepared<'insert'>;

export function inlineBytesMax(name: BodyKind): number {
  if (BODY_KINDS[name].schema === 'bytes') return Number.POSITIVE_INFINITY;
  return name === 'batch' ? BATCH_INLINE_BYTES : INLINE_BYTES;
}

/** Throws `validation_error` or `payload_too_large`. */
export function prepareBody<K extends BodyKind>(name: K, bytes: Buffer, bounds: BodyBounds): Prepared<K> {
  const definition = BODY_KINDS[name] as Kind<Prepared<K>> | RawKind<Prepared<K>>;
  if (definition.schema === 'bytes') return definition.prepare(bytes);
  const { depthMax, isSecret, whenEmpty, prepare } = definition as Kind<Prepared<K>>;
  if (bytes.length === 0 && whenEmpty !== undefined) return whenEmpty;
  return prepare(parseJson(bytes, depthMax, { isSecret }), bounds);
}

function prepareInsert(value: unknown, bounds: BodyBounds) {
  const { values, collection, request_id, metadata, text, tag }: InsertRequest = assertInsert(value);
  if (metadata) assertMetadataSize(metadata.length, bounds, '$.metadata');
  if (text) assertedTextBytes(text, bounds, '$.text');
  return {
    collection: collection ?? null,
    dimension: values.length,
    vector: vectorBytes([values]),
    tag: tag ?? 0,
    requestId: request_id ? requestIdBytes(request_id) : null,
    metadata: metadata ? Uint8Array.from(metadata) : null,
    text: text ?? null,
  };
}

function prepareMetadata(value: unknown, bounds: BodyBounds) {
  const bytes = Buffer.from(JSON.stringify(assertMetadata(value)), 'utf8');
  assertMetadataSize(bytes.length, bounds, '$');
  return { bytes };
}
