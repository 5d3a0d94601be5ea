/** The calls that read many records, and the columns in which records travel. */
import type { tags } from 'typia';
import type { RECORDS_MAX } from '../limits.js';
import type { Filter } from '../model/filter.js';
import type { RecordName } from '../model/recordName.js';
import type { RecordOrder } from '../model/recordOrder.js';
import type { Whole, WholeBetween } from '../model/whole.js';

/** A part of a record that is sent on request. */
export type Field = 'metadata' | 'text' | 'vector' | 'log_index';

type RecordCount = number & WholeBetween<1, typeof RECORDS_MAX>;

/** Fields of records, one entry a record in each column; a field that was not requested has no column. */
export interface RecordFields {
  readonly metadata?: readonly (Uint8Array | null)[];
  /** UTF-8. */
  readonly texts?: readonly (Uint8Array | null)[];
  /** The little-endian Q16.16 components of each; zeros for an encrypted record. */
  readonly vectors?: readonly Uint8Array[];
  /** Little-endian float64: the last event that wrote each. */
  readonly changedBy?: Uint8Array;
  /** Always sent, unless no record of the collection has one. */
  readonly externalIds?: readonly (string | null)[];
  /** Little-endian float64, unix milliseconds; 0: it does not expire. Not sent with hits, nor if no record of the collection expires. */
  readonly expiresAt?: Uint8Array;
  /** The key that the content of each is under, or null. Not sent with hits, nor if no record of the collection has one. */
  readonly keyIds?: readonly (string | null)[];
}

/** Records one after another; `ids` and `tags` are little-endian float64. */
export interface ListedRecords {
  readonly ids: Uint8Array;
  readonly tags: Uint8Array;
  readonly fields: RecordFields;
}

/** `maxBytes` of a read: records are returned until they take so many bytes, at least one. */
export type RecordsCall =
  /** Returns the live records with ids above `after`, in the order of their ids; with `order` in that, after its cursor. */
  | {
      readonly op: 'listRecords';
      readonly after: Whole;
      readonly limit: RecordCount;
      readonly filter?: Filter;
      readonly order?: RecordOrder & { readonly after?: string };
      readonly fields: readonly Field[];
      readonly maxBytes: Whole;
    }
  /** Returns the live records among the ids, in their order. */
  | {
      readonly op: 'getRecords';
      readonly of:
        | { readonly ids: readonly Whole[] & tags.MaxItems<typeof RECORDS_MAX> }
        | { readonly externalIds: readonly string[] & tags.MaxItems<typeof RECORDS_MAX> };
      readonly fields: readonly Field[];
      readonly maxBytes: Whole;
    }
  /** Counts the live records, or those that match. */
  | { readonly op: 'countRecords'; readonly filter?: Filter }
  /**
   * Counts the live records with each value of a metadata key; see `shard/records/facets.ts`. Throws `validation_error` if
   * the values take more than `maxBytes`.
   */
  | {
      readonly op: 'facets';
      readonly key: string;
      readonly limit: RecordCount;
      readonly filter?: Filter;
      readonly maxBytes: Whole;
    }
  /** Returns the id and the vector of a live record. Throws `record_not_found`, `validation_error` if it is encrypted. */
  | { readonly op: 'vectorOf'; readonly id: RecordName };

export interface RecordsResults {
  /** `next`: the last id returned, if there are more; else null. With `order` the cursor of the last place. */
  listRecords: ListedRecords & { readonly next: number | string | null };
  /** `read`: number of ids that were looked up; `missing`: the places of ids among them without a live record. */
  getRecords: ListedRecords & { readonly read: number; readonly missing: readonly number[] };
  countRecords: { readonly count: number };
  /** `values`: canonical JSON. `distinct`: all values; `records`: those that have the key. */
  facets: {
    readonly values: readonly string[];
    readonly counts: readonly number[];
    readonly distinct: number;
    readonly records: number;
  };
  vectorOf: { readonly id: number; readonly vector: Uint8Array };
}
