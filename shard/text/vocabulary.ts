import { systemEntropy } from '../../shared/clock.js';
import { mapKey } from '../../shared/hashing/mapKey.js';

/** The engine cuts longer tokens from a text as views of it, which would keep the whole text in memory. */
const COPIED_LENGTH = 12;
/** Memory of a token besides its characters: the header of its string, its entries in the map and the list. */
const TOKEN_BYTES = 64;
/** The most tokens that are in one map. */
const ONE_MAP_MAX = 1 << 16;
const PARTS = 256;
/** A part is chosen by the highest byte of 32 bits. */
const PART_SHIFT = 24;
const FNV_PRIME = 0x01000193;

/** A secret word for each value of either byte of a code unit: chosen tokens do not all get into one part. */
const WORDS = new Uint32Array(2 * 256);
new Uint8Array(WORDS.buffer).set(systemEntropy(WORDS.byteLength));

type Terms = Map<string, number>;

/**
 * The tokens that occur, each with a small number, its term. The term of a deleted token is given to another. The look-up of
 * a large vocabulary is kept in parts, as a map of a million tokens takes 60 ms to grow. A long token is known by its hash.
 */
export class Vocabulary {
  /** The terms by the keys of tokens: one map, or one for each part. */
  #parts: Terms[] = [new Map()];
  /** The keys of tokens by term. */
  readonly #keys: string[] = [];
  readonly #unused: number[] = [];
  #characters = 0;

  /** The approximate memory, at a byte a character. */
  get bytes(): number {
    return this.#size * TOKEN_BYTES + this.#characters;
  }

  /** The entries of the largest map. */
  get largestMap(): number {
    return this.#parts.reduce((most, { size }) => Math.max(most, size), 0);
  }

  find(token: string): number | undefined {
    const key = mapKey(token);
    return this.#partOf(key).get(key);
  }

  findOrAdd(token: string): number {
    const key = mapKey(token);
    let part = this.#partOf(key);
    const known = part.get(key);
    if (known !== undefined) return known;
    if (part.size === ONE_MAP_MAX && this.#parts.length === 1) {
      this.#divide();
      part = this.#partOf(key);
    }
    const owned = key.length > COPIED_LENGTH ? Buffer.from(key).toString() : key;
    const term = this.#unused.pop() ?? this.#keys.length;
    this.#keys[term] = owned;
    part.set(owned, term);
    this.#characters += owned.length;
    return term;
  }

  delete(term: number): void {
    const key = this.#keys[term]!;
    this.#partOf(key).delete(key);
    this.#keys[term] = '';
    this.#characters -= key.length;
    this.#unused.push(term);
  }

  get #size(): number {
    return this.#keys.length - this.#unused.length;
  }

  #partOf(key: string): Terms {
    return this.#parts[this.#parts.length === 1 ? 0 : mixed(key) >>> PART_SHIFT]!;
  }

  /** Takes some 15 ms, once. */
  #divide(): void {
    const [all] = this.#parts;
    this.#parts = Array.from({ length: PARTS }, () => new Map());
    for (const [key, term] of all!) this.#partOf(key).set(key, term);
  }
}

function mixed(key: string): number {
  let mix = 0;
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    mix = Math.imul(mix ^ WORDS[unit & 0xff]! ^ WORDS[256 + (unit >>> 8)]!, FNV_PRIME);
  }
  return mix;
}
