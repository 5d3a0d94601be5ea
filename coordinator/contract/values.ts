/** The value types that requests and answers are made of. Their tags are what is checked, and what OpenAPI shows. */
import typia, { type tags } from 'typia';
import type { DIMENSION_MAX, K_MAX, VALUE_MAX, VALUE_MIN } from '../../shared/limits.js';

/** A vector's component; held as Q16.16 fixed point. NaN and infinities fail both bounds. */
export type Component = number & tags.Minimum<typeof VALUE_MIN> & tags.Maximum<typeof VALUE_MAX>;

export type { Whole } from '../../shared/whole.js';

export type Byte = number & tags.Type<'uint32'> & tags.Maximum<255>;

/** 16 bytes as hex, in either case. */
export type Hex32 = string & tags.Pattern<'^[0-9a-fA-F]{32}$'>;

export type RequestIdBytes = Byte[] & tags.MinItems<16> & tags.MaxItems<16>;

export type CollectionName = string & tags.Pattern<'^[A-Za-z0-9_-]{1,64}$'>;

export type Dimension = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof DIMENSION_MAX>;

export type ResultCount = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<typeof K_MAX>;

export interface JsonObject {
  [key: string]: unknown;
}

export const isCollectionName = typia.createIs<CollectionName>();
export const isHex32 = typia.createIs<Hex32>();
