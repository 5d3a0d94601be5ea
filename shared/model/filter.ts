/**
 * A metadata filter, which the edge has checked and shards evaluate. A record without metadata, or with metadata that is not a
 * JSON object, matches no filter, not even a `not`. In a filter with a test of the text, such a record with a text counts as one
 * whose metadata is `{}`.
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
  | { readonly op: 'test'; readonly path: readonly string[]; readonly test: Test }
  /** Whether the text of the record has the words. */
  | { readonly op: 'text'; readonly test: WordsTest };

export type Order = 'gt' | 'gte' | 'lt' | 'lte';

/** All words in any order, any of them, or all in a row. */
export type WordMode = 'all' | 'any' | 'phrase';

/** Words are those of the collection's text search. A value without a word matches nothing. */
export interface WordsTest {
  readonly kind: 'words';
  readonly mode: WordMode;
  readonly value: string;
  /** The terms of the words; set by the shard, where they take long to find. */
  readonly terms?: readonly string[];
}

export type Test =
  /** Deep equality; numbers by value. `ne` and `nin` are the opposite of `eq` and `in`: an absent value matches. */
  | { readonly kind: 'eq' | 'ne'; readonly value: Json }
  /**
   * Numbers with numbers, strings with strings; anything else matches nothing. Two dates of ISO 8601 are compared in time
   * (`isoDate.ts`), other strings by UTF-16 code units.
   */
  | { readonly kind: Order; readonly value: number | string }
  | { readonly kind: 'in' | 'nin'; readonly values: readonly Json[] }
  /** Strings that begin with the value, or contain it; by UTF-16 code units. Anything else matches nothing. */
  | { readonly kind: 'prefix' | 'contains'; readonly value: string }
  /** Strings that have the words; anything else matches nothing. */
  | WordsTest
  /** Whether the path has a value; null counts. */
  | { readonly kind: 'exists'; readonly value: boolean };

/** Whether the filter tests the texts of records. */
export function readsTexts(filter: Filter): boolean {
  switch (filter.op) {
    case 'and':
    case 'or':
      return filter.of.some(readsTexts);
    case 'not':
      return readsTexts(filter.of);
    case 'test':
      return false;
    case 'text':
      return true;
  }
}
