/**
 * A metadata filter, which the edge has checked and shards evaluate. A record without metadata, or with metadata that is
 * not a JSON object, matches nothing, not even a `not`.
 */

export type Scalar = string | number | boolean | null;
export type Json = Scalar | readonly Json[] | { readonly [key: string]: Json };

/** `Array.isArray` for readonly arrays. */
export const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);

/** Between the keys of a path. A key that has one itself is found as the path it spells: `{"a.b": 1}` at `a.b`. */
export const PATH_SEPARATOR = '.';

export type Filter =
  /** All of them; none: every record with object metadata. */
  | { readonly op: 'and'; readonly of: readonly Filter[] }
  | { readonly op: 'or'; readonly of: readonly Filter[] }
  | { readonly op: 'not'; readonly of: Filter }
  /**
   * `path`: the keys to follow, one object in the other. Where a key meets an array on the way, its elements that are
   * objects are followed, each; where an array stands at the end, it is meant whole, and so is each of its elements.
   * A test holds where it holds for any of what is found so, each test of a record by itself: `[1, 9]` has a value
   * above 4 and one below 6.
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
  /** Whether there is a value, null included. */
  | { readonly kind: 'exists'; readonly value: boolean };
