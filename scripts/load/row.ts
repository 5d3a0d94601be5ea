/** Converts the fields of a source into a row to insert. */
import type { JsonObject } from '../../coordinator/contract/values.js';
import { systemClock } from '../../shared/clock.js';
import { fixedOf } from '../../shared/fixedPoint.js';
import { EXPIRES_AT_MAX, EXTERNAL_ID_MAX_BYTES, VALUE_MAX, VALUE_MIN } from '../../shared/limits.js';
import { isoInstant } from '../../shared/model/isoDate.js';
import { counted } from '../terminal/line.js';
import { type Fields, RowFault, type Source, UnreadNumber } from './source.js';
import { codingOf, componentsIn, type VectorBytes } from './vectorBytes.js';

export { RowFault };

export interface Row {
  /**
   * Q16.16, little-endian, as in calls: all machines of the service are little-endian. For a collection that normalises: float32,
   * or the numbers themselves if float32 would round one.
   */
  readonly vector: Uint8Array | readonly number[];
  readonly text: string | null;
  readonly metadata: JsonObject | null;
  readonly tag: number;
  /** Null: the rows have no external ids. */
  readonly externalId: string | null;
  /** Unix seconds; absent: none of its own. */
  readonly expiresAt?: number;
  /** 32 hex, or `new` for a fresh one; absent: none. */
  readonly keyId?: string;
  /** The form of an external id that is a whole number. */
  readonly numerals?: Numerals | undefined;
}

/** Whole numbers as ids: the number 1 and the text "1" would become one external id. */
export type Numerals = 'number' | 'text';

export const dimensionOf = ({ vector }: Row): number =>
  vector instanceof Uint8Array ? vector.length / COMPONENT_BYTES : vector.length;

/** The fields that make a row. A name may reach into objects and arrays: `embedding.data.0`. */
export interface Columns {
  /** Undefined: the first field in the row that sources of its kind usually have. A pair: the fields from one to the other. */
  readonly vector: string | readonly [first: string, last: string] | undefined;
  /** The numbers in a field of bytes. Undefined: the vector is a list of numbers. */
  readonly vectorBytes?: VectorBytes | undefined;
  readonly text: string | undefined;
  readonly tag: string | undefined;
  /** The field of the external id. */
  readonly id: string | undefined;
  /** The field of the expiry. */
  readonly expiresAt?: string | undefined;
  /** The field of the vault key. */
  readonly keyId?: string | undefined;
  /** `rest`: every field that is not used otherwise. A single name of an object is the metadata itself. */
  readonly metadata: 'rest' | readonly string[];
  /** Fields whose text becomes a number in the metadata. */
  readonly numbers: ReadonlySet<string>;
  /** The collection divides each vector by its length. */
  readonly isNormalised: boolean;
}

/** `dimension`: that of the collection, where it is known. Throws RowFault. */
export function rowOf(fields: Fields, columns: Columns, usual: Source['usual'], dimension?: number): Row {
  const vectorName = columns.vector ?? firstOf(fields, usual.vector);
  if (vectorName === undefined)
    throw new RowFault(
      `it has no field ${usual.vector.join(', ')} (its fields are ${shownNames(fields)}): name the field of the vector with --vector`,
    );
  const textName = columns.text ?? firstOf(fields, usual.text);
  const vectorNames = typeof vectorName === 'string' ? [vectorName] : namesBetween(fields, vectorName);
  const text = textName === undefined ? null : textOf(valueAt(fields, textName), textName);
  const metadata = metadataOf(fields, columns, [
    ...vectorNames,
    ...[textName, columns.tag, columns.id, columns.expiresAt, columns.keyId],
  ]);
  const id = columns.id === undefined ? undefined : valueAt(fields, columns.id);
  const externalId = columns.id === undefined ? null : externalIdOf(id, columns.id);
  if (!isWellFormed(text) || !isWellFormed(metadata) || !isWellFormed(externalId))
    throw new RowFault('it has half of a surrogate pair, which UTF-8 cannot hold');
  const components = componentsOf(fields, vectorName, vectorNames, columns.vectorBytes);
  const vector = columns.isNormalised ? unquantised(components) : quantised(components);
  const tag = columns.tag === undefined ? 0 : tagOf(valueAt(fields, columns.tag), columns.tag);
  const expiry = columns.expiresAt === undefined ? {} : expiryOf(valueAt(fields, columns.expiresAt), columns.expiresAt);
  const key = columns.keyId === undefined ? {} : keyOf(valueAt(fields, columns.keyId), columns.keyId);
  const row = { vector, text, metadata, tag, externalId, ...expiry, ...key, numerals: numeralsOf(id) };
  if (dimension !== undefined && dimensionOf(row) !== dimension)
    throw new RowFault(
      `its vector has ${counted(dimensionOf(row), 'component')}, those of the collection ${dimension}`,
    );
  return row;
}

function componentsOf(
  fields: Fields,
  name: Exclude<Columns['vector'], undefined>,
  names: readonly string[],
  bytes: VectorBytes | undefined,
): ArrayLike<number> {
  if (typeof name !== 'string') return names.map((one) => numberOf(fields[one], one));
  const value = valueAt(fields, name);
  if (value === undefined) throw new RowFault(`it has no ${name}; its fields are ${shownNames(fields)}`);
  return bytes === undefined ? numbersOf(value, name) : componentsIn(value, name, bytes);
}

const firstOf = (fields: Fields, names: readonly string[]): string | undefined =>
  names.find((name) => Object.hasOwn(fields, name));

function namesBetween(fields: Fields, [first, last]: readonly [string, string]): string[] {
  const names = Object.keys(fields);
  const [from, to] = [names.indexOf(first), names.indexOf(last)];
  if (from < 0 || to < from) throw new RowFault(`it has no fields from ${first} to ${last}`);
  return names.slice(from, to + 1);
}

/** The value of a field. A field of the whole name precedes a path. */
export function valueAt(fields: Fields, path: string): unknown {
  if (Object.hasOwn(fields, path)) return fields[path];
  let value: unknown = fields;
  for (const step of path.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function numbersOf(value: unknown, name: string): ArrayLike<number> {
  if (value instanceof Uint8Array)
    throw new RowFault(
      `${name} holds ${counted(value.length, 'byte')}: --vector-bytes says what they are, such as float32`,
    );
  if (ArrayBuffer.isView(value)) return value as unknown as ArrayLike<number>;
  if (Array.isArray(value)) return value.map((item) => numberOf(item, name));
  if (typeof value === 'string') return numbersIn(value, name);
  throw new RowFault(`${name} is not a list of numbers`);
}

const [OPENING, CLOSING] = ['[({', '])}'];
const SEPARATORS = [/\s*,\s*/, /\s*;\s*/, /\s+/];

/** Reads `[1, 2]`, `1,2`, `1;2`, `1 2` or `{1,2}`. A text that was cut off has no closing bracket. */
function numbersIn(text: string, name: string): number[] {
  const whole = text.trim();
  const bracket = OPENING.indexOf(whole.charAt(0) || ' ');
  if (bracket !== CLOSING.indexOf(whole.at(-1) ?? ' '))
    throw new RowFault(`${name} has a bracket without its other one: is it cut off?`);
  const inner = (bracket < 0 ? whole : whole.slice(1, -1)).trim();
  if (inner === '') throw new RowFault(`${name} is empty`);
  const coding = codingOf(inner);
  if (coding !== undefined)
    throw new RowFault(
      `${name} holds ${shown(text)}, which is no list of numbers: if it is bytes in ${coding}, --vector-bytes float32,${coding} ` +
        'reads them, or another type than float32',
    );
  const separator = SEPARATORS.find((one) => one.test(inner));
  return (separator === undefined ? [inner] : inner.split(separator)).map((item) => numberOf(item, name));
}

function numberOf(value: unknown, name: string): number {
  const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
  if (typeof number === 'bigint') return Number(number);
  if (number instanceof UnreadNumber) return number.value;
  if (typeof number !== 'number' || !Number.isFinite(number))
    throw new RowFault(`${name} holds ${shown(value)}, which is not a number`);
  return number;
}

/** Other texts that `Number` reads, such as 0x10, are not decimals. */
const DECIMAL = /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i;

/** The number in a text. Throws RowFault if a double does not hold it to its last digit. */
function exactNumber(text: string, name: string): number {
  const number = numberOf(text, name);
  if (WHOLE.test(text) && !Number.isSafeInteger(number)) throw unread(number, name);
  return number;
}

const WHOLE = /^\s*[-+]?\d+\s*$/;

const SHOWN_NAMES = 12;
export const shownNames = (fields: Fields): string => {
  const names = Object.keys(fields);
  return `${names.slice(0, SHOWN_NAMES).join(', ')}${names.length > SHOWN_NAMES ? ', …' : ''}`;
};

const SHOWN_CHARS = 40;
function shown(value: unknown): string {
  if (value instanceof Uint8Array) return 'bytes';
  const isWritten = value === undefined || typeof value === 'bigint' || typeof value === 'number';
  return (isWritten ? String(value) : JSON.stringify(value, withDigits)).slice(0, SHOWN_CHARS);
}

const withDigits = (_: string, value: unknown): unknown => {
  if (value instanceof UnreadNumber) return value.value;
  return typeof value === 'bigint' ? String(value) : value;
};

const COMPONENT_BYTES = Int32Array.BYTES_PER_ELEMENT;
/** Components of one buffer, which many vectors share: a buffer for each would cost more than its numbers. */
const ROOM_COMPONENTS = 256 * 1024;
let room = new Int32Array();
let used = 0;

/** Keeps all digits of a vector that the service divides by its length. */
function unquantised(values: ArrayLike<number>): Uint8Array | readonly number[] {
  let isFloat32 = true;
  let isZero = true;
  for (let i = 0; i < values.length; i++) {
    const value = inRange(values, i);
    isFloat32 &&= Math.fround(value) === value;
    isZero &&= value === 0;
  }
  if (isZero) throw new RowFault('its vector holds only zeros, which have no direction');
  return isFloat32 ? new Uint8Array(Float32Array.from(values).buffer) : Array.from(values);
}

function inRange(values: ArrayLike<number>, i: number): number {
  const value = values[i]!;
  if (!(value >= VALUE_MIN && value <= VALUE_MAX))
    throw new RowFault(`component ${i} is ${value}: allowed is ${VALUE_MIN} to ${VALUE_MAX}`);
  return value;
}

/** The bytes of the vector. */
function quantised(values: ArrayLike<number>): Uint8Array {
  const { length } = values;
  if (room.length - used < length) {
    room = new Int32Array(Math.max(ROOM_COMPONENTS, length));
    used = 0;
  }
  for (let i = 0; i < length; i++) room[used + i] = fixedOf(inRange(values, i));
  const begin = COMPONENT_BYTES * used;
  used += length;
  return new Uint8Array(room.buffer, begin, COMPONENT_BYTES * length);
}

function textOf(value: unknown, name: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string') return value;
  throw new RowFault(`${name} holds ${shown(value)}, which is not a text`);
}

function tagOf(value: unknown, name: string): number {
  if (value === undefined || value === null) return 0;
  const tag = numberOf(value, name);
  if (Number.isSafeInteger(tag) && tag >= 0) return tag;
  throw new RowFault(`${name} holds ${shown(value)}, which is not a whole number from 0 to 2^53 − 1`);
}

const WITH_ZONE = /T.*(?:Z|[-+]\d\d(?::?\d\d)?)$/i;
const WHOLE_SECOND = '2026-01-31T12:00:00'.length;

/** Reads unix seconds, or an instant of ISO 8601, which ends with the second that it is in. Throws RowFault. */
function expiryOf(value: unknown, name: string): { readonly expiresAt?: number } {
  if (value === undefined || value === null || value === '') return {};
  const expiresAt = typeof value === 'string' && !WHOLE.test(value) ? instantSecs(value) : numberOf(value, name);
  if (!Number.isInteger(expiresAt))
    throw new RowFault(
      `${name} holds ${shown(value)}, which is neither whole unix seconds nor an instant with its zone, such as 2030-01-31T12:00:00Z`,
    );
  if (expiresAt > EXPIRES_AT_MAX)
    throw new RowFault(
      `${name} holds ${shown(value)}, which is after the year 9999; give unix seconds, not milliseconds`,
    );
  if (1000 * expiresAt <= systemClock.nowMs()) throw new RowFault(`${name} holds ${shown(value)}, which has passed`);
  return { expiresAt };
}

/** NaN where the text is not an instant with its zone. */
function instantSecs(text: string): number {
  const instant = WITH_ZONE.test(text) ? isoInstant(text) : undefined;
  if (instant === undefined) return Number.NaN;
  const hasFraction = instant.length > WHOLE_SECOND + 1;
  return Date.parse(`${instant.slice(0, WHOLE_SECOND)}Z`) / 1000 + (hasFraction ? 1 : 0);
}

const KEY_ID = /^([0-9a-f]{32}|new)$/;

/**
 * Throws RowFault, also without the field, whose name may be misspelt: what is stored under no key can never be erased from
 * the log.
 */
function keyOf(value: unknown, name: string): { readonly keyId?: string } {
  if (value === undefined)
    throw new RowFault(`it has no ${name}, which --key-id names; null there puts it under no key`);
  if (value === null || value === '') return {};
  if (typeof value === 'string' && KEY_ID.test(value)) return { keyId: value };
  throw new RowFault(`${name} holds ${shown(value)}, which is neither a key id of 32 lowercase hex digits nor new`);
}

function externalIdOf(value: unknown, name: string): string {
  if (value === undefined || value === null) throw new RowFault(`it has no ${name}`);
  if (value instanceof UnreadNumber) throw unread(value.value, name);
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) throw unread(value, name);
  if (typeof value === 'number' && !Number.isInteger(value))
    throw new RowFault(`${name} holds ${shown(value)}, which is not a whole number: write ids of other kinds as texts`);
  const id = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  if (typeof id !== 'string' || id === '') throw new RowFault(`${name} holds ${shown(value)}, which is not an id`);
  if (Buffer.byteLength(id) <= EXTERNAL_ID_MAX_BYTES) return id;
  throw new RowFault(`${name} is an id of more than ${EXTERNAL_ID_MAX_BYTES} bytes`);
}

/** Texts that a whole number has too. */
const NUMERAL = /^(?:0|-?[1-9]\d*)$/;

function numeralsOf(id: unknown): Numerals | undefined {
  if (typeof id === 'number' || typeof id === 'bigint') return 'number';
  return typeof id === 'string' && NUMERAL.test(id) ? 'text' : undefined;
}

/** `used`: the fields that are used otherwise. */
function metadataOf(fields: Fields, columns: Columns, used: readonly (string | undefined)[]): JsonObject | null {
  const { metadata: wanted, numbers } = columns;
  const names = wanted === 'rest' ? namesBeside(fields, used) : wanted;
  if (names.length === 0) return null;
  if (names.length === 1 && wanted !== 'rest') {
    const only = valueAt(fields, names[0]!);
    if (isObject(only)) return asJson(only, names[0]!) as JsonObject;
  }
  const entries = names.flatMap((name) => {
    const value = valueAt(fields, name);
    if (value === undefined) return [];
    const isText = typeof value === 'string' && numbers.has(name);
    return [[name, isText && value !== '' ? exactNumber(value, name) : asJson(value, name)] as const];
  });
  return entries.length === 0 ? null : (Object.fromEntries(entries) as JsonObject);
}

function namesBeside(fields: Fields, used: readonly (string | undefined)[]): readonly string[] {
  const names = Object.keys(fields);
  // Most rows of large files hold a vector and nothing else.
  if (names.length === 1 && names[0] === used[0]) return [];
  const set = new Set(used);
  return names.filter((name) => !set.has(name));
}

/** False if a text or a name in it cannot be written in UTF-8, which would change it. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, item]) => name.isWellFormed() && isWellFormed(item));
}

/** The fault of a number whose neighbours a double does not distinguish from it. */
const unread = (value: number, name: string): RowFault =>
  new RowFault(`${name} holds ${value}, which is not read to its last digit: write it as a text`);

const isObject = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !ArrayBuffer.isView(value) &&
  !(value instanceof Date);

/** Converts values of files and tables that JSON lacks: whole numbers of 64 bits, times, bytes. Throws RowFault. */
function asJson(value: unknown, name: string): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new RowFault(`${name} holds ${value}, which JSON cannot hold`);
  if (value instanceof UnreadNumber) throw unread(value.value, name);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (ArrayBuffer.isView(value)) return asJson(Array.from(value as unknown as ArrayLike<number>), name);
  if (Array.isArray(value)) return value.map((item) => asJson(item, name));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asJson(item, `${name}.${key}`)]));
  return value;
}
