import { systemEntropy } from '../../shared/clock.js';
import { mapKey } from '../../shared/hashing/mapKey.js';

/** The engine cuts longer tokens from a text as views of it, which would keep the whole text in memory. */
const COPIED_LENGTH = 12;
/** Memory of a token besides its characters: the header of its string, its entries in the map and the list. */
const TOKEN_BYTES = 64;
/** The tokens of a vocabulary that has one map. */
const ONE_MAP_MAX = 1 << 14;
const PARTS = 256;
/** The highest byte of 32 bits. */
const PART_SHIFT = 24;
const FNV_PRIME = 0x01000193;

/** A secret word for each value of either byte of a code unit: no client can choose tokens that are all in one part. */
const WORDS = new Uint32Array(2 * 256);
new Uint8Array(WORDS.buffer).set(systemEntropy(WORDS.byteLength));

/**
 * The tokens that occur, each with a small number, its term. The term of a deleted token is given to another. The look-up of
 * a large vocabulary is kept in parts, as a map of a million tokens takes 60 ms to grow. A long token is known by its hash.
 */
export class Vocabulary {
  /** By the key of a token, its term: one map, or one for each part. */
  #parts = [new Map<string, number>()];
  /** By term. */
  readonly #keys: string[] = [];
  readonly #unused: number[] = [];
  #size = 0;
  #characters = 0;

  /** The approximate memory, at a byte a character. */
  get bytes(): number {
    return this.#size * TOKEN_BYTES + this.#characters;
  }

  /** The entries of the largest map. */
  get largestPart(): number {
    return Math.max(...this.#parts.map(({ size }) => size));
  }

  find(token: string): number | undefined {
    const key = mapKey(token);
    return this.#partOf(key).get(key);
  }

  findOrAdd(token: string): number {
    const key = mapKey(token);
    const known = this.#partOf(key).get(key);
    if (known !== undefined) return known;
    if (this.#size === ONE_MAP_MAX && this.#parts.length === 1) this.#divide();
    const owned = key.length > COPIED_LENGTH ? Buffer.from(key).toString() : key;
    const term = this.#unused.pop() ?? this.#keys.length;
    this.#keys[term] = owned;
    this.#partOf(owned).set(owned, term);
    this.#size++;
    this.#characters += owned.length;
    return term;
  }

  delete(term: number): void {
    const key = this.#keys[term]!;
    this.#partOf(key).delete(key);
    this.#keys[term] = '';
    this.#size--;
    this.#characters -= key.length;
    this.#unused.push(term);
  }

  #divide(): void {
    const [all] = this.#parts;
    this.#parts = Array.from({ length: PARTS }, () => new Map());
    for (const [key, term] of all!) this.#partOf(key).set(key, term);
  }

  #partOf(key: string): Map<string, number> {
    return this.#parts[this.#parts.length === 1 ? 0 : mixed(key) >>> PART_SHIFT]!;
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
