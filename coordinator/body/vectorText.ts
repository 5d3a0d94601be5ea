/**
 * Reads vectors from the bytes of JSON straight to Q16.16, without a double for each number: in a third of the time
 * of JSON.parse, validation and quantisation.
 *
 * The result is the same to the bit: the number as the nearest double, times 65536, rounded half to even. Eight digits of the
 * fraction tell the result unless they lie close to the middle of two steps; there the double decides.
 *
 * What is not a plain vector of numbers in range, or becomes 0 and is not, is not read here: the validation of the parsed JSON says what is wrong.
 */
import { fixedOf } from '../../shared/fixedPoint.js';
import { BATCH_MAX, DIMENSION_MAX, FIXED_ONE, VALUE_MAX, VALUE_MIN } from '../../shared/limits.js';
import { type Rows, rowsIn } from './vectors.js';

const SPACE = 0x20;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
/** Lower case, with the bit that tells it from upper case. */
const EXPONENT = 0x65;
const CASE_BIT = 0x20;

/** Of the fraction: the result hardly ever needs more. They are read four at a time. */
const FRACTION_DIGITS = 8;
const WORD_DIGITS = 4;
/** 65536 / 10^n, for a fraction of n digits. */
const STEPS = Float64Array.from({ length: FRACTION_DIGITS + 1 }, (_, digits) => FIXED_ONE / 10 ** digits);
/**
 * The digits left out are worth at most 65536 / 10^8 = 0.0007 steps, and all roundings together, that of the number to a double
 * included, less than 0.000001.
 */
const DOUBT = 2 ** -10;
/** Whole parts below this are in range with any fraction. */
const WHOLE_SAFE = Math.floor(VALUE_MAX);

/** A shorter fraction of a number that is not 0 is not read as 0. */
const TINY_DIGITS = 300;

/** A number as JSON writes it, and its digits. */
const NUMBER = /(-?(?:0|[1-9]\d*)(?:\.\d+)?)(?:[eE][+-]?\d+)?/y;
const NOT_ZERO = /[1-9]/;
/** Most numbers are shorter: a longer one takes a second look. */
const LITERAL_CHARS = 64;

/** Vectors, and the position after their text. */
export interface ReadRows {
  readonly rows: Rows;
  readonly end: number;
}

/**
 * Reads the array of numbers that begins at `at`. Undefined if it is none, is empty, is longer than DIMENSION_MAX, or a number
 * is out of range or too close to 0 for a double. The last byte of `bytes` must not be part of a number.
 */
export function readVector(bytes: Buffer, at: number): ReadRows | undefined {
  const reader = new RowReader(bytes);
  const end = reader.read(at, scratch, 0, DIMENSION_MAX);
  return end < 0 ? undefined : { rows: rowsIn(scratch.slice(0, reader.count), reader.count, 1), end };
}

/** The components of one vector, while its length is not known. */
const scratch = new Int32Array(DIMENSION_MAX);

/** The same for an array of vectors of one length, at most BATCH_MAX. */
export function readVectors(bytes: Buffer, at: number): ReadRows | undefined {
  const reader = new RowReader(bytes);
  const begin = afterBlanks(bytes, at + 1);
  let end = reader.read(begin, scratch, 0, DIMENSION_MAX);
  if (end < 0) return undefined;
  const dimension = reader.count;
  let count = 1;
  // As many as there can be if the others take as many bytes, which is grown as needed.
  let target = new Int32Array(dimension * Math.min(BATCH_MAX, 1 + Math.ceil((bytes.length - begin) / (end - begin))));
  target.set(scratch.subarray(0, dimension));
  for (;;) {
    end = afterBlanks(bytes, end);
    if (bytes[end] === ARRAY_END) break;
    if (bytes[end] !== COMMA || count === BATCH_MAX) return undefined;
    if (target.length < (count + 1) * dimension) target = grown(target);
    end = reader.read(afterBlanks(bytes, end + 1), target, count * dimension, dimension);
    if (end < 0 || reader.count !== dimension) return undefined;
    count += 1;
  }
  const isWhole = target.length === count * dimension;
  return { rows: rowsIn(isWhole ? target : target.slice(0, count * dimension), dimension, count), end: end + 1 };
}

function grown(components: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * components.length);
  larger.set(components);
  return larger;
}

/** The position of the first byte that is no white space. */
export function afterBlanks(bytes: Buffer, from: number): number {
  let i = from;
  while (isBlank(bytes[i]!)) i += 1;
  return i;
}

const isBlank = (byte: number): boolean => byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Whether the bytes of a little-endian word are four digits. */
const areDigits = (word: number): boolean =>
  (((word & 0xf0f0f0f0) ^ 0x30303030) | (((word + 0x06060606) & 0xf0f0f0f0) ^ 0x30303030)) === 0;

/** The number that they write: first of pairs, then of all four. */
function digitsOf(word: number): number {
  const units = word - 0x30303030;
  const pairs = Math.imul(units, 10) + (units >>> 8);
  return Math.imul(pairs & 0xff, 100) + ((pairs >>> 16) & 0xff);
}

const isDigit = (byte: number): boolean => (byte - ZERO) >>> 0 <= 9;

class RowReader {
  /** The components of the last row. */
  count = 0;
  /** The component of `#literal`. */
  #component = 0;
  readonly #words: DataView;
  /** The last position of a whole word. */
  readonly #lastWord: number;

  constructor(private readonly bytes: Buffer) {
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#lastWord = bytes.length - WORD_DIGITS;
  }

  /** Returns the position after the row that begins at `from`, or -1. Writes at most `most` components. */
  read(from: number, target: Int32Array, offset: number, most: number): number {
    const { bytes } = this;
    const words = this.#words;
    const lastWord = this.#lastWord;
    if (bytes[from] !== ARRAY) return -1;
    let i = from + 1;
    for (let count = 0; count < most; ) {
      let byte = bytes[i]!;
      while (isBlank(byte)) byte = bytes[++i]!;
      const begin = i;
      // Without a branch: signs cannot be predicted.
      const sign = Number(byte === MINUS);
      i += sign;
      byte = bytes[i]!;
      if (!isDigit(byte)) return -1;
      let whole = byte - ZERO;
      byte = bytes[++i]!;
      if (whole > 0)
        for (; isDigit(byte) && whole < WHOLE_SAFE; byte = bytes[++i]!) whole = Math.imul(whole, 10) + byte - ZERO;
      let fraction = 0;
      let digits = 0;
      if (byte === DOT) {
        const first = ++i;
        for (; i <= lastWord; i += WORD_DIGITS) {
          const word = words.getInt32(i, true);
          if (!areDigits(word)) break;
          if (i - first < FRACTION_DIGITS) fraction = Math.imul(fraction, 10_000) + digitsOf(word);
        }
        for (byte = bytes[i]!; isDigit(byte); byte = bytes[++i]!)
          if (i - first < FRACTION_DIGITS) fraction = Math.imul(fraction, 10) + byte - ZERO;
        digits = Math.min(i - first, FRACTION_DIGITS);
        if (digits === 0) return -1;
      }
      const steps = whole * FIXED_ONE + fraction * STEPS[digits]! + 0.5;
      const rounded = Math.floor(steps);
      const past = steps - rounded;
      const isPlain = (byte | CASE_BIT) !== EXPONENT && whole < WHOLE_SAFE && i - begin < TINY_DIGITS;
      if (!isPlain || past < DOUBT || past > 1 - DOUBT) {
        i = this.#literal(begin);
        if (i < 0) return -1;
        target[offset + count] = this.#component;
        byte = bytes[i]!;
      } else target[offset + count] = (rounded ^ -sign) + sign;
      count += 1;
      while (isBlank(byte)) byte = bytes[++i]!;
      i += 1;
      if (byte === COMMA) continue;
      this.count = count;
      return byte === ARRAY_END ? i : -1;
    }
    return -1;
  }

  /** Reads the number that begins at `from` as a double. Returns the position after it, or -1. */
  #literal(from: number): number {
    const { bytes } = this;
    for (let chars = LITERAL_CHARS; ; chars *= 2) {
      const text = bytes.toString('latin1', from, Math.min(from + chars, bytes.length));
      NUMBER.lastIndex = 0;
      const [literal = '', mantissa = ''] = NUMBER.exec(text) ?? [];
      if (literal === '') return -1;
      if (literal.length === text.length) continue;
      const value = Number(literal);
      if (!(value >= VALUE_MIN && value <= VALUE_MAX)) return -1;
      // Some bodies keep numbers as they are written.
      if (value === 0 && NOT_ZERO.test(mantissa)) return -1;
      this.#component = fixedOf(value);
      return from + literal.length;
    }
  }
}
