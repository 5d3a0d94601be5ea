/**
 * A set of numbers that a client chose. Each has an ordinal: 0 for the first that was added, 1 for the next, and so on.
 *
 * V8 hashes the number keys of a `Map` or `Set` without a secret seed. A client can choose numbers that share one bucket: 49,152 of
 * them take 11 s. This table hashes by tabulation with secret random words, and probes linearly. Its cost does not depend on the
 * numbers unless their author knows the words. Source: Pătraşcu and Thorup, "The Power of Simple Tabulation Hashing", 2012.
 * Adding or finding takes some 20 ns, a number 12 to 24 bytes.
 */
import { type Entropy, hashEntropy } from '../clock.js';
import { HashPlaces } from './hashPlaces.js';

const WORD_BYTES = 4;
/** For each of the eight bytes of a double, a word for each of its values. */
const WORDS = 8 * 256;
/** The room for the first numbers. */
const NUMBERS_MIN = 8;

/** Drawn when the process starts. */
const SYSTEM_WORDS = drawn(hashEntropy);

export class NumberTable extends HashPlaces {
  readonly #words: Uint32Array;
  readonly #double = new Float64Array(1);
  readonly #bytes = new Uint8Array(this.#double.buffer);
  #numbers = new Float64Array(NUMBERS_MIN);
  #size = 0;
  #probes = 0;

  /** `entropy`: for tests. */
  constructor(entropy?: Entropy) {
    super();
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

  /** The number of places read so far, a measure of the table's cost. */
  get probes(): number {
    return this.#probes;
  }

  get bytes(): number {
    return this.placesBytes + this.#numbers.byteLength;
  }

  has(number: number): boolean {
    return this.find(number) !== undefined;
  }

  /** The ordinal of a number; undefined if it was not added. 0 and −0 are one number. */
  find(number: number): number | undefined {
    const value = number + 0;
    const hash = this.#hashOf(value);
    const places = this.placesOf(hash);
    const held = places[this.#placeOf(value, hash, places)]!;
    return held === 0 ? undefined : held - 1;
  }

  /** Adds a number, which is not NaN, unless it was added before. Returns its ordinal. */
  add(number: number): number {
    const value = number + 0;
    const hash = this.#hashOf(value);
    const places = this.placesOf(hash);
    const place = this.#placeOf(value, hash, places);
    const held = places[place]!;
    if (held > 0) return held - 1;
    if (this.#size === this.#numbers.length) this.#lengthen();
    const ordinal = this.#size++;
    this.#numbers[ordinal] = value;
    this.put(ordinal, hash, place);
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

  protected override hashAt(ordinal: number): number {
    return this.#hashOf(this.#numbers[ordinal]!);
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
}

function drawn(entropy: Entropy): Uint32Array {
  const words = new Uint32Array(WORDS);
  new Uint8Array(words.buffer).set(entropy(WORDS * WORD_BYTES));
  return words;
}
