/**
 * Reads a body of msgpack: its vectors straight to fixed point, and the rest as equivalent JSON. That is checked like any JSON: depth,
 * types, numbers that cannot be kept, misspelt names.
 *
 * A vector is a byte string of little-endian float32, or under `<field>_q16` of little-endian int32 in Q16.16, or an array of
 * numbers. Any other byte string represents an array of bytes. Extension types are refused: JSON has no counterpart.
 */
import { isUtf8 } from 'node:buffer';
import { counted } from '../../shared/errors/counted.js';
import { refusal, type VouchError } from '../../shared/errors/errors.js';
import { componentsIn, fixedOf, normaliseInto, type Scale } from '../../shared/fixedPoint.js';
import { longKey, tooDeep } from '../../shared/json/nesting.js';
import { BATCH_MAX, JSON_KEY_MAX_BYTES, JSON_MEMBERS_MAX, VALUE_MAX, VALUE_MIN } from '../../shared/limits.js';
import { below, invalid } from '../contract/refusal.js';
import { type PackedHead, PackedReader } from './packedReader.js';
import type { BodyParts, VectorField } from './takenVectors.js';
import { type Rows, roomForRows, rowsIn, withoutLength } from './vectors.js';
import { FLOATS_MAX_BYTES, readFloats } from './vectorText.js';

/** Ending of a field's name if its components are in Q16.16. */
const FIXED_SUFFIX = '_q16';
const COMPONENT_BYTES = 4;
/** Components of a list that take as long to read as one other value. */
const LISTED = 16;
/** Bytes of a string that are written as JSON and parsed in the time of another value. */
const WRITTEN = 32;
/** Bytes of a byte string that take as long: each is written as a number, and metadata is parsed once more. */
const NUMBERED = 8;
/** Characters of a string that JSON escapes: two quotes in metadata that is JSON make a string to be parsed. */
const ESCAPED = 2;
/** Largest dimension of vectors that are read together: a window holds two of them. */
const FLOATS_MAX = FLOATS_MAX_BYTES / (2 * COMPONENT_BYTES);
/**
 * Largest number of values beside the components of vectors: members of objects, and four for each record of a batch.
 * Writing one as JSON and parsing it takes a microsecond.
 */
const VALUES_MAX = JSON_MEMBERS_MAX + 4 * BATCH_MAX;
/** Longest JSON: a character of one byte may become six. */
const JSON_CHARS_MAX = 64 * 1024 * 1024;

export interface PackedLimits {
  readonly depthMax: number;
  /** Largest number of bytes of all byte strings beside vectors. */
  readonly otherBytes: number;
  /**
   * Largest number of values beside components; for a body with more, undefined is returned. LISTED components of lists count as
   * one value, and so do WRITTEN bytes of a string, NUMBERED ones of a byte string and ESCAPED characters.
   */
  readonly valuesMax?: number;
}

/** Throws `validation_error`, `payload_too_large`. */
export function unpackBody(
  body: Buffer,
  field: VectorField,
  limits: PackedLimits,
  scale: Scale = 'plain',
): BodyParts | undefined {
  if (body.length === 0) throw invalid('the body is empty: expected msgpack');
  return new BodyUnpacker(body, field, limits, scale).unpack();
}

interface VectorPlace {
  readonly path: string;
  /** Whether the components are int32 of Q16.16. */
  readonly isFixed: boolean;
  /** The place in a batch. */
  readonly row?: number;
}

class BodyUnpacker {
  readonly #reader: PackedReader;
  readonly #vectors: Rows[] = [];
  readonly #texts: string[] = [];
  #chars = 0;
  #values = 0;
  #otherBytes = 0;

  constructor(
    body: Buffer,
    private readonly field: VectorField,
    private readonly limits: PackedLimits,
    private readonly scale: Scale,
  ) {
    this.#reader = new PackedReader(body);
  }

  unpack(): BodyParts | undefined {
    try {
      this.#value('$', 0, this.field.within === undefined ? 'holder' : 'root');
    } catch (error) {
      if (error !== TOO_MANY) throw error;
      if (this.limits.valuesMax !== undefined) return undefined;
      throw invalid(`$ holds more than ${VALUES_MAX} values beside vectors`);
    }
    this.#reader.assertEnd();
    return { json: Buffer.from(this.#texts.join('')), vectors: this.#vectors };
  }

  #write(text: string): void {
    this.#chars += text.length;
    if (this.#chars > JSON_CHARS_MAX) throw refusal('payload_too_large', 'withoutVectors');
    this.#texts.push(text);
  }

  /** `role`: set if the value contains the vectors. */
  #value(path: string, depth: number, role?: Role): void {
    this.#count();
    const head = this.#reader.next();
    if ('value' in head) {
      if (head.type === 'number' && !Number.isFinite(head.value))
        throw invalid(`${path}: expected a finite number, got ${head.value}`);
      this.#write(String(head.value));
    } else if (head.type === 'map') this.#map(head.length, path, this.#inside(depth), role);
    else if (head.type === 'array') this.#array(head.length, path, this.#inside(depth), role);
    else if (head.type === 'string') this.#string(head.length);
    else this.#write(`[${this.#bytes(head.length, path).join()}]`);
  }

  #count(values = 1): void {
    this.#values += values;
    if (this.#values > (this.limits.valuesMax ?? VALUES_MAX)) throw TOO_MANY;
  }

  /** Counts what is long if the values are few: `each` of `length` as one value. */
  #countLong(length: number, each: number): void {
    if (this.limits.valuesMax !== undefined) this.#count(Math.floor(length / each));
  }

  #inside(depth: number): number {
    if (depth >= this.limits.depthMax) throw tooDeep('$');
    return depth + 1;
  }

  #text(length: number): string {
    this.#countLong(length, WRITTEN);
    const bytes = this.#reader.take(length);
    if (!isUtf8(bytes)) throw invalid('the body has a string that is not UTF-8');
    return bytes.toString('utf8');
  }

  #string(length: number): void {
    const text = this.#text(length);
    const json = JSON.stringify(text);
    this.#countLong(json.length - text.length, ESCAPED);
    this.#write(json);
  }

  #bytes(length: number, path: string): Buffer {
    this.#countLong(length, NUMBERED);
    this.#otherBytes += length;
    if (this.#otherBytes > this.limits.otherBytes)
      throw invalid(`${path} takes ${length} bytes: at most ${this.limits.otherBytes} are allowed beside vectors`);
    return this.#reader.take(length);
  }

  #map(length: number, path: string, depth: number, role: Role | undefined): void {
    const { name, within } = this.field;
    let hasVector = false;
    this.#write('{');
    for (let i = 0; i < length; i++) {
      const key = this.#reader.next();
      if (key.type !== 'string') throw invalid(`${path}: expected strings as keys`);
      if (key.length > JSON_KEY_MAX_BYTES) throw longKey(this.#reader.take(key.length), key.length, path);
      const text = this.#text(key.length);
      const isFixed = text === name + FIXED_SUFFIX;
      const isVector = role === 'holder' && (isFixed || text === name);
      this.#write(`${i === 0 ? '' : ','}${JSON.stringify(isVector ? name : text)}:`);
      const at = below(path, text);
      if (isVector && hasVector) throw invalid(`${at}: ${name} is given already`);
      hasVector ||= isVector;
      if (isVector) this.#vector(at, isFixed);
      else this.#value(at, depth, role === 'root' && text === within ? 'list' : undefined);
    }
    this.#write('}');
  }

  #array(length: number, path: string, depth: number, role: Role | undefined): void {
    this.#write('[');
    for (let i = 0; i < length; i++) {
      if (i > 0) this.#write(',');
      this.#value(`${path}[${i}]`, depth, role === 'list' ? 'holder' : undefined);
    }
    this.#write(']');
  }

  /** Writes the place of a vector or of a batch of them. */
  #vector(path: string, isFixed: boolean): void {
    const head = this.#reader.next();
    if (head.type === 'constant' && head.value === null) {
      this.#write('null');
      return;
    }
    const isBatch = this.field.name === 'batch';
    if (isBatch && head.type !== 'array') throw invalid(`${path}: expected an array of vectors`);
    const place = this.#vectors.length;
    this.#vectors.push(isBatch ? this.#rows((head as Sized).length, path, isFixed) : this.#single(head, path, isFixed));
    this.#write(isBatch ? `[[${place}]]` : `[${place}]`);
  }

  #single(head: PackedHead, path: string, isFixed: boolean): Rows {
    const components = new Int32Array(this.#lengthOf(head, path, isFixed));
    this.#components(head, { path, isFixed }, components, 0);
    return rowsIn(components, components.length, 1);
  }

  #rows(count: number, path: string, isFixed: boolean): Rows {
    this.#count(count);
    this.#reader.assertLeft(count);
    let dimension = 0;
    let unevenAt = -1;
    let components = NO_COMPONENTS;
    for (let i = 0; i < count; ) {
      const head = this.#reader.next();
      const length = this.#lengthOf(head, path, isFixed, i);
      if (i === 0) {
        dimension = length;
        // Each component takes at least a byte: with fewer bytes left, another vector is shorter.
        if (count * dimension <= this.#reader.left)
          components = roomForRows(dimension, count).subarray(0, count * dimension);
      } else if (length !== dimension && unevenAt < 0) unevenAt = i;
      const place = { path, isFixed, row: i };
      if (length !== dimension || components.length === 0) {
        this.#components(head, place, new Int32Array(length), 0);
        i += 1;
      } else if (head.type === 'bytes' && !isFixed && this.scale === 'plain' && length <= FLOATS_MAX) {
        i += this.#alike(place, components, length, count - i);
      } else {
        this.#components(head, place, components, i * dimension);
        i += 1;
      }
    }
    return rowsIn(unevenAt < 0 ? components : NO_COMPONENTS, dimension, count, unevenAt);
  }

  /** Reads the vector of float32 whose head was just read, and those behind it of that length: at most `most`. Returns how many. */
  #alike({ path, row = 0 }: VectorPlace, target: Int32Array, dimension: number, most: number): number {
    const rowBytes = COMPONENT_BYTES * dimension;
    const { bytes, apartBytes } = this.#reader.takeAlike(rowBytes, most);
    const read = readFloats(bytes, target, row * dimension, { rowBytes, apartBytes });
    const rows = Math.ceil(bytes.length / apartBytes);
    if (read === rows * dimension) return rows;
    const [bad, at] = [Math.floor(read / dimension), read % dimension];
    throw outOfRange(path, row + bad, at, bytes.readFloatLE(bad * apartBytes + COMPONENT_BYTES * at));
  }

  /** The number of components of a vector; `row`: its place in a batch. */
  #lengthOf(head: PackedHead, path: string, isFixed: boolean, row?: number): number {
    if (head.type === 'array' && !isFixed) {
      // Each component takes at least a byte.
      this.#reader.assertLeft(head.length);
      this.#countLong(head.length, LISTED);
      return head.length;
    }
    if (head.type !== 'bytes') {
      const wanted = isFixed ? 'a byte string of int32' : 'a byte string of float32, or an array of numbers';
      throw invalid(`${placeOf(path, row)}: expected ${wanted}`);
    }
    this.#reader.assertLeft(head.length);
    if (head.length % COMPONENT_BYTES !== 0)
      throw invalid(
        `${placeOf(path, row)} takes ${counted(head.length, 'byte')}: each component takes ${COMPONENT_BYTES}`,
      );
    return head.length / COMPONENT_BYTES;
  }

  /** Writes the components to `target`, from `offset` on. */
  #components(head: PackedHead, { path, isFixed, row }: VectorPlace, target: Int32Array, offset: number): void {
    if (this.scale === 'unit') {
      const values = isFixed
        ? componentsIn(this.#reader.take((head as Sized).length), 'plain')
        : this.#values64(head, path, row);
      if (!normaliseInto(values, target, offset)) throw withoutLength(placeOf(path, row));
      return;
    }
    const isListed = head.type === 'array';
    const { length } = head as Sized;
    if (isListed) {
      for (let i = 0; i < length; i++) target[offset + i] = fixedOf(this.#listed(path, row, i));
      return;
    }
    const bytes = this.#reader.take(length);
    if (isFixed) {
      new Uint8Array(target.buffer, target.byteOffset).set(bytes, offset * COMPONENT_BYTES);
      return;
    }
    const read = readFloats(bytes, target, offset);
    if (read < length / COMPONENT_BYTES) inRange(bytes.readFloatLE(COMPONENT_BYTES * read), path, row, read);
  }

  /** The next component of a list. */
  #listed(path: string, row: number | undefined, at: number): number {
    const value = this.#reader.number();
    if (value === undefined) throw outOfRange(path, row, at, `a ${this.#reader.next().type}`);
    return inRange(value, path, row, at);
  }

  /** The components of a list, or of a byte string of float32. */
  #values64(head: PackedHead, path: string, row: number | undefined): Float64Array {
    const { length } = head as Sized;
    if (head.type === 'array') {
      const values = new Float64Array(length);
      for (let i = 0; i < length; i++) values[i] = this.#listed(path, row, i);
      return values;
    }
    const bytes = this.#reader.take(length);
    const view = new DataView(bytes.buffer, bytes.byteOffset, length);
    const values = new Float64Array(length / COMPONENT_BYTES);
    for (let i = 0; i < values.length; i++)
      values[i] = inRange(view.getFloat32(COMPONENT_BYTES * i, true), path, row, i);
    return values;
  }
}

type Sized = Extract<PackedHead, { readonly length: number }>;

const NO_COMPONENTS = new Int32Array(0);

/** The body itself, the list of objects in it, and an object that has vectors. */
type Role = 'root' | 'list' | 'holder';

const TOO_MANY = new Error('more values than can be read at once');

const placeOf = (path: string, row: number | undefined): string => (row === undefined ? path : `${path}[${row}]`);

const outOfRange = (path: string, row: number | undefined, at: number, got: unknown): VouchError =>
  invalid(`${placeOf(path, row)}[${at}]: expected a number from ${VALUE_MIN} to ${VALUE_MAX}, got ${got}`);

function inRange(value: number, path: string, row: number | undefined, at: number): number {
  if (!(value >= VALUE_MIN && value <= VALUE_MAX)) throw outOfRange(path, row, at, value);
  return value;
}
