/**
 * Reads vectors from the bytes of JSON straight to Q16.16, without a double for each number. WebAssembly (`assembly/index.ts`)
 * reads the plain numbers, a window of the body at a time, and this file the others.
 *
 * The result equals the usual one to the bit: the number as the nearest double, times 65536, rounded half to even. Eight digits
 * of the fraction determine it, unless they lie close to the middle of two steps. The digits left out are worth at most
 * 65536 / 10^8 = 0.0007 steps. All roundings together, also that to a double, are worth less than 0.000001. Within 2^-10 of the
 * middle, which is more than both, the double decides.
 *
 * Only plain vectors of numbers in range are read here, without numbers that a double rounds to 0. For others the validation of the
 * parsed JSON reports the error.
 */
import { fixedOf, type Scale } from '../../shared/fixedPoint.js';
import { BATCH_MAX, DIMENSION_MAX, VALUE_MAX, VALUE_MIN } from '../../shared/limits.js';
import { compileFile, instantiate, openOwnMemory, PAGE_BYTES } from '../../shared/webAssembly.js';
import { UnitRowReader } from './unitText.js';
import { type Rows, roomForRows, rowsIn } from './vectors.js';

const SPACE = 0x20;
const COMMA = 0x2c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;

/** A number of JSON, and its part before the exponent. */
const NUMBER = /(-?(?:0|[1-9]\d*)(?:\.\d+)?)(?:[eE][+-]?\d+)?/y;
const NOT_ZERO = /[1-9]/;
/** Bytes that are searched first for the end of a number; few numbers are longer. */
const LITERAL_CHARS = 64;
/** Limit of numbers in one body that are read as doubles, in some 0.1 s. The JSON parser is faster for more. */
const LITERALS_MAX = 250_000;

/** Reasons why a call of the reader ended: see `assembly/index.ts`. */
const ENDED = 0;
const LITERAL = 2;
const MORE = 3;

/** Bytes after the last position at which a number may begin. */
const MARGIN_BYTES = 64;
/** Layout of the memory: the results of a call, the components, then the window of the body. */
const COMPONENTS_AT = 64;
const WINDOW_AT = COMPONENTS_AT + Int32Array.BYTES_PER_ELEMENT * DIMENSION_MAX;
const WINDOW_BYTES = PAGE_BYTES;
const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;
const PAGES = Math.ceil((WINDOW_AT + WINDOW_BYTES + MARGIN_BYTES) / PAGE_BYTES);

/** The exports of `assembly/index.ts`. Addresses are bytes. */
interface Reader {
  readNumbers(at: number, limit: number, out: number, most: number): number;
  readFloats(at: number, count: number, out: number): number;
}

const memory = openOwnMemory(PAGES);
const wasm = instantiate<Reader>(compileFile(new URL('./vectorText.wasm', import.meta.url)), memory);
const results = new Uint32Array(memory.buffer, 0, 2);
/** The components of the last vector read. */
const components = new Int32Array(memory.buffer, COMPONENTS_AT, DIMENSION_MAX);
const window = new Uint8Array(memory.buffer, WINDOW_AT, WINDOW_BYTES + MARGIN_BYTES);
/** The components of the floats in the window, which they replace. */
const converted = new Int32Array(memory.buffer, WINDOW_AT, WINDOW_BYTES / FLOAT_BYTES);

/** Vectors, and the position after their text. */
export interface ReadRows {
  readonly rows: Rows;
  readonly end: number;
}

/**
 * Reads the array of numbers that begins at `at`. Undefined for anything else, an empty array, more than DIMENSION_MAX numbers,
 * or a number out of range or too close to 0. The last byte of `bytes` must not be part of a number.
 */
export function readVector(bytes: Buffer, at: number, scale: Scale = 'plain'): ReadRows | undefined {
  const reader = readerOf(bytes, scale);
  const end = reader.read(at, DIMENSION_MAX);
  return end < 0 ? undefined : { rows: rowsIn(components.slice(0, reader.count), reader.count, 1), end };
}

/** Reads an array of vectors of one length, at most BATCH_MAX; undefined like `readVector`. */
export function readVectors(bytes: Buffer, at: number, scale: Scale = 'plain'): ReadRows | undefined {
  const reader = readerOf(bytes, scale);
  const begin = afterBlanks(bytes, at + 1);
  let end = reader.read(begin, DIMENSION_MAX);
  if (end < 0) return undefined;
  const dimension = reader.count;
  let count = 1;
  // Room for as many vectors as fit the body if all take the bytes of the first; grown as needed.
  const most = Math.min(BATCH_MAX, 1 + Math.ceil((bytes.length - begin) / (end - begin)));
  let target = roomForRows(dimension, most);
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
  return { rows: rowsIn(fitted(target, count * dimension), dimension, count), end: end + 1 };
}

/** Largest row of `readFloats`. */
export const FLOATS_MAX_BYTES = WINDOW_BYTES;

/**
 * Writes little-endian float32 as components to `target`, from `offset` on. Returns how many precede the first that is out of range.
 * The bytes are rows of `rowBytes`, which begin `apartBytes` apart. The last row may be shorter.
 */
export function readFloats(
  floats: Uint8Array,
  target: Int32Array,
  offset: number,
  { rowBytes, apartBytes } = { rowBytes: FLOATS_MAX_BYTES, apartBytes: FLOATS_MAX_BYTES },
): number {
  const windowBytes = apartBytes * Math.max(1, Math.floor(WINDOW_BYTES / apartBytes));
  let read = 0;
  for (let from = 0; from < floats.length; from += windowBytes) {
    const part = floats.subarray(from, Math.min(from + windowBytes, floats.length));
    window.set(part);
    // Components are written over rows that are read already.
    let here = 0;
    for (let at = 0; at < part.length; at += apartBytes) {
      const count = Math.min(rowBytes, part.length - at) / FLOAT_BYTES;
      const inRange = wasm.readFloats(WINDOW_AT + at, count, WINDOW_AT + FLOAT_BYTES * here);
      here += inRange;
      if (inRange < count) return read + here;
    }
    target.set(converted.subarray(0, here), offset + read);
    read += here;
  }
  return read;
}

const readerOf = (bytes: Buffer, scale: Scale): RowReader | UnitRowReader =>
  scale === 'plain' ? new RowReader(bytes) : new UnitRowReader(bytes, components);

function grown(components: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = roomForRows(components.length, 2);
  larger.set(components);
  return larger;
}

/** The first `length` components: a copy if most of the room is unused. */
const fitted = (room: Int32Array<ArrayBuffer>, length: number): Int32Array<ArrayBuffer> =>
  2 * length < room.length ? room.slice(0, length) : room.subarray(0, length);

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
      at = wasm.readNumbers(begin + at, begin + this.#limit, out, most - this.count) - begin;
      this.count += results[0]!;
      const why = results[1]!;
      if (why === ENDED) return at;
      // A number followed by blanks up to the end of its window is read here too.
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

  /** The position from which on no number may begin. */
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
      // Zero only by rounding: some kinds of body refuse that.
      if (value === 0 && NOT_ZERO.test(mantissa)) return -1;
      components[this.count++] = fixedOf(value);
      return from + literal.length;
    }
  }
}
