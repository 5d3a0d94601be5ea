/**
 * A set of numbers that a client chose. Each has an ordinal: 0 for the first that was added, 1 for the next, and so on.
 *
 * V8 hashes the number keys of a `Map` or `Set` without a secret seed. A client can choose numbers that share one bucket: 49,152 of
 * them take 11 s. This table hashes by tabulation with secret random words, and probes linearly. It costs the same for any set
 * of numbers whose author does not know the words. Source: Pătraşcu and Thorup, "The Power of Simple Tabulation Hashing", 2012.
 * Adding or finding takes some 20 ns, a number 12 to 24 bytes.
 */
import { type Entropy, hashEntropy } from '../clock.js';

const WORD_BYTES = 4;
/** For each of the eight bytes of a double, a word for each of its values. */
const WORDS = 8 * 256;
const CAPACITY_MIN = 16;
/** Each part is at most half full. */
const FILL = 0.5;
/** The most places of an undivided table. Dividing it takes about a millisecond. */
const WHOLE_PLACES_MAX = 1 << 15;
const PART_BITS = 8;
const HASH_BITS = 32;

/** Drawn when the process starts. */
const SYSTEM_WORDS = drawn(hashEntropy);

export class NumberTable {
  readonly #words: Uint32Array;
  readonly #double = new Float64Array(1);
  readonly #bytes = new Uint8Array(this.#double.buffer);
  #numbers = new Float64Array(CAPACITY_MIN * FILL);
  /** The parts, by the first bits of the hash: at each place an ordinal plus 1, or 0. */
  #parts = [new Uint32Array(CAPACITY_MIN)];
  #partSizes = new Uint32Array(1);
  #size = 0;
  #probes = 0;

  /** `entropy`: for tests. */
  constructor(entropy?: Entropy) {
    this.#words = entropy === undefined ? SYSTEM_WORDS : drawn(entropy);
  }

  static of(numbers: Iterable<number>): NumberTable {
    const table = new NumberTable();
    for (const number of numbers) table.add(number);
    return table;
  }

  get size(): number {
    return this.#size;
  }

  /** The number of places read so far: what the table has cost. */
  get probes(): number {
    return this.#probes;
  }

  get bytes(): number {
    return this.#parts.reduce((sum, { byteLength }) => sum + byteLength, this.#numbers.byteLength);
  }

  has(number: number): boolean {
    return this.find(number) !== undefined;
  }

  /** The ordinal of a number; undefined where it was not added. 0 and −0 are one number. */
  find(number: number): number | undefined {
    const value = number + 0;
    const hash = this.#hashOf(value);
    const places = this.#parts[this.#partOf(hash)]!;
    const held = places[this.#placeOf(value, hash, places)]!;
    return held === 0 ? undefined : held - 1;
  }

  /** Adds a number, which is not NaN, unless it was added before. Returns its ordinal. */
  add(number: number): number {
    const value = number + 0;
    const hash = this.#hashOf(value);
    const part = this.#partOf(hash);
    const places = this.#parts[part]!;
    const place = this.#placeOf(value, hash, places);
    const held = places[place]!;
    if (held > 0) return held - 1;
    if (this.#size === this.#numbers.length) this.#lengthen();
    const ordinal = this.#size++;
    this.#numbers[ordinal] = value;
    places[place] = ordinal + 1;
    if (++this.#partSizes[part]! >= places.length * FILL) this.#grow(part);
    return ordinal;
  }

  /** A view of the numbers by ordinal, until the next addition. */
  get numbers(): Float64Array {
    return this.#numbers.subarray(0, this.#size);
  }

  /** The number with an ordinal below `size`. */
  numberAt(ordinal: number): number {
    return this.#numbers[ordinal]!;
  }

  #partOf(hash: number): number {
    return this.#parts.length === 1 ? 0 : hash >>> (HASH_BITS - PART_BITS);
  }

  /** The place of a number, or the free one where it belongs. */
  #placeOf(value: number, hash: number, places: Uint32Array): number {
    const last = places.length - 1;
    for (let place = hash & last; ; place = (place + 1) & last) {
      this.#probes++;
      const held = places[place]!;
      if (held === 0 || this.#numbers[held - 1] === value) return place;
    }
  }

  #hashOf(value: number): number {
    this.#double[0] = value;
    let hash = 0;
    for (let i = 0; i < this.#bytes.length; i++) hash ^= this.#words[256 * i + this.#bytes[i]!]!;
    return hash;
  }

  #lengthen(): void {
    const numbers = new Float64Array(2 * this.#numbers.length);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }

  /** Doubles a part, or divides a whole table that has grown large. */
  #grow(part: number): void {
    const places = this.#parts[part]!;
    if (this.#parts.length === 1 && places.length === WHOLE_PLACES_MAX) {
      const parts = 1 << PART_BITS;
      this.#parts = Array.from({ length: parts }, () => new Uint32Array((2 * WHOLE_PLACES_MAX) / parts));
      this.#partSizes = new Uint32Array(parts);
    } else {
      this.#parts[part] = new Uint32Array(2 * places.length);
      this.#partSizes[part] = 0;
    }
    for (const held of places) if (held > 0) this.#place(held);
  }

  /** Places the number with ordinal `held` − 1 in a grown or divided table. */
  #place(held: number): void {
    const value = this.#numbers[held - 1]!;
    const hash = this.#hashOf(value);
    const part = this.#partOf(hash);
    const places = this.#parts[part]!;
    places[this.#placeOf(value, hash, places)] = held;
    this.#partSizes[part]! += 1;
  }
}

function drawn(entropy: Entropy): Uint32Array {
  const words = new Uint32Array(WORDS);
  new Uint8Array(words.buffer).set(entropy(WORDS * WORD_BYTES));
  return words;
}
