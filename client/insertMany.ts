/** Inserts records from an iterable in batches, several batches at a time, in bounded memory. */
import type { BatchInsertRequest, BatchInsertResponse } from './contract/records.js';
import { PayloadTooLargeError, VouchError } from './errors.js';
import { assertExactJson, assertKnown, assertPlain } from './exact.js';
import { type CallOptions, split } from './http.js';
import type { JsonObject, Vector } from './values.js';

export type NewRecord =
  | Vector
  | {
      readonly values: Vector;
      readonly metadata?: JsonObject | null;
      readonly text?: string | null;
      readonly tag?: number | null;
      /** All records have one, or none. A stored record with the same one is replaced. */
      readonly externalId?: string;
      /** 32 hex: a record that was inserted with it is not inserted again. */
      readonly requestId?: string | null;
      /** Unix seconds, in the future: from then on the record is in no answer about the present. */
      readonly expiresAt?: number | null;
      /** The vault key that the record is put under, 32 hex, or `new` for a fresh one. */
      readonly keyId?: string | null;
    };

export interface InsertManyOptions extends CallOptions {
  /**
   * Records of a batch, at most 16,384. Default 1,000; a batch of large records is sent at some 8 MiB. A batch that is too large
   * for the service is sent in halves.
   */
  readonly batchSize?: number | undefined;
  /** Batches that are sent at the same time. Default 2. */
  readonly concurrency?: number | undefined;
  /** Called after each batch. */
  readonly onProgress?: ((progress: InsertManyProgress) => void) | undefined;
}

export interface InsertManyProgress {
  /** The number of records inserted so far. */
  readonly inserted: number;
  /** The position of the batch's first record in the iterable; batches may be answered in another order. */
  readonly offset: number;
  /** The ids of the batch's records, in their order. */
  readonly ids: readonly number[];
}

export interface InsertManyResult {
  readonly inserted: number;
}

type Request = Omit<BatchInsertRequest, 'collection'>;
interface Target {
  batchInsert(request: Request, options: CallOptions): Promise<BatchInsertResponse>;
  batchUpsert(request: Request & { externalIds: string[] }, options: CallOptions): Promise<BatchInsertResponse>;
}
type Item = Exclude<NewRecord, Vector>;

const OPTIONS = ['batchSize', 'concurrency', 'onProgress'];
const FIELDS = ['metadata', 'text', 'tag', 'externalId', 'requestId', 'expiresAt', 'keyId'];
const BATCH_RECORDS = 1_000;
const CONCURRENCY = 2;
const BATCH_CHARS = 8 * 1024 * 1024;
/** The most characters of a component in JSON. */
const COMPONENT_CHARS = 20;

/** Rejects with the first failure and its `batch`, after all batches in flight have ended and the iterable is closed. */
export async function insertMany(
  collection: Target,
  records: AsyncIterable<NewRecord> | Iterable<NewRecord>,
  options: InsertManyOptions,
): Promise<InsertManyResult> {
  const [own, call] = split(options);
  assertKnown(own, OPTIONS, 'options');
  const { batchSize = BATCH_RECORDS, concurrency = CONCURRENCY, onProgress, signal } = options;
  assertCount(batchSize, 'batchSize');
  assertCount(concurrency, 'concurrency');
  const inFlight = new Set<Promise<void>>();
  let failure: { readonly reason: unknown; readonly at: number; readonly records: number } | undefined;
  let [offset, inserted] = [0, 0];

  const send = async (batch: readonly Item[], at: number): Promise<void> => {
    try {
      const { ids } = await sent(collection, batch, call);
      inserted += ids.length;
      onProgress?.({ inserted, offset: at, ids });
    } catch (reason) {
      if (reason instanceof PayloadTooLargeError && batch.length > 1) {
        const half = batch.length >> 1;
        await send(batch.slice(0, half), at);
        if (failure === undefined) await send(batch.slice(half), at + half);
      } else failure ??= { reason, at, records: batch.length };
    }
  };
  try {
    for await (const batch of batchesOf(records, batchSize)) {
      while (inFlight.size >= concurrency) await Promise.race(inFlight);
      signal?.throwIfAborted();
      if (failure !== undefined) break;
      const sent: Promise<void> = send(batch, offset).finally(() => inFlight.delete(sent));
      inFlight.add(sent);
      offset += batch.length;
    }
  } finally {
    await Promise.all(inFlight);
  }
  if (failure === undefined) return { inserted };
  const { reason, at, records: failed } = failure;
  if (reason instanceof VouchError) reason.batch = { offset: at, records: failed, inserted };
  throw reason;
}

async function* batchesOf(
  records: AsyncIterable<NewRecord> | Iterable<NewRecord>,
  batchSize: number,
): AsyncGenerator<readonly Item[], void, undefined> {
  let batch: Item[] = [];
  let [chars, count] = [0, 0];
  for await (const record of records) {
    // An array has a method of the name `values`.
    const isVector = Array.isArray(record) || ArrayBuffer.isView(record);
    const item = isVector ? { values: record as Vector } : (record as Item);
    assertItem(item, `record ${count++}`);
    batch.push(item);
    chars += charsOf(item);
    if (batch.length < batchSize && chars < BATCH_CHARS) continue;
    yield batch;
    [batch, chars] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** Refuses fields that are undefined: the service would treat them as absent. */
function assertItem(item: Item, path: string): void {
  assertPlain(item, path);
  const { values, ...fields } = item;
  assertKnown(fields, FIELDS, path);
  assertExactJson(fields, path);
}

const charsOf = ({ values, metadata, text }: Item): number =>
  values.length * COMPONENT_CHARS + (text?.length ?? 0) + (metadata ? JSON.stringify(metadata).length : 0);

function sent(to: Target, batch: readonly Item[], options: CallOptions): Promise<BatchInsertResponse> {
  const externalIds = batch.flatMap(({ externalId }) => externalId ?? []);
  if (externalIds.length === 0) return to.batchInsert(requestOf(batch), options);
  if (externalIds.length < batch.length) throw new TypeError('some records have an externalId and others have none');
  return to.batchUpsert({ ...requestOf(batch), externalIds }, options);
}

/** The request of a batch, without lists in which no record has an entry. */
function requestOf(batch: readonly Item[]): Request {
  const listOf = <T>(of: (item: Item) => T | null | undefined): (T | null)[] | undefined =>
    batch.some((item) => of(item) != null) ? batch.map((item) => of(item) ?? null) : undefined;
  const [metadata, texts] = [listOf((item) => item.metadata), listOf((item) => item.text)];
  const [requestIds, tags] = [listOf((item) => item.requestId), listOf((item) => item.tag)];
  const [expiresAt, keyIds] = [listOf((item) => item.expiresAt), listOf((item) => item.keyId)];
  return {
    batch: batch.map(({ values }) => values),
    ...(metadata && { metadata }),
    ...(texts && { texts }),
    ...(requestIds && { requestIds }),
    ...(tags && { tags }),
    ...(expiresAt && { expiresAt }),
    ...(keyIds && { keyIds }),
  };
}

function assertCount(count: number, name: string): void {
  if (!Number.isSafeInteger(count) || count < 1)
    throw new RangeError(`${name}: expected a whole number from 1, got ${count}`);
}
