/**
 * A metadata filter, which the edge has checked and shards evaluate. A record without metadata, or with metadata that is not a
 * JSON object, matches no filter, not even a `not`.
 */

export type Scalar = string | number | boolean | null;
export type Json = Scalar | readonly Json[] | { readonly [key: string]: Json };

/** `Array.isArray` for readonly arrays. */
export const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);

/** Separates the keys of a path. A key that contains it is found at the path that it spells: `{"a.b": 1}` at `a.b`. */
export const PATH_SEPARATOR = '.';

export type Filter =
  /** All filters must match. An empty list matches every record with object metadata. */
  | { readonly op: 'and'; readonly of: readonly Filter[] }
  | { readonly op: 'or'; readonly of: readonly Filter[] }
  | { readonly op: 'not'; readonly of: Filter }
  /**
   * `path`: the keys to follow through nested objects. In an array on the way, each object is followed. An array at the end
   * counts as a value, and so does each of its elements. The test matches if it matches any value found. Several tests of a
   * record may match different values: `[1, 9]` has a value above 4 and one below 6.
   */
  | { readonly op: 'test'; readonly path: readonly string[]; readonly test: Test };

export type Order = 'gt' | 'gte' | 'lt' | 'lte';

export type Test =
  /** Deep equality; numbers by value. `ne` and `nin` are the opposite of `eq` and `in`: an absent value matches. */
  | { readonly kind: 'eq' | 'ne'; readonly value: Json }
  /** Numbers with numbers, strings with strings (by UTF-16 code units); anything else matches nothing. */
  | { readonly kind: Order; readonly value: number | string }
  | { readonly kind: 'in' | 'nin'; readonly values: readonly Json[] }
  /** Strings that begin with the value, or contain it; by UTF-16 code units. Anything else matches nothing. */
  | { readonly kind: 'prefix' | 'contains'; readonly value: string }
  /** Whether the path has a value; null counts. */
  | { readonly kind: 'exists'; readonly value: boolean };
