/** Prepares a batch of inserts, or of upserts, for its call. */

import { counted } from '../../shared/errors/counted.js';
import type { Scale } from '../../shared/fixedPoint.js';
import { JsonBudget } from '../../shared/json/nesting.js';
import { EXTERNAL_ID_MAX_BYTES } from '../../shared/limits.js';
import { BESIDE_EVENT_BYTES, EXPIRY_BYTES, insertSizeBytes } from '../../shared/log/eventLayout.js';
import type { BatchInsertRequest, BatchUpsertRequest } from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import type { JsonObject } from '../contract/values.js';
import { assertFitsCommit, assertMetadataSize, type BodyBounds, checkedUtf8Size, requestIdBytes } from './bounds.js';
import { jsonObjectOf } from './json.js';
import { type PackedBytes, packBytes } from './packedBytes.js';
import { type Guard, guardOf } from './recordNames.js';
import { rowsOf, type TakenVectors, vectorSizeBytes } from './vectors.js';

export interface PreparedBatch {
  readonly collection: string | null;
  readonly scale: Scale;
  readonly count: number;
  /** The length of the first vector; 0 if the batch is empty. */
  readonly dimension: number;
  /** The first vector of another length, or -1. `vectors` is empty if there is one. */
  readonly unevenAt: number;
  readonly vectors: Uint8Array;
  readonly metadata: PackedBytes | null;
  /** In UTF-8. */
  readonly texts: PackedBytes | null;
  readonly requestIds: PackedBytes | null;
  readonly tags: readonly number[] | undefined;
  readonly expiresAtMs: readonly (number | null)[] | undefined;
  /** Present for upserts. */
  readonly externalIds: readonly string[] | undefined;
  /** The keys that the records go under. */
  readonly keyIds: readonly (string | null)[] | undefined;
  readonly guard: Guard;
}

/** Throws `validation_error`, and `payload_too_large` if it does not fit one commit. */
export function prepareBatch(
  request: BatchInsertRequest | BatchUpsertRequest,
  bounds: BodyBounds,
  taken: TakenVectors,
): PreparedBatch {
  const { count, dimension, unevenAt, bytes: vectors } = rowsOf(request.batch, taken, '$.batch');
  if (count > bounds.batchVectors)
    throw invalid(`$.batch has ${count} vectors: at most ${bounds.batchVectors} are allowed`);
  const texts = positional(request.texts, count, 'texts');
  const requestIds = positional(request.request_ids, count, 'request_ids');
  const metadata = positional(request.metadata, count, 'metadata');
  const tags = positional(request.tags, count, 'tags');
  const expiresAt = positional(request.expires_at, count, 'expires_at');
  const keyIds = positional(request.key_ids, count, 'key_ids');
  const named = 'external_ids' in request ? request.external_ids : undefined;
  const externalIds = positional(named, count, 'external_ids');
  // Under one request id only one of several upserts would be written.
  if (externalIds !== undefined) assertDifferent(requestIds?.map((id) => id?.toLowerCase()) ?? [], 'request_ids');

  let sizeBytes = count * (BESIDE_EVENT_BYTES + insertSizeBytes(vectorSizeBytes(dimension)) + EXPIRY_BYTES);
  texts?.forEach((text, i) => {
    if (text !== null) sizeBytes += checkedUtf8Size(text, bounds.textBytes, `$.texts[${i}]`);
  });
  sizeBytes += assertedExternalIdBytes(externalIds ?? []);
  assertFitsCommit(sizeBytes, bounds);
  const budget = new JsonBudget();
  const stored = metadata?.map((item, i) => {
    const bytes = item === null ? null : metadataBytes(item, bounds, `$.metadata[${i}]`, budget);
    sizeBytes += bytes?.length ?? 0;
    // Check the size after each item: writing and parsing all of them would take seconds.
    assertFitsCommit(sizeBytes, bounds);
    return bytes;
  });

  return {
    collection: request.collection ?? null,
    scale: taken.scale,
    count,
    dimension,
    unevenAt,
    vectors,
    metadata: stored === undefined ? null : packBytes(stored),
    texts: texts === undefined ? null : packBytes(texts.map((text) => (text === null ? null : Buffer.from(text)))),
    requestIds: requestIds === undefined ? null : packBytes(requestIds.map((id) => id && requestIdBytes(id))),
    tags: tags?.map((tag) => tag ?? 0),
    expiresAtMs: expiresAt?.map((seconds) => seconds && 1000 * seconds),
    externalIds,
    keyIds: keyIds?.some((keyId) => keyId !== null) ? keyIds : undefined,
    guard: 'external_ids' in request ? guardOf(request) : {},
  };
}

/** Returns the size of the ids in UTF-8. Throws `validation_error`, also for a repeated id. */
export function assertedExternalIdBytes(externalIds: readonly string[]): number {
  let sizeBytes = 0;
  for (const [i, externalId] of externalIds.entries())
    sizeBytes += checkedUtf8Size(externalId, EXTERNAL_ID_MAX_BYTES, `$.external_ids[${i}]`);
  assertDifferent(externalIds, 'external_ids');
  return sizeBytes;
}

function assertDifferent(ids: readonly (string | undefined)[], name: string): void {
  const places = new Map<string, number>();
  for (const [i, id] of ids.entries()) {
    if (id === undefined) continue;
    const before = places.get(id);
    if (before !== undefined) throw invalid(`$.${name}[${i}] is the same as $.${name}[${before}]`);
    places.set(id, i);
  }
}

/** The buffers of a prepared batch that are transferred instead of copied. */
export const batchBuffers = ({ vectors, metadata, texts, requestIds }: PreparedBatch): ArrayBufferLike[] => [
  vectors.buffer,
  ...[metadata, texts, requestIds].flatMap((packed) =>
    packed === null ? [] : [packed.bytes.buffer, packed.lengths.buffer],
  ),
];

function positional<T>(items: readonly T[] | null | undefined, count: number, name: string): readonly T[] | undefined {
  if (items === null || items === undefined) return undefined;
  if (items.length !== count)
    throw invalid(`$.${name} has ${counted(items.length, 'value')} for ${counted(count, 'vector')}`);
  return items;
}

function metadataBytes(item: JsonObject | string, bounds: BodyBounds, path: string, budget: JsonBudget): Buffer {
  const bytes = Buffer.from(typeof item === 'string' ? item : JSON.stringify(item), 'utf8');
  assertMetadataSize(bytes.length, bounds, path);
  if (typeof item === 'string') jsonObjectOf(bytes, path, budget);
  return bytes;
}
