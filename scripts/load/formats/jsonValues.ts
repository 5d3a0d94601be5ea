/** `.json`: one array, whose items are the rows; or objects of JSON, one after another. */
import type { Readable } from 'node:stream';
import { jsonIn } from '../json.js';
import { type Fields, RowFault, rowFrom, type Source } from '../source.js';
import { type ByteSource, streamOf } from './bytes.js';
import { guessedSource } from './guess.js';
import { piecesWithoutMark } from './marks.js';

export function jsonSource(name: string, source: ByteSource): Source {
  return guessedSource(name, source, async function* (guess, signal) {
    let number = 0;
    const splitter = new Splitter(name);
    for await (const piece of piecesWithoutMark(streamOf(source, signal) as Readable, name)) {
      for (const value of splitter.valuesOf(piece)) yield rowFrom(++number, () => fieldsIn(value, 'the row'));
      guess.readBytes += piece.length;
    }
    splitter.end();
  });
}

/** The fields of an object, or a vector alone. Throws RowFault. */
export function fieldsIn(bytes: Buffer, place: string): Fields {
  const fields = jsonIn(bytes, place, { isExact: false });
  if (Array.isArray(fields)) {
    if (isObject(fields[0])) throw new RowFault(`${place} is an array of objects: --format json reads each as a row`);
    return { vector: fields };
  }
  if (isObject(fields)) return fields;
  throw new RowFault(`${place} is not an object of JSON`);
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A body of the service is smaller: what is longer is not a row. */
const ROW_BYTES_MAX = 64 * 1024 * 1024;

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/** Finds where each row begins and ends; what is between is checked when the row is parsed. One row is in memory. */
class Splitter {
  /** Undefined before the first row: `[` begins an array. */
  #isArray: boolean | undefined;
  #isOver = false;
  /** A row of an array has ended: a comma or the end of the array must follow. */
  #isBehindRow = false;
  /** A comma came: another row must follow. */
  #isBehindComma = false;
  /** Brackets that are open within the row. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  readonly #begun: Buffer[] = [];
  #begunBytes = 0;

  constructor(private readonly name: string) {}

  /** The rows that end in the piece. Throws an Error of one line where the text between rows is not JSON. */
  *valuesOf(piece: Buffer): Generator<Buffer> {
    let from = this.#depth > 0 ? 0 : -1;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]!;
      if (this.#depth === 0) {
        if (this.#begins(byte)) from = at;
      } else if (this.#isInString) this.#inString(byte);
      else if (byte === QUOTE) this.#isInString = true;
      else if (byte === ARRAY || byte === OBJECT) this.#depth += 1;
      else if ((byte === ARRAY_END || byte === OBJECT_END) && --this.#depth === 0) {
        yield this.#whole(piece.subarray(from, at + 1));
        this.#isBehindRow = true;
      }
    }
    if (this.#depth > 0) this.#keep(piece.subarray(from));
  }

  /** Throws an Error of one line where the last row or the array is cut short. */
  end(): void {
    if (this.#depth > 0) throw new Error(`${this.name} ends within a row`);
    if (this.#isArray === true && !this.#isOver) throw new Error(`${this.name} ends before the end of its array`);
  }

  /** Whether a row begins with the byte, which is in none. */
  #begins(byte: number): boolean {
    if (byte <= SPACE) return false;
    const isOpening = byte === ARRAY || byte === OBJECT;
    if (this.#isOver) throw this.#refusal('there is more behind the end of its array');
    if (this.#isArray === undefined && isOpening) {
      this.#isArray = byte === ARRAY;
      if (this.#isArray) return false;
    } else if (this.#isArray === true && byte === ARRAY_END && !this.#isBehindComma) {
      this.#isOver = true;
      return false;
    } else if (this.#isArray === true && byte === COMMA && this.#isBehindRow) {
      [this.#isBehindRow, this.#isBehindComma] = [false, true];
      return false;
    }
    if (!isOpening || (this.#isArray === true && this.#isBehindRow))
      throw this.#refusal(`${JSON.stringify(String.fromCharCode(byte))} is in the place of a row`);
    this.#depth = 1;
    this.#isBehindComma = false;
    return true;
  }

  #inString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isInString = false;
  }

  #whole(last: Buffer): Buffer {
    this.#begunBytes = 0;
    return this.#begun.length === 0 ? last : Buffer.concat([...this.#begun.splice(0), last]);
  }

  #keep(part: Buffer): void {
    this.#begun.push(part);
    this.#begunBytes += part.length;
    if (this.#begunBytes > ROW_BYTES_MAX) throw this.#refusal(`a row is longer than ${ROW_BYTES_MAX} bytes`);
  }

  #refusal(what: string): Error {
    return new Error(`${this.name} is not an array of objects, and not one object after another: ${what}`);
  }
}
