/** The value types of requests and answers. Their tags are validated, and shown by OpenAPI. */
import typia, { type tags } from 'typia';
import type {
  DIMENSION_MAX,
  EXTERNAL_ID_MAX_BYTES,
  K_MAX,
  RECORDS_MAX,
  VALUE_MAX,
  VALUE_MIN,
} from '../../shared/limits.js';

/** A component of a vector, stored as Q16.16 fixed point. NaN and infinities fail both bounds. */
export type Component = number & tags.Minimum<typeof VALUE_MIN> & tags.Maximum<typeof VALUE_MAX>;

export type { Whole } from '../../shared/model/whole.js';

export type Byte = number & tags.Type<'uint32'> & tags.Maximum<255>;

/** A BLAKE3 hash or an Ed25519 public key. */
export type Hash = string & tags.Pattern<'^[0-9a-f]{64}$'>;

export type Signature = string & tags.Pattern<'^[0-9a-f]{128}$'>;

export type Base64Url = string & tags.Pattern<'^[A-Za-z0-9_-]+$'>;

/** The id of a vault key, in lower case only. */
export type KeyId = string & tags.Pattern<'^[0-9a-f]{32}$'>;

/** 16 bytes as hex, in either case. */
export type Hex32 = string & tags.Pattern<'^[0-9a-fA-F]{32}$'>;

export type RequestIdBytes = Byte[] & tags.MinItems<16> & tags.MaxItems<16>;

export type CollectionName = string & tags.Pattern<'^[A-Za-z0-9_-]{1,64}$'>;

export type Dimension = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof DIMENSION_MAX>;

/** Enforced like `Maximum`, but not in the published schema: the contract publishes only the minimum of `k`. */
type UnpublishedMaximum<Value extends number> = tags.TagBase<{
  target: 'number';
  kind: 'unpublishedMaximum';
  value: Value;
  validate: `$input <= ${Value}`;
}>;

export type ResultCount = number & tags.Type<'uint32'> & tags.Minimum<1> & UnpublishedMaximum<typeof K_MAX>;

/** The id that a caller gives a record: 1 to 256 bytes of UTF-8. */
export type ExternalId = string & tags.MinLength<1> & tags.MaxLength<typeof EXTERNAL_ID_MAX_BYTES>;

/** How many records or values one answer may hold. */
export type PageSize = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof RECORDS_MAX>;

/** A JSON value that is neither an array nor an object. */
export type Scalar = string | number | boolean | null;

export interface JsonObject {
  [key: string]: unknown;
}

export const isCollectionName = typia.createIs<CollectionName>();
export const isHex32 = typia.createIs<Hex32>();
