/**
 * Numbers that a client chose, each with a small ordinal: in the order in which they were added, from 0.
 *
 * V8 hashes the number keys of a `Map` or `Set` by a public function without a seed, so that chosen numbers all fall into one
 * bucket: 49,152 of them take 11 s. This table hashes by tabulation with secret random words and probes linearly, which costs
 * the same for any set of numbers that was chosen without knowing the words (Pătraşcu and Thorup, "The Power of Simple
 * Tabulation Hashing", 2012). Adding or finding takes some 20 ns, a number 12 to 24 bytes.
 */
import { type Entropy, systemEntropy } from '../clock.js';

const WORD_BYTES = 4;
/** For each of the eight bytes of a double, a word for each of its values. */
const WORDS = 8 * 256;
const CAPACITY_MIN = 16;
/** The table is at most half full. */
const FILL = 0.5;

let systemWords: Uint32Array | undefined;

export class NumberTable {
  readonly #words: Uint32Array;
  readonly #double = new Float64Array(1);
  readonly #bytes = new Uint8Array(this.#double.buffer);
  #numbers = new Float64Array(CAPACITY_MIN * FILL);
  /** By place: 1 + the ordinal of the number there; 0 where there is none. */
  #places = new Uint32Array(CAPACITY_MIN);
  #size = 0;
  #probes = 0;

  /** `entropy`: for tests. */
  constructor(entropy?: Entropy) {
    if (entropy === undefined) systemWords ??= drawn(systemEntropy);
    this.#words = entropy === undefined ? systemWords! : drawn(entropy);
  }

  static of(numbers: Iterable<number>): NumberTable {
    const table = new NumberTable();
    for (const number of numbers) table.add(number);
    return table;
  }

  get size(): number {
    return this.#size;
  }

  /** Places that were looked at since the table was made: its whole cost. */
  get probes(): number {
    return this.#probes;
  }

  get bytes(): number {
    return this.#numbers.byteLength + this.#places.byteLength;
  }

  has(number: number): boolean {
    return this.find(number) !== undefined;
  }

  /** The ordinal of a number; undefined where it was not added. 0 and −0 are one number. */
  find(number: number): number | undefined {
    const held = this.#places[this.#placeOf(number)]!;
    return held === 0 ? undefined : held - 1;
  }

  /** Adds a number, which is not NaN, unless it was added before. Returns its ordinal. */
  add(number: number): number {
    const place = this.#placeOf(number);
    const held = this.#places[place]!;
    if (held > 0) return held - 1;
    const ordinal = this.#size++;
    this.#numbers[ordinal] = number + 0;
    this.#places[place] = ordinal + 1;
    if (this.#size === this.#numbers.length) this.#grow();
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

  /** The place of a number, or the free one where it belongs. */
  #placeOf(number: number): number {
    const value = number + 0;
    const last = this.#places.length - 1;
    for (let place = this.#hashOf(value) & last; ; place = (place + 1) & last) {
      this.#probes++;
      const held = this.#places[place]!;
      if (held === 0 || this.#numbers[held - 1] === value) return place;
    }
  }

  #hashOf(value: number): number {
    this.#double[0] = value;
    let hash = 0;
    for (let i = 0; i < this.#bytes.length; i++) hash ^= this.#words[256 * i + this.#bytes[i]!]!;
    return hash;
  }

  #grow(): void {
    const numbers = new Float64Array(2 * this.#numbers.length);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    this.#places = new Uint32Array(numbers.length / FILL);
    for (let ordinal = 0; ordinal < this.#size; ordinal++) this.#places[this.#placeOf(numbers[ordinal]!)] = ordinal + 1;
  }
}

function drawn(entropy: Entropy): Uint32Array {
  const words = new Uint32Array(WORDS);
  new Uint8Array(words.buffer).set(entropy(WORDS * WORD_BYTES));
  return words;
}
