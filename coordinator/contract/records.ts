/** Requests and answers of records. */
import typia, { type tags } from 'typia';
import type { BATCH_MAX, RECORDS_MAX } from '../../shared/limits.js';
import { refuseBody, refuseQuery } from './refusal.js';
import type {
  Base64Url,
  Byte,
  Component,
  Cursor,
  ExpiresAt,
  ExternalId,
  Hash,
  Hex32,
  JsonObject,
  KeyId,
  NamedKeyId,
  PageSize,
  RequestIdBytes,
  Scalar,
  Whole,
} from './values.js';

export interface InsertRequest {
  /** The vector; its length is the collection's dimension. */
  values: Component[];
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** Idempotency token: 32 hex characters or 16 bytes. */
  request_id?: Hex32 | RequestIdBytes | null;
  /** An object, or opaque bytes, in practice UTF-8 JSON. */
  metadata?: Byte[] | JsonObject | null;
  text?: string | null;
  tag?: Whole | null;
  /** Unix seconds, in the future: from then on the record is in no answer about the present. Omitted: it does not expire. */
  expires_at?: ExpiresAt | null;
  /**
   * Puts the record under a vault key, whose shred erases it: 32 lowercase hex, or `new` for a fresh key. Omitted: under none, or
   * in a collection that is `erasable` under a fresh one.
   */
  key_id?: NamedKeyId | null;
}

/** The receipt of one write, which can be verified alone. */
export interface Receipt {
  record_id: Whole;
  /** Roots of the state tree before and after the write. */
  old_root: Hash;
  new_root: Hash;
  proof: Base64Url;
  /** The sequence of the write in the collection's log. */
  sequence: Whole;
  /** Unix seconds. */
  timestamp: Whole;
  state_hash: Hash;
}

export interface InsertResponse {
  id: Whole;
  /** True if the request repeats an earlier one; `id` and `receipt` are the original ones. */
  deduplicated: boolean;
  receipt: Receipt;
  /** The key that the record is under; absent: none. */
  key_id?: KeyId;
}

export interface BatchInsertRequest {
  /** The length of each vector is the collection's dimension. */
  batch: Component[][];
  collection?: string | null;
  /** One for each vector: an object, a string with a JSON object, or null. */
  metadata?: (JsonObject | string | null)[] | null;
  /** One for each vector. */
  texts?: (string | null)[] | null;
  /** One for each vector. Default 0. */
  tags?: (Whole | null)[] | null;
  /** One for each vector. */
  request_ids?: (Hex32 | null)[] | null;
  /** One for each vector: unix seconds as in `POST /v1/records`, or null. */
  expires_at?: (ExpiresAt | null)[] | null;
  /** One for each vector, like `key_id` of `POST /v1/records`. A replaced record without one stays under its key, if any. */
  key_ids?: (NamedKeyId | null)[] | null;
}

export interface BatchInsertResponse {
  /** One for each vector, in the order of `batch`. */
  ids: Whole[];
  /** The keys that the records are under, one for each vector; absent if none is under a key. */
  key_ids?: (KeyId | null)[];
}

export interface BatchUpsertRequest extends BatchInsertRequest {
  /**
   * One for each vector, all different. The live record with this external id is replaced, and keeps its `id`, but not its
   * `expires_at`. Without such a record, a new one is inserted.
   */
  external_ids: ExternalId[];
  /**
   * Refused with 409 `conflict` if a live record with one of the external ids has changed since this event of the log. With 0 no
   * live record may have one of them; with more each must still have one.
   */
  if_log_index?: Whole | null;
}

export interface BatchUpsertResponse {
  /** One for each vector, in the order of `batch`. */
  ids: Whole[];
  /** The number of new records. */
  created: Whole;
  /** The number of replaced records. */
  replaced: Whole;
  /** The keys that the records are under, one for each vector; absent if none is under a key. */
  key_ids?: (KeyId | null)[];
}

/** Names records by exactly one of `ids`, `external_ids` and `metadata_filter`. */
export interface DeleteRecordsRequest {
  collection?: string | null;
  /** Idempotency token: 32 hex characters or 16 bytes. */
  request_id?: Hex32 | RequestIdBytes | null;
  ids?: (Whole[] & tags.MinItems<1> & tags.MaxItems<typeof BATCH_MAX>) | null;
  external_ids?: (ExternalId[] & tags.MinItems<1> & tags.MaxItems<typeof BATCH_MAX>) | null;
  /** A `metadata_filter` like a search's, but not empty: drop the collection to delete all of its records. */
  metadata_filter?: JsonObject | null;
  /** Refused with 409 `conflict` if a record that it names has changed since this event of the log. */
  if_log_index?: Whole | null;
}

export interface DeleteRecordsResponse {
  deleted: Whole;
  /** The sequence of the last deletion in the collection's log; absent if nothing was deleted. */
  log_index?: Whole;
  /** The `ids` or `external_ids` of records that were not there; absent with `metadata_filter`, and in a repeat. */
  missing?: (Whole | string)[];
  /** Present if the request repeats an earlier one; this is the earlier answer. */
  deduplicated?: true;
}

/** Names records by exactly one of `ids`, `external_ids` and `metadata_filter`. */
export interface PatchRecordsRequest {
  collection?: string | null;
  ids?: (Whole[] & tags.MinItems<1> & tags.MaxItems<typeof BATCH_MAX>) | null;
  external_ids?: (ExternalId[] & tags.MinItems<1> & tags.MaxItems<typeof BATCH_MAX>) | null;
  /** A `metadata_filter` like a search's. `{}` matches every record whose metadata is an object. */
  metadata_filter?: JsonObject | null;
  /** A merge patch (RFC 7396): its members replace those of the metadata, members that are null are removed. */
  merge: JsonObject;
  /** Refused with 409 `conflict` if a record that it names has changed since this event of the log. */
  if_log_index?: Whole | null;
}

export interface PatchRecordsResponse {
  /** The records whose metadata was patched. */
  updated: Whole;
  /** The sequence of the last change in the collection's log; absent if nothing was changed. */
  log_index?: Whole;
  /** The `ids` or `external_ids` of records that were not there; absent with `metadata_filter`. */
  missing?: (Whole | string)[];
}

export interface RecordResponse {
  id: Whole;
  /** Present if the record has one. */
  external_id?: string;
  /** Present if the record expires. */
  expires_at?: ExpiresAt;
  vector: number[];
  tag: Whole;
  metadata: JsonObject | null;
  /** Present if it was asked for; null if the record has none. */
  text?: string | null;
  /** The last event of the log that wrote the record, for `if_log_index`. Present if it was asked for. */
  log_index?: Whole;
  /** The key that the record is under; absent: none. */
  key_id?: KeyId;
  /** The salt of the commitment to the content of a record under a key. Present if it was asked for. */
  salt?: Hash;
}

export interface RecordQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** Additional fields, separated by commas: `text`, `log_index`, `salt`. The vector is always there. */
  with?: string & tags.Pattern<'^(vector|text|log_index|salt)(,(vector|text|log_index|salt))*$'>;
}

export interface ExternalIdQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** The external id of a live record, percent-encoded. */
  external_id: ExternalId;
}

/** The change of a record's metadata. */
export interface MetadataQuery extends CollectionQuery {
  /** Refused with 409 `conflict` if the record has changed since this event of the log. */
  if_log_index?: Whole;
}

export interface ExternalMetadataQuery extends ExternalIdQuery {
  /** Refused with 409 `conflict` if the record has changed since this event of the log. */
  if_log_index?: Whole;
}

export interface ExternalRecordQuery extends ExternalIdQuery {
  /** Additional fields, separated by commas: `text`, `log_index`, `salt`. The vector is always there. */
  with?: string & tags.Pattern<'^(vector|text|log_index|salt)(,(vector|text|log_index|salt))*$'>;
}

/** Live records, in the order of their ids, or of a metadata value. */
export interface ListRecordsQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** Default 100. */
  limit?: PageSize;
  /** Only records after it: the `next` of the previous page; without `order_by` also any id. */
  after?: Whole | Cursor;
  /** A metadata key, dotted as in a filter: orders the records by its values. Omitted: by their ids. */
  order_by?: string;
  /** With `order_by`. Default `asc`. */
  order?: 'asc' | 'desc';
  /** A filter like a search's `metadata_filter`, as JSON text. */
  metadata_filter?: string;
  /** Additional fields of each record, separated by commas: `vector`, `text`, `log_index`. */
  with?: string & tags.Pattern<'^(vector|text|log_index)(,(vector|text|log_index))*$'>;
}

/** `ListRecordsQuery` as a body, for filters that a URL cannot hold. */
export interface ListRecordsRequest {
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** Default 100. */
  limit?: PageSize | null;
  /** Only records after it: the `next` of the previous page; without `order_by` also any id. */
  after?: Whole | Cursor | null;
  /** A metadata key, dotted as in a filter: orders the records by its values. Omitted: by their ids. */
  order_by?: string | null;
  /** With `order_by`. Default `asc`. */
  order?: 'asc' | 'desc' | null;
  /** A filter like a search's `metadata_filter`. */
  metadata_filter?: JsonObject | null;
  /** Additional fields of each record. */
  with?: ('vector' | 'text' | 'log_index')[] | null;
}

export interface ListedRecord {
  id: Whole;
  /** Present if the record has one. */
  external_id?: string;
  /** Present if the record expires. */
  expires_at?: ExpiresAt;
  tag: Whole;
  metadata: JsonObject | null;
  /** Present if it was asked for; null if the record has none. */
  text?: string | null;
  /** Present if it was asked for. */
  vector?: number[];
  /** The last event of the log that wrote the record, for `if_log_index`. Present if it was asked for. */
  log_index?: Whole;
  /** The key that the content of the record is under; absent: none. */
  key_id?: KeyId;
}

export interface ListRecordsResponse {
  /**
   * At most `limit`, and as many as fit 8 MiB; at least one, unless no record is left. With `order_by` there are fewer if
   * records were changed meanwhile.
   */
  records: ListedRecord[];
  /** The `after` of the next page; null at the end. With `order_by` a text, whose form may change. */
  next: Whole | Cursor | null;
}

export interface GetRecordsRequest {
  collection?: string | null;
  /** Exactly one of `ids` and `external_ids` is given. */
  ids?: (Whole[] & tags.MinItems<1> & tags.MaxItems<typeof RECORDS_MAX>) | null;
  external_ids?: (ExternalId[] & tags.MinItems<1> & tags.MaxItems<typeof RECORDS_MAX>) | null;
  /** Additional fields of each record. */
  with?: ('vector' | 'text' | 'log_index')[] | null;
}

export interface GetRecordsResponse {
  /** In the order of the request, without missing ones. */
  records: ListedRecord[];
  /** The `ids` or `external_ids` that no live record has. */
  missing: (Whole | string)[];
}

export interface CountRecordsQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** JSON, as the `metadata_filter` of a search. */
  metadata_filter?: string;
}

/** `CountRecordsQuery` as a body, for filters that a URL cannot hold. */
export interface CountRecordsRequest {
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** A filter, as in a search. */
  metadata_filter?: JsonObject | null;
}

export interface CountRecordsResponse {
  count: Whole;
}

export interface FacetsQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** A metadata key, dotted as in a filter. */
  key: string;
  /** The values to list. Default 10. */
  limit?: PageSize;
  /** JSON, as the `metadata_filter` of a search. */
  metadata_filter?: string;
}

/** `FacetsQuery` as a body, for filters that a URL cannot hold. */
export interface FacetsRequest {
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** A metadata key, dotted as in a filter. */
  key: string;
  /** The values to list. Default 10. */
  limit?: PageSize | null;
  /** A filter, as in a search. */
  metadata_filter?: JsonObject | null;
}

export interface FacetsResponse {
  /** The most frequent first; equally frequent ones in the order null, false, true, numbers, strings. */
  values: { value: Scalar; count: Whole }[];
  /** The number of different values, including unlisted ones. */
  distinct: Whole;
  /** The number of records that have the key. */
  records: Whole;
}

/** Names one record, to delete it, by exactly one of `id` and `external_id`. */
export interface RecordReference {
  id?: Whole | null;
  external_id?: ExternalId | null;
  /** Refused with 409 `conflict` if the record has changed since this event of the log. */
  if_log_index?: Whole | null;
  collection?: string | null;
}

export interface DeleteResponse {
  success: true;
  /** In cluster mode: the sequence of the write in the collection's log. */
  log_index?: Whole;
}

export interface MetadataResponse {
  ok: true;
  id: Whole;
  log_index?: Whole;
}

export interface CollectionQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
}

export const assertInsert = typia.createAssert<InsertRequest>(refuseBody);
export const assertBatchInsert = typia.createAssert<BatchInsertRequest>(refuseBody);
export const assertBatchUpsert = typia.createAssert<BatchUpsertRequest>(refuseBody);
export const assertDeleteRecords = typia.createAssert<DeleteRecordsRequest>(refuseBody);
export const assertPatchRecords = typia.createAssert<PatchRecordsRequest>(refuseBody);
export const assertRecordReference = typia.createAssert<RecordReference>(refuseBody);
export const assertGetRecords = typia.createAssert<GetRecordsRequest>(refuseBody);
export const assertListRecords = typia.createAssert<ListRecordsRequest>(refuseBody);
export const assertCountRecords = typia.createAssert<CountRecordsRequest>(refuseBody);
export const assertFacets = typia.createAssert<FacetsRequest>(refuseBody);
export const assertRecordQuery = typia.createAssert<RecordQuery>(refuseQuery);
export const assertMetadataQuery = typia.createAssert<MetadataQuery>(refuseQuery);
export const assertExternalMetadataQuery = typia.createAssert<ExternalMetadataQuery>(refuseQuery);
export const assertExternalRecordQuery = typia.createAssert<ExternalRecordQuery>(refuseQuery);
export const assertListRecordsQuery = typia.createAssert<ListRecordsQuery>(refuseQuery);
export const assertCountRecordsQuery = typia.createAssert<CountRecordsQuery>(refuseQuery);
export const assertFacetsQuery = typia.createAssert<FacetsQuery>(refuseQuery);
export const assertMetadata = typia.createAssert<JsonObject>(refuseBody);
export const assertCollectionQuery = typia.createAssert<CollectionQuery>(refuseQuery);
