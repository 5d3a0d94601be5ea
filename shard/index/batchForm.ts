/** Messages of search batches: arrays of words in one array, so that a message is copied at once. */
import { BitSet } from '../kernel/bitSet.js';
import { type Hits, hitsOfLength } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import type { ScratchArena } from '../kernel/vectorMemory.js';

/** Facts of a search that a message has: each is an array of 32-bit words. */
export type Parts = readonly (Int32Array | Uint32Array | Float32Array)[];

/** Result of a search: the nearest rows, or nodes of a graph of which one represents several rows. */
export type SearchResult = { readonly hits: Hits } | { readonly nodes: Uint32Array };

/** In place of the number of hits: the search has nodes instead. */
const NODES = -1;

/** A table in shared memory, and the numbers of its arenas among those that are lent. */
export interface LentTable {
  readonly table: SharedArrayBuffer;
  readonly arenas: readonly number[];
}

/** Returns the arenas of a table, in the order of their numbers there. */
export const lentIn = (lent: readonly ScratchArena[], { arenas }: LentTable): ScratchArena[] =>
  arenas.map((number) => lent[number]!);

/** Packs searches, which all have equally many parts. A part is its length, then its words. */
export function packParts(searches: readonly Parts[]): Int32Array {
  let size = 0;
  for (const parts of searches) for (const part of parts) size += 1 + part.length;
  const words = new Int32Array(size);
  let at = 0;
  for (const parts of searches)
    for (const { buffer, byteOffset, length } of parts) {
      words[at++] = length;
      words.set(new Int32Array(buffer, byteOffset, length), at);
      at += length;
    }
  return words;
}

/** Yields the parts of each search, as views of `words`. */
export function* unpackParts(words: Int32Array, partsOfSearch: number): Generator<Int32Array[]> {
  for (let at = 0; at < words.length; ) {
    const parts: Int32Array[] = [];
    for (let part = 0; part < partsOfSearch; part++) {
      const length = words[at++]!;
      parts.push(words.subarray(at, at + length));
      at += length;
    }
    yield parts;
  }
}

/** A search by the codes of rotated vectors. */
export interface CodesQuery {
  readonly query: Int32Array;
  /** The query, rotated like the codes; undefined: the search needs none. */
  readonly rotated: Float32Array | undefined;
  readonly k: number;
  /** Number of rows, or of lists, that are measured. */
  readonly most: number;
  /** Bitmap of the eligible slots; empty if all slots are eligible. */
  readonly eligible: Uint32Array;
}

/** Numbers, query, rotated query and bitmap. */
const QUERY_PARTS = 4;
const NO_FLOATS = new Float32Array(0);

export const packQueries = (queries: readonly CodesQuery[]): Int32Array =>
  packParts(
    queries.map(({ query, rotated = NO_FLOATS, k, most, eligible }) => [
      Int32Array.of(k, most),
      query,
      rotated,
      eligible,
    ]),
  );

export function* unpackQueries(words: Int32Array): Generator<CodesQuery> {
  for (const [numbers, query, floats, eligible] of unpackParts(words, QUERY_PARTS)) {
    const [k, most] = numbers!;
    const rotated = floats!.length === 0 ? undefined : asFloats(floats!);
    yield { query: query!, rotated, k: k!, most: most!, eligible: asUnsigned(eligible!) };
  }
}

/** Returns a bitmap of the eligible slots, at least one, below `end`. It is empty if all slots are eligible. Do not change it. */
export const bitmapOf = (eligible: SlotSet | undefined, end: number): Uint32Array =>
  eligible?.upTo(32 * Math.ceil(end / 32)) ?? new Uint32Array(0);

/** Returns the slots of a bitmap that `bitmapOf` has made. */
export const slotsIn = (bitmap: Uint32Array): BitSet | undefined =>
  bitmap.length === 0 ? undefined : new BitSet(bitmap);

export const asUnsigned = ({ buffer, byteOffset, length }: Int32Array): Uint32Array =>
  new Uint32Array(buffer, byteOffset, length);

const asFloats = ({ buffer, byteOffset, length }: Int32Array): Float32Array =>
  new Float32Array(buffer, byteOffset, length);

/**
 * Packs results, in order. A result is the number of its hits, then their ids, slots and scores. Or it is NODES, then the
 * length of `nodes`, then those.
 */
export function packResults(results: readonly SearchResult[]): Float64Array {
  const sizeOf = (one: SearchResult): number => ('hits' in one ? 1 + 3 * one.hits.ids.length : 2 + one.nodes.length);
  const numbers = new Float64Array(results.reduce((sum, one) => sum + sizeOf(one), 0));
  let at = 0;
  for (const one of results) {
    if ('hits' in one) {
      const { ids, slots, scores } = one.hits;
      numbers[at++] = ids.length;
      for (const column of [ids, slots, scores]) {
        numbers.set(column, at);
        at += column.length;
      }
    } else {
      numbers[at++] = NODES;
      numbers[at++] = one.nodes.length;
      numbers.set(one.nodes, at);
      at += one.nodes.length;
    }
  }
  return numbers;
}

/** Returns the hits of an index whose searches find no nodes. */
export function hitsIn(result: SearchResult): Hits {
  if ('hits' in result) return result.hits;
  throw new Error('a search without a graph found nodes');
}

export function unpackResults(numbers: Float64Array): SearchResult[] {
  const results: SearchResult[] = [];
  for (let at = 0; at < numbers.length; ) {
    const count = numbers[at++]!;
    if (count === NODES) {
      const length = numbers[at++]!;
      results.push({ nodes: Uint32Array.from(numbers.subarray(at, at + length)) });
      at += length;
      continue;
    }
    const hits = hitsOfLength(count);
    for (const column of [hits.ids, hits.slots, hits.scores]) {
      column.set(numbers.subarray(at, at + count));
      at += count;
    }
    results.push({ hits });
  }
  return results;
}
