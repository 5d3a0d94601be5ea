/** A batch insert, from the validated request to what `InsertBatchCall` needs. */
import { insertSizeBytes } from '../../shared/log/eventLayout.js';
import type { BatchInsertRequest } from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import type { JsonObject } from '../contract/values.js';
import { assertedTextBytes, assertFitsCommit, assertMetadataSize, type BodyBounds, requestIdBytes } from './bounds.js';
import { assertJsonObjectText } from './json.js';
import { type PackedBytes, packBytes } from './packedBytes.js';
import { vectorBytes, vectorSizeBytes } from './vectors.js';

export interface PreparedBatch {
  readonly collection: string | null;
  readonly count: number;
  /** Of the first vector; 0 where the batch is empty. */
  readonly dimension: number;
  /** The first vector whose length is not that of the first, or -1. `vectors` is then empty. */
  readonly unevenAt: number;
  readonly vectors: Uint8Array;
  readonly metadata: PackedBytes | null;
  readonly texts: readonly (string | null)[] | null;
  readonly requestIds: PackedBytes | null;
}

/** Each event stands in its frame after its length. */
const EVENT_LENGTH_BYTES = 4;

/** Throws `validation_error` and, where one commit cannot hold it, `payload_too_large`. */
export function prepareBatch(request: BatchInsertRequest, bounds: BodyBounds): PreparedBatch {
  const { batch } = request;
  if (batch.length > bounds.batchVectors)
    throw invalid(`$.batch has ${batch.length} vectors: at most ${bounds.batchVectors} are allowed`);
  const texts = positional(request.texts, batch.length, 'texts');
  const requestIds = positional(request.request_ids, batch.length, 'request_ids');
  const metadata = positional(request.metadata, batch.length, 'metadata');
  const dimension = batch[0]?.length ?? 0;
  const unevenAt = batch.findIndex((row) => row.length !== dimension);

  let sizeBytes = batch.length * (EVENT_LENGTH_BYTES + insertSizeBytes(vectorSizeBytes(dimension), 0, 0));
  texts?.forEach((text, i) => {
    if (text !== null) sizeBytes += assertedTextBytes(text, bounds, `$.texts[${i}]`);
  });
  const stored = metadata?.map((item, i) => (item === null ? null : metadataBytes(item, bounds, `$.metadata[${i}]`)));
  for (const item of stored ?? []) sizeBytes += item?.length ?? 0;
  assertFitsCommit(sizeBytes, bounds);

  return {
    collection: request.collection ?? null,
    count: batch.length,
    dimension,
    unevenAt,
    vectors: unevenAt < 0 ? vectorBytes(batch) : new Uint8Array(0),
    metadata: stored === undefined ? null : packBytes(stored),
    texts: texts ?? null,
    requestIds: requestIds === undefined ? null : packBytes(requestIds.map((id) => id && requestIdBytes(id))),
  };
}

/** The buffers of a prepared batch that may be handed over instead of copied. */
export const batchBuffers = ({ vectors, metadata, requestIds }: PreparedBatch): ArrayBufferLike[] =>
  [vectors, metadata?.bytes, metadata?.lengths, requestIds?.bytes, requestIds?.lengths].flatMap((array) =>
    array === undefined ? [] : [array.buffer],
  );

function positional<T>(items: readonly T[] | null | undefined, count: number, name: string): readonly T[] | undefined {
  if (items === null || items === undefined) return undefined;
  if (items.length !== count) throw invalid(`$.${name} has ${items.length} items for ${count} vectors`);
  return items;
}

function metadataBytes(item: JsonObject | string, bounds: BodyBounds, path: string): Buffer {
  const bytes = Buffer.from(typeof item === 'string' ? item : JSON.stringify(item), 'utf8');
  assertMetadataSize(bytes.length, bounds, path);
  if (typeof item === 'string') assertJsonObjectText(bytes, path);
  return bytes;
}
