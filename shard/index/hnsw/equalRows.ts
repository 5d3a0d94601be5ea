/**
 * The rows of a graph by equal vectors: tables over the MurmurHash3 of the components as the graph stores them. To find the rows of
 * a vector takes one hash of it, and a few places of one table.
 */
import { PagedInts } from '../../kernel/pagedInts.js';

export const NONE = -1;

/** Number of tables, a power of two. Each grows by itself: at 8 million rows the growth of one takes about a millisecond. */
const TABLES = 256;
const TABLE_SHIFT = 8;
const FIRST_LENGTH = 8;

/** Hash table with open addressing. Its length is a power of two; at most half of it is used. */
interface Table {
  /** One ordinal per ring; NONE in free places. */
  places: Int32Array;
  rings: number;
}

/**
 * Rows by their vectors, as the graph stores them. Rows with equal vectors form a ring, and the graph has one node per ring.
 * A few dozen nodes with equal vectors would link only to each other: no search would reach them, nor the nodes behind them.
 *
 * Also finds the rows whose vector equals a query. For a quarter of real rows, a search of the graph at the default width
 * misses the row itself. Takes 12 to 20 bytes a row.
 */
export class EqualRows {
  readonly #tables: Table[] = Array.from({ length: TABLES }, () => ({ places: emptyPlaces(FIRST_LENGTH), rings: 0 }));
  #placeCount = TABLES * FIRST_LENGTH;
  /** For each ordinal the distance to the next row of its ring; 0 if the row is alone. */
  readonly #next = new PagedInts();
  readonly #hashes = new PagedInts();

  /** `vectorOf`: returns the words of a row's stored vector; undefined for a row that is gone and has no node. */
  constructor(readonly vectorOf: (ordinal: number) => Int32Array | undefined) {}

  get bytes(): number {
    return Int32Array.BYTES_PER_ELEMENT * this.#placeCount + this.#next.bytes + this.#hashes.bytes;
  }

  /** Adds an ordinal, which must be new. Returns the first row with an equal vector, which may be gone; NONE without one. */
  add(ordinal: number, vector: Int32Array): number {
    const hash = hashOf(vector);
    this.#hashes.set(ordinal, hash);
    const table = this.#roomFor(hash);
    const { places } = table;
    let at = placeOf(hash, places);
    for (; places[at] !== NONE; at = nextPlace(at, places)) {
      const other = places[at]!;
      if (this.#hashes.get(other) !== hash || !this.#isEqual(other, vector)) continue;
      this.#next.set(ordinal, other + this.#next.get(other) - ordinal);
      this.#next.set(other, ordinal - other);
      return other;
    }
    places[at] = ordinal;
    table.rings++;
    return NONE;
  }

  /** Overwrites the hash of a row whose vector is erased. It is found no more. */
  erase(ordinal: number): void {
    this.#hashes.set(ordinal, 0);
  }

  /** Calls `visit` for the rows of the ring of `ordinal`, until it returns false. A row that was not added is alone. */
  ring(ordinal: number, visit: (ordinal: number) => boolean): void {
    let current = ordinal;
    do {
      if (!visit(current)) return;
      current += this.#next.get(current);
    } while (current !== ordinal);
  }

  /** Returns one row of each ring whose vector has the hash of this one: nearly always an equal vector. */
  find(vector: Int32Array): number[] {
    const found: number[] = [];
    const hash = hashOf(vector);
    const { places } = this.#tableOf(hash);
    for (let at = placeOf(hash, places); places[at] !== NONE; at = nextPlace(at, places))
      if (this.#hashes.get(places[at]!) === hash) found.push(places[at]!);
    return found;
  }

  #isEqual(ordinal: number, vector: Int32Array): boolean {
    return this.vectorOf(ordinal)?.every((word, i) => word === vector[i]) ?? false;
  }

  #tableOf(hash: number): Table {
    return this.#tables[hash & (TABLES - 1)]!;
  }

  /** Returns the table of a hash, with a free place for another ring. */
  #roomFor(hash: number): Table {
    const table = this.#tableOf(hash);
    if (2 * (table.rings + 1) > table.places.length) this.#grow(table);
    return table;
  }

  #grow(table: Table): void {
    const old = table.places;
    const places = emptyPlaces(2 * old.length);
    this.#placeCount += old.length;
    for (const ordinal of old) {
      if (ordinal === NONE) continue;
      let at = placeOf(this.#hashes.get(ordinal), places);
      while (places[at] !== NONE) at = nextPlace(at, places);
      places[at] = ordinal;
    }
    table.places = places;
  }
}

const emptyPlaces = (length: number): Int32Array => new Int32Array(length).fill(NONE);
const placeOf = (hash: number, { length }: Int32Array): number => (hash >>> TABLE_SHIFT) & (length - 1);
const nextPlace = (at: number, { length }: Int32Array): number => (at + 1) & (length - 1);

/** MurmurHash3, 32 bits, one word at a time. */
function hashOf(words: Int32Array): number {
  let hash = 0;
  for (let i = 0; i < words.length; i++) {
    let word = Math.imul(words[i]!, 0xcc9e2d51);
    word = (word << 15) | (word >>> 17);
    hash ^= Math.imul(word, 0x1b873593);
    hash = (hash << 13) | (hash >>> 19);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
