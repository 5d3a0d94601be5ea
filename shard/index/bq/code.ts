/**
 * The code of a vector: its difference from the mean of the rows that the index was trained on, rotated, as the signs of the
 * components, a bit each, and two numbers. With the query q, the difference x and its signs s, as +1 and −1:
 *
 *   |q − x|² = |q|² + |x|² − 2⟨q, x⟩, and ⟨q, x⟩ is estimated as ⟨q, s⟩ |x|² / ⟨x, s⟩
 *
 * which is exact where q = x, and else off by what of q lies across x (RaBitQ, arXiv 2405.12497). The numbers are |x|² and
 * |x|² / ⟨x, s⟩; a query is compared by the kernel's `bitCodes`.
 */
import { Rotation, rotatedDimension } from './rotation.js';

export const WORD_BYTES = 4;
const WORD_BITS = 32;
const NUMBER_WORDS = 2;
/** A component of a query is a whole number of steps, so that the sum of eight fits into a byte. */
const LEVEL_MAX = 15;
const BYTE_BITS = 8;
/** Half a byte of a code, and how many there are of it. */
const HALF_BITS = 4;
const HALVES = 2 ** HALF_BITS;
const TABLES_BYTES = 2 * HALVES;

const signWordsOf = (dimension: number): number => rotatedDimension(dimension) / WORD_BITS;

/** Returns the bytes of a code with its numbers. */
export const codeBytesOf = (dimension: number): number => (signWordsOf(dimension) + NUMBER_WORDS) * WORD_BYTES;

/** A query as the kernel reads it. */
export type CodedQuery = Uint32Array;

const QUERY_HEADER_WORDS = 4;

/** Makes the codes of one index. */
export class Coder {
  readonly #rotation: Rotation;
  readonly #work: Float64Array;
  readonly #numbers = new Float32Array(NUMBER_WORDS);
  readonly #numberWords = new Uint32Array(this.#numbers.buffer);

  constructor(private readonly mean: Int32Array) {
    const dimension = rotatedDimension(mean.length);
    this.#rotation = new Rotation(dimension);
    this.#work = new Float64Array(dimension);
  }

  /** Writes the code of `components` to `into`, from word `at` on. */
  encode(components: Int32Array, into: Uint32Array, at = 0): void {
    const work = this.#rotated(components);
    let squares = 0;
    let sum = 0;
    for (let i = 0; i < work.length; ) {
      let bits = 0;
      for (let bit = 0; bit < WORD_BITS; bit++, i++) {
        const value = work[i]!;
        if (value >= 0) bits |= 1 << bit;
        squares += value * value;
        sum += Math.abs(value);
      }
      into[at + i / WORD_BITS - 1] = bits;
    }
    this.#numbers[0] = squares;
    this.#numbers[1] = sum === 0 ? 0 : squares / sum;
    into.set(this.#numberWords, at + work.length / WORD_BITS);
  }

  /** The query as the kernel reads it (`assembly/bitCodes`). */
  query(components: Int32Array): CodedQuery {
    const work = this.#rotated(components);
    const codeBytes = work.length / BYTE_BITS;
    const query = new Uint32Array(QUERY_HEADER_WORDS + (codeBytes * TABLES_BYTES) / WORD_BYTES);
    const sums = new Int8Array(query.buffer, QUERY_HEADER_WORDS * WORD_BYTES);
    let largest = 0;
    for (let i = 0; i < work.length; i++) largest = Math.max(largest, Math.abs(work[i]!));
    const delta = largest / LEVEL_MAX;
    const perStep = delta === 0 ? 0 : 1 / delta;
    let own = 0;
    for (let table = 0; table < sums.length; table += HALVES) {
      const at = (table / HALVES) * HALF_BITS;
      let least = 0;
      for (let bit = 0; bit < HALF_BITS; bit++) {
        const level = Math.round(work[at + bit]! * perStep);
        least -= level;
        own += Math.abs(level);
        // Those with this bit and lower ones are those without it, and twice the level: the sign is turned.
        for (let signs = 0; signs < 1 << bit; signs++)
          sums[table + signs + (1 << bit)] = sums[table + signs]! + 2 * level;
      }
      for (let signs = 0; signs < HALVES; signs++) sums[table + signs]! += least;
    }
    query[0] = codeBytes;
    new Float32Array(query.buffer)[1] = 2 * delta;
    // Where the query is the mean, it is that of all rows, and all are measured.
    query[2] = own;
    return query;
  }

  /** In memory that the next call writes again. */
  #rotated(components: Int32Array): Float64Array {
    const work = this.#work;
    for (let i = 0; i < components.length; i++) work[i] = components[i]! - this.mean[i]!;
    work.fill(0, components.length);
    this.#rotation.apply(work);
    return work;
  }
}
