/**
 * Reads vectors from the bytes of JSON straight to Q16.16, without a double for each number. `assembly/index.ts` reads the
 * plain numbers, a window of the body at a time, and leaves the others to this file.
 *
 * The result is the same to the bit: the number as the nearest double, times 65536, rounded half to even. Eight digits of the
 * fraction tell the result unless they lie close to the middle of two steps: the digits left out are worth at most
 * 65536 / 10^8 = 0.0007 steps, and all roundings together, that of the number to a double included, less than 0.000001. Within 2^-10
 * of the middle the double decides.
 *
 * What is not a plain vector of numbers in range, or becomes 0 and is not, is not read here: the validation of the parsed JSON says what is wrong.
 */
import { fixedOf } from '../../shared/fixedPoint.js';
import { BATCH_MAX, DIMENSION_MAX, VALUE_MAX, VALUE_MIN } from '../../shared/limits.js';
import { compileFile, instantiate, openOwnMemory, PAGE_BYTES } from '../../shared/webAssembly.js';
import { type Rows, rowsIn } from './vectors.js';

const SPACE = 0x20;
const COMMA = 0x2c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;

/** A number as JSON writes it, and its digits. */
const NUMBER = /(-?(?:0|[1-9]\d*)(?:\.\d+)?)(?:[eE][+-]?\d+)?/y;
const NOT_ZERO = /[1-9]/;
/** Most numbers are shorter: a longer one takes a second look. */
const LITERAL_CHARS = 64;
/** The most numbers of one body that are read as doubles, in some 0.1 s. The parser of JSON reads more of them faster. */
const LITERALS_MAX = 250_000;

/** Why a call of the reader has ended: see `assembly/index.ts`. */
const ENDED = 0;
const LITERAL = 2;
const MORE = 3;

/** What a number may take behind the last position at which it may begin. */
const MARGIN_BYTES = 64;
/** What the WebAssembly reads lies behind what it writes: the results of a call, then the components. */
const COMPONENTS_AT = 64;
const WINDOW_AT = COMPONENTS_AT + Int32Array.BYTES_PER_ELEMENT * DIMENSION_MAX;
const WINDOW_BYTES = PAGE_BYTES;
const PAGES = Math.ceil((WINDOW_AT + WINDOW_BYTES + MARGIN_BYTES) / PAGE_BYTES);

/** The exports of `assembly/index.ts`. Addresses are bytes. */
interface Reader {
  readNumbers(at: number, limit: number, out: number, most: number): number;
}

const memory = openOwnMemory(PAGES);
const { readNumbers } = instantiate<Reader>(compileFile(new URL('./vectorText.wasm', import.meta.url)), memory);
const results = new Uint32Array(memory.buffer, 0, 2);
/** Of the vector that was read last. */
const components = new Int32Array(memory.buffer, COMPONENTS_AT, DIMENSION_MAX);
const window = new Uint8Array(memory.buffer, WINDOW_AT, WINDOW_BYTES + MARGIN_BYTES);

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
  const end = reader.read(at, DIMENSION_MAX);
  return end < 0 ? undefined : { rows: rowsIn(components.slice(0, reader.count), reader.count, 1), end };
}

/** The same for an array of vectors of one length, at most BATCH_MAX. */
export function readVectors(bytes: Buffer, at: number): ReadRows | undefined {
  const reader = new RowReader(bytes);
  const begin = afterBlanks(bytes, at + 1);
  let end = reader.read(begin, DIMENSION_MAX);
  if (end < 0) return undefined;
  const dimension = reader.count;
  let count = 1;
  // As many as there can be if the others take as many bytes, which is grown as needed.
  let target = new Int32Array(dimension * Math.min(BATCH_MAX, 1 + Math.ceil((bytes.length - begin) / (end - begin))));
  const row = components.subarray(0, dimension);
  target.set(row);
  for (;;) {
    end = afterBlanks(bytes, end);
    if (bytes[end] === ARRAY_END) break;
    if (bytes[end] !== COMMA || count === BATCH_MAX) return undefined;
    if (target.length < (count + 1) * dimension) target = grown(target);
    end = reader.read(afterBlanks(bytes, end + 1), dimension);
    if (end < 0 || reader.count !== dimension) return undefined;
    target.set(row, count * dimension);
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

/** The position of the first byte that is not white space. */
export function afterBlanks(bytes: Buffer, from: number): number {
  let i = from;
  while (isBlank(bytes[i]!)) i += 1;
  return i;
}

const isBlank = (byte: number): boolean => byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Reads the rows of one body, in their order. */
class RowReader {
  /** The components of the last row. */
  count = 0;
  #literals = 0;
  /** The part of the body that is in the window. */
  #from = 0;
  #end = 0;

  constructor(private readonly bytes: Buffer) {}

  /** Returns the position after the row that begins at `from`, or -1. It has at most `most` components. */
  read(from: number, most: number): number {
    const { bytes } = this;
    if (bytes[from] !== ARRAY) return -1;
    this.count = 0;
    for (let at = from + 1; ; ) {
      if (at >= this.#limit) this.#moveTo(at);
      const begin = WINDOW_AT - this.#from;
      const out = COMPONENTS_AT + Int32Array.BYTES_PER_ELEMENT * this.count;
      at = readNumbers(begin + at, begin + this.#limit, out, most - this.count) - begin;
      this.count += results[0]!;
      const why = results[1]!;
      if (why === ENDED) return at;
      // A number whose window ends with blanks is read here, too.
      if (why === LITERAL || (why === MORE && at === this.#from)) {
        at = this.#literal(at);
        if (at < 0) return -1;
        at = afterBlanks(bytes, at) + 1;
        if (bytes[at - 1] === ARRAY_END) return at;
        if (bytes[at - 1] !== COMMA) return -1;
      } else if (why !== MORE) return -1;
      else this.#moveTo(at);
      if (this.count === most) return -1;
    }
  }

  /** No number begins there or after it. */
  get #limit(): number {
    return this.#end === this.bytes.length ? this.#end : this.#end - MARGIN_BYTES;
  }

  #moveTo(from: number): void {
    this.#from = from;
    this.#end = Math.min(from + WINDOW_BYTES, this.bytes.length);
    window.set(this.bytes.subarray(from, this.#end));
    window.fill(0, this.#end - from, this.#end - from + MARGIN_BYTES);
  }

  /** Reads the number that begins at `from` as a double. Returns the position after it, or -1. */
  #literal(from: number): number {
    const { bytes } = this;
    if (++this.#literals > LITERALS_MAX) return -1;
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
      components[this.count++] = fixedOf(value);
      return from + literal.length;
    }
  }
}
