/**
 * Numbers the tokens of a collection's texts. A hash table in flat memory, about 20 bytes a token besides its characters.
 */
import { HashPlaces } from '../../shared/hashing/hashPlaces.js';
import { hashedKey } from '../../shared/hashing/mapKey.js';
import { textHash } from '../../shared/hashing/textHash.js';
import { PagedInts } from '../kernel/pagedInts.js';
import { BlockStore, offsetOf } from './blockStore.js';

/** A longer token is identified by its hash. */
const PLAIN_CHARS_MAX = 128;
/** Memory of a token besides its characters: its address, its hash and its places in the table. */
const TOKEN_BYTES = 20;
const UNIT_BITS = 16;
const UNIT_MASK = 0xffff;

/**
 * The tokens that occur. Each has a small number, its term. The term of a deleted token is reused.
 *
 * Tokens are in flat memory. Millions of strings in maps would be visited in every full garbage collection, which
 * pauses for 0.1 s at a time.
 */
export class Vocabulary extends HashPlaces {
  /** A block per token: its number of UTF-16 units, then two units in each 32-bit word. */
  readonly #store = new BlockStore();
  // The next two are keyed by term.
  readonly #addresses = new PagedInts();
  readonly #hashes = new PagedInts();
  /** Terms of deleted tokens, to be reused. */
  readonly #unused = new PagedInts();
  #unusedCount = 0;

  /** Approximate memory. */
  get bytes(): number {
    return this.#store.bytes + (this.#addresses.length - this.#unusedCount) * TOKEN_BYTES;
  }

  find(token: string): number | undefined {
    const key = keyOf(token);
    const hash = textHash(key);
    const places = this.placesOf(hash);
    const entry = places[this.#placeOf(key, hash, places)]!;
    return entry === 0 ? undefined : entry - 1;
  }

  findOrAdd(token: string): number {
    const key = keyOf(token);
    const hash = textHash(key);
    const places = this.placesOf(hash);
    const place = this.#placeOf(key, hash, places);
    const entry = places[place]!;
    if (entry > 0) return entry - 1;
    const term = this.#unusedCount > 0 ? this.#unused.get(--this.#unusedCount) : this.#addresses.push(0);
    this.#addresses.set(term, this.#stored(key));
    this.#hashes.set(term, hash);
    this.put(term, hash, place);
    return term;
  }

  delete(term: number): void {
    this.remove(term);
    const address = this.#addresses.get(term) >>> 0;
    this.#store.free(address, wordsFor(this.#store.pageOf(address)[offsetOf(address)]!));
    this.#unused.set(this.#unusedCount++, term);
  }

  protected override hashAt(term: number): number {
    return this.#hashes.get(term) >>> 0;
  }

  /** Returns the place of a key, or the free place for it. */
  #placeOf(key: string, hash: number, places: Uint32Array): number {
    const last = places.length - 1;
    for (let place = hash & last; ; place = (place + 1) & last) {
      const entry = places[place]!;
      if (entry === 0 || (this.hashAt(entry - 1) === hash && this.#is(entry - 1, key))) return place;
    }
  }

  /** Whether the term belongs to the key. */
  #is(term: number, key: string): boolean {
    const address = this.#addresses.get(term) >>> 0;
    const page = this.#store.pageOf(address);
    const at = offsetOf(address);
    if (page[at] !== key.length) return false;
    for (let i = 0; i < key.length; i++)
      if (((page[at + 1 + (i >> 1)]! >>> (UNIT_BITS * (i & 1))) & UNIT_MASK) !== key.charCodeAt(i)) return false;
    return true;
  }

  /** Returns the address of a new block with the key. */
  #stored(key: string): number {
    const address = this.#store.allocate(wordsFor(key.length));
    const page = this.#store.pageOf(address);
    const at = offsetOf(address);
    page[at] = key.length;
    for (let i = 0; i < key.length; i += 2)
      page[at + 1 + (i >> 1)] = key.charCodeAt(i) | (key.charCodeAt(i + 1) << UNIT_BITS);
    return address;
  }
}

/** Returns the token, or its hash with a prefix that no token has. */
const keyOf = (token: string): string => (token.length > PLAIN_CHARS_MAX ? hashedKey(token) : token);

const wordsFor = (units: number): number => 1 + ((units + 1) >> 1);
