import { systemEntropy } from '../../shared/clock.js';
import { mapKey } from '../../shared/hashing/mapKey.js';

/** The engine cuts longer tokens from a text as views of it, which would keep the whole text in memory. */
const COPIED_LENGTH = 12;
/** Memory of a token besides its characters: the header of its string, its entries in the map and the list. */
const TOKEN_BYTES = 64;
/** The most tokens of the map that is looked at first. */
const FIRST_MAX = 1 << 16;
/** The other maps are numbered by the highest byte of 32 bits. */
const PART_SHIFT = 24;
const FNV_PRIME = 0x01000193;

/** A secret word for each value of either byte of a code unit: no client can choose tokens that are all in one part. */
const WORDS = new Uint32Array(2 * 256);
new Uint8Array(WORDS.buffer).set(systemEntropy(WORDS.byteLength));

/**
 * The tokens that occur, each with a small number, its term. The term of a deleted token is given to another. The look-up is
 * kept in several maps, as one of a million tokens takes 60 ms to grow. The tokens that came first are in the first map: they
 * are those that come most often. A long token is known by its hash.
 */
export class Vocabulary {
  /** By the key of a token, its term. */
  readonly #first = new Map<string, number>();
  readonly #parts: (Map<string, number> | undefined)[] = [];
  /** By term. */
  readonly #keys: string[] = [];
  readonly #unused: number[] = [];
  #characters = 0;

  /** The approximate memory, at a byte a character. */
  get bytes(): number {
    return (this.#keys.length - this.#unused.length) * TOKEN_BYTES + this.#characters;
  }

  /** The entries of the largest map. */
  get largestMap(): number {
    return this.#parts.reduce((most, part) => Math.max(most, part?.size ?? 0), this.#first.size);
  }

  find(token: string): number | undefined {
    return this.#find(mapKey(token));
  }

  findOrAdd(token: string): number {
    const key = mapKey(token);
    const known = this.#find(key);
    if (known !== undefined) return known;
    const owned = key.length > COPIED_LENGTH ? Buffer.from(key).toString() : key;
    const term = this.#unused.pop() ?? this.#keys.length;
    this.#keys[term] = owned;
    this.#mapFor(owned).set(owned, term);
    this.#characters += owned.length;
    return term;
  }

  delete(term: number): void {
    const key = this.#keys[term]!;
    if (!this.#first.delete(key)) this.#parts[partOf(key)]!.delete(key);
    this.#keys[term] = '';
    this.#characters -= key.length;
    this.#unused.push(term);
  }

  #find(key: string): number | undefined {
    const known = this.#first.get(key);
    return known !== undefined || this.#parts.length === 0 ? known : this.#parts[partOf(key)]?.get(key);
  }

  #mapFor(key: string): Map<string, number> {
    if (this.#first.size < FIRST_MAX) return this.#first;
    const part = partOf(key);
    this.#parts[part] ??= new Map();
    return this.#parts[part];
  }
}

function partOf(key: string): number {
  let mix = 0;
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    mix = Math.imul(mix ^ WORDS[unit & 0xff]! ^ WORDS[256 + (unit >>> 8)]!, FNV_PRIME);
  }
  return mix >>> PART_SHIFT;
}
