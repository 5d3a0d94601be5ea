/** The options of the calls of a collection. */
import type { CallOptions } from './http.js';
import type { JsonObject } from './values.js';

/** Options of a batch insert or upsert, and of an encrypted insert. */
export interface IdempotentOptions extends CallOptions {
  /** 32 hex: the request, sent again with it, inserts nothing twice. Omitted: one is made for this call and its retries. */
  readonly idempotencyKey?: string | undefined;
}

/** Events between two instants: a `Date`, ISO 8601 with a zone, or unix seconds; both are inclusive. */
export interface TimelineOptions extends CallOptions {
  readonly from?: Date | string | number | undefined;
  readonly to?: Date | string | number | undefined;
  /** Only events of this actor: the id of a key, or what was sent as `onBehalfOf`. */
  readonly actor?: string | undefined;
  /** The `logIndex` of the last event that you have. */
  readonly after?: number | undefined;
  /** The events that one request asks for: 1 to 1,000, the default. */
  readonly limit?: number | undefined;
}

/** The live records of a collection, or those that match. */
export interface Matching extends CallOptions {
  /** A condition on the metadata, as in a search. */
  readonly metadataFilter?: JsonObject | undefined;
}

export interface GetOptions extends CallOptions {
  /** Further fields of the record. The vector is always there. */
  readonly with?: readonly ('text' | 'log_index' | 'salt')[] | undefined;
}

/** A change of one record. */
export interface ChangeOptions extends CallOptions {
  /** Fails with `ConflictError` if the record has changed since this event of the log. Such a change is not tried again. */
  readonly ifLogIndex?: number | undefined;
}

export interface ListOptions extends Matching {
  /** Only records after it: the `next` of a page; without `orderBy` also any id. */
  readonly after?: number | string | undefined;
  /** A metadata key, dotted as in a filter: orders the records by its values. Omitted: by their ids. */
  readonly orderBy?: string | undefined;
  /** With `orderBy`. Default `asc`. */
  readonly order?: 'asc' | 'desc' | undefined;
  /** The records that one request asks for: 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** Further fields of each record. */
  readonly with?: readonly ('vector' | 'text' | 'log_index')[] | undefined;
}

export interface FacetOptions extends Matching {
  /** The values to list: 1 to 1,000. Default 10. */
  readonly limit?: number | undefined;
}
