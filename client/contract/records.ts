/** Made from coordinator/contract/records.ts by `npm run docs`. */
import type { JsonObject, Vector } from '../values.js';

export interface InsertRequest {
  /** The vector; its length is the collection's dimension. */
  values: Vector;
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** Idempotency token: 32 hex characters or 16 bytes. */
  requestId?: string | number[] | null;
  /** Opaque bytes, in practice UTF-8 JSON. */
  metadata?: number[] | null;
  text?: string | null;
  tag?: number | null;
}

/** The receipt of one write, which can be verified alone. */
export interface Receipt {
  recordId: number;
  /** Roots of the state tree before and after the write. */
  oldRoot: string;
  newRoot: string;
  proof: string;
  /** The sequence of the write in the collection's log. */
  sequence: number;
  /** Unix seconds. */
  timestamp: number;
  stateHash: string;
}

export interface InsertResponse {
  id: number;
  /** True if the request repeats an earlier one; `id` and `receipt` are the original ones. */
  deduplicated: boolean;
  receipt: Receipt;
}

export interface BatchInsertRequest {
  /** The length of each vector is the collection's dimension. */
  batch: Vector[];
  collection?: string | null;
  /** One for each vector: an object, a string of JSON of an object, or null. */
  metadata?: (JsonObject | string | null)[] | null;
  /** One for each vector. */
  texts?: (string | null)[] | null;
  /** One for each vector. Default 0. */
  tags?: (number | null)[] | null;
  /** One for each vector. */
  requestIds?: (string | null)[] | null;
}

export interface BatchInsertResponse {
  /** One for each vector, in the order of `batch`. */
  ids: number[];
}

export interface BatchUpsertRequest extends BatchInsertRequest {
  /**
   * One for each vector, no two the same. A live record of the collection that has it is replaced, and keeps its `id`; where
   * there is none, one is inserted.
   */
  externalIds: string[];
}

export interface BatchUpsertResponse {
  /** One for each vector, in the order of `batch`. */
  ids: number[];
  /** The records that are new. */
  created: number;
  /** The records that were replaced. */
  replaced: number;
}

/** Names records by exactly one of `ids`, `externalIds` and `metadataFilter`. */
export interface DeleteRecordsRequest {
  collection?: string | null;
  /** Idempotency token: 32 hex characters or 16 bytes. */
  requestId?: string | number[] | null;
  ids?: number[] | null;
  externalIds?: string[] | null;
  /** As the `metadataFilter` of a search, but not empty: drop the collection to delete all of its records. */
  metadataFilter?: JsonObject | null;
}

export interface DeleteRecordsResponse {
  deleted: number;
  /** The sequence of the last deletion in the collection's log; absent if nothing was deleted. */
  logIndex?: number;
  /** The `ids` or `externalIds` of records that were not there; absent with `metadataFilter`, and in a repeat. */
  missing?: (number | string)[];
  /** Present if the request repeats an earlier one, which it is answered as. */
  deduplicated?: true;
}

export interface RecordResponse {
  id: number;
  /** Present if the record has one. */
  externalId?: string;
  vector: number[];
  tag: number;
  metadata: JsonObject | null;
}

/** Live records, in the order of their ids. */
export interface ListRecordsQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** Default 100. */
  limit?: number;
  /** Only records with greater ids: the `next` of the page before. */
  after?: number;
  /** JSON, as the `metadataFilter` of a search. */
  metadataFilter?: string;
  /** Fields that each record has besides, separated by commas: `vector`, `text`. */
  with?: string;
}

/** `ListRecordsQuery` as a body, for filters that a URL cannot hold. */
export interface ListRecordsRequest {
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** Default 100. */
  limit?: number | null;
  /** Only records with greater ids: the `next` of the page before. */
  after?: number | null;
  /** A filter, as in a search. */
  metadataFilter?: JsonObject | null;
  /** Fields that each record has besides. */
  with?: ('vector' | 'text')[] | null;
}

export interface ListedRecord {
  id: number;
  /** Present if the record has one. */
  externalId?: string;
  tag: number;
  metadata: JsonObject | null;
  /** Present if it was asked for; null if the record has none. */
  text?: string | null;
  /** Present if it was asked for. */
  vector?: number[];
}

export interface ListRecordsResponse {
  /** At most `limit`, and as many as fit 8 MiB, but at least one if there is one. */
  records: ListedRecord[];
  /** The `after` of the next page; null at the end. */
  next: number | null;
}

export interface GetRecordsRequest {
  collection?: string | null;
  /** Exactly one of `ids` and `externalIds` is given. */
  ids?: number[] | null;
  externalIds?: string[] | null;
  /** Fields that each record has besides. */
  with?: ('vector' | 'text')[] | null;
}

export interface GetRecordsResponse {
  /** In the order of the request, without those that are missing. */
  records: ListedRecord[];
  /** The `ids` or `externalIds` that no live record has. */
  missing: (number | string)[];
}

export interface CountRecordsQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** JSON, as the `metadataFilter` of a search. */
  metadataFilter?: string;
}

/** `CountRecordsQuery` as a body, for filters that a URL cannot hold. */
export interface CountRecordsRequest {
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** A filter, as in a search. */
  metadataFilter?: JsonObject | null;
}

export interface CountRecordsResponse {
  count: number;
}

export interface FacetsQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
  /** A metadata key, dotted as in a filter. */
  key: string;
  /** The values to list. Default 10. */
  limit?: number;
  /** JSON, as the `metadataFilter` of a search. */
  metadataFilter?: string;
}

/** `FacetsQuery` as a body, for filters that a URL cannot hold. */
export interface FacetsRequest {
  /** Omitted: the collection named `default`. */
  collection?: string | null;
  /** A metadata key, dotted as in a filter. */
  key: string;
  /** The values to list. Default 10. */
  limit?: number | null;
  /** A filter, as in a search. */
  metadataFilter?: JsonObject | null;
}

export interface FacetsResponse {
  /** The most frequent first; equally frequent ones as null, false, true, numbers, strings, each in their order. */
  values: {
    value: (string | number | boolean | null);
    count: number;
  }[];
  /** All different values, also those that are not listed. */
  distinct: number;
  /** The records that have the key. */
  records: number;
}

/** Names one record, to delete it. */
export interface RecordReference {
  id: number;
  collection?: string | null;
}

export interface DeleteResponse {
  success: true;
  /** In cluster mode: the sequence of the write in the collection's log. */
  logIndex?: number;
}

export interface MetadataResponse {
  ok: true;
  id: number;
  logIndex?: number;
}

export interface CollectionQuery {
  /** Omitted: the collection named `default`. */
  collection?: string;
}
