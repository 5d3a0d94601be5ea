/** The value types of requests and answers. Their tags are validated, and appear in the OpenAPI document. */
import typia, { type tags } from 'typia';
import type {
  DIMENSION_MAX,
  EXPIRES_AT_MAX,
  EXTERNAL_ID_MAX_BYTES,
  K_MAX,
  RECORDS_MAX,
  VALUE_MAX,
  VALUE_MIN,
} from '../../shared/limits.js';
import type { Between, UnixSecondsUpTo, WholeBetween } from '../../shared/model/whole.js';

/** A component of a vector, stored as Q16.16 fixed point. NaN and infinities fail both bounds. */
export type Component = number & Between<typeof VALUE_MIN, typeof VALUE_MAX>;

export type { Whole } from '../../shared/model/whole.js';

export type Byte = number & WholeBetween<0, 255>;

/** A BLAKE3 hash or an Ed25519 public key. */
export type Hash = string & tags.Pattern<'^[0-9a-f]{64}$'>;

export type Signature = string & tags.Pattern<'^[0-9a-f]{128}$'>;

export type Base64Url = string & tags.Pattern<'^[A-Za-z0-9_-]+$'>;

/** The id of a vault key, in lower case only. */
export type KeyId = string & tags.Pattern<'^[0-9a-f]{32}$'>;

/** The id of a key, or `new` for a fresh one. */
export type NamedKeyId = string & tags.Pattern<'^([0-9a-f]{32}|new)$'>;

/** 16 bytes as hex, in either case. */
export type Hex32 = string & tags.Pattern<'^[0-9a-fA-F]{32}$'>;

export type RequestIdBytes = Byte[] & tags.MinItems<16> & tags.MaxItems<16>;

export type CollectionName = string & tags.Pattern<'^[A-Za-z0-9_-]{1,64}$'>;

export type Dimension = number & WholeBetween<1, typeof DIMENSION_MAX>;

// The OpenAPI document has only the lower bound of `k`.
export type ResultCount = number & WholeBetween<1, typeof K_MAX, { minimum: 1 }>;

/** Bounds of UTF-8 bytes. Validation bounds the characters, of which a text never has more than bytes; encoding counts the bytes. */
export type Utf8Bytes<Least extends number, Most extends number> = tags.TagBase<{
  target: 'string';
  kind: 'utf8Bytes';
  value: undefined;
  validate: `${Least} <= $input.length && $input.length <= ${Most}`;
  exclusive: true;
  schema: { minLength: Least; maxLength: Most };
}>;

/** The id that a caller gives a record: 1 to 256 bytes of UTF-8. */
export type ExternalId = string & Utf8Bytes<1, typeof EXTERNAL_ID_MAX_BYTES>;

/** The place of a record in an order: see `shared/protocol/orderCursor.ts`. Never digits alone. */
export type Cursor = string & tags.Pattern<'^A[A-Za-z0-9_-]{34,375}$'>;

/** The life of records, and of the entries of access logs, up to a hundred years. */
export type { RetentionDays, TtlSecs } from '../../shared/model/whole.js';

/** Unix seconds from which on a record is in no answer, up to the year 9999. */
export type ExpiresAt = number & UnixSecondsUpTo<typeof EXPIRES_AT_MAX>;

/** Largest number of records or values in one answer. */
export type PageSize = number & WholeBetween<1, typeof RECORDS_MAX>;

/** A JSON value that is neither an array nor an object. */
export type Scalar = string | number | boolean | null;

export interface JsonObject {
  [key: string]: unknown;
}

export const isCollectionName = typia.createIs<CollectionName>();
export const isHex32 = typia.createIs<Hex32>();
