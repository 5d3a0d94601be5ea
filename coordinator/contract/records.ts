/** Requests and answers about single records. */
import typia from 'typia';
import type { Receipt } from '../../shared/calls.js';
import { refuseBody, refuseQuery } from './refusal.js';
import type { Byte, Component, Hex32, JsonObject, RequestIdBytes, Whole } from './values.js';

export interface InsertRequest {
  /** The vector; as long as the collection's dimension. */
  values: Component[];
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** Idempotency token: 32 hex characters or 16 bytes. */
  request_id?: Hex32 | RequestIdBytes | null;
  /** Opaque bytes, in practice UTF-8 JSON. */
  metadata?: Byte[] | null;
  text?: string | null;
  tag?: Whole | null;
}

export interface InsertResponse {
  id: number;
  /** True where the request replayed one already applied; `id` and `receipt` are then the original ones. */
  deduplicated: boolean;
  receipt: Receipt;
}

export interface BatchInsertRequest {
  /** Each as long as the collection's dimension. */
  batch: Component[][];
  collection?: string | null;
  /** One for each vector: an object, a string of JSON of an object, or null. */
  metadata?: (JsonObject | string | null)[] | null;
  /** One for each vector. */
  texts?: (string | null)[] | null;
  /** One for each vector. */
  request_ids?: (Hex32 | null)[] | null;
}

export interface BatchInsertResponse {
  /** One for each vector, in the order of `batch`. */
  ids: number[];
}

export interface RecordResponse {
  id: number;
  vector: number[];
  tag: number;
  metadata: JsonObject | null;
}

/** Names one record, to delete it. */
export interface RecordReference {
  id: Whole;
  collection?: string | null;
}

export interface DeleteResponse {
  success: true;
  /** In cluster mode: the write's number in the collection's log. */
  log_index?: number;
}

export interface MetadataResponse {
  ok: true;
  id: number;
  log_index?: number;
}

export interface CollectionQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
}

export const assertInsert = typia.createAssert<InsertRequest>(refuseBody);
export const assertBatchInsert = typia.createAssert<BatchInsertRequest>(refuseBody);
export const assertRecordReference = typia.createAssert<RecordReference>(refuseBody);
export const assertMetadata = typia.createAssert<JsonObject>(refuseBody);
export const assertCollectionQuery = typia.http.createAssertQuery<CollectionQuery>(refuseQuery);
