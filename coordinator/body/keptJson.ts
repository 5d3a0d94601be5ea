/**
 * Refuses metadata and filters that parsing would change. Numbers become doubles. So an integer must be within ±2^53, no number
 * may become an infinity, and only 0 may become 0. Fractions may be rounded to the nearest double. An object keeps one value
 * for each key.
 *
 * For almost all JSON the parsed value shows that nothing is lost. In case of doubt the text of the field is read again, in
 * about the time of the parser. Other fields are skipped, and only doubtful numbers are parsed.
 */
import { below, invalid } from '../contract/refusal.js';
import type { JsonObject } from '../contract/values.js';

/** A value, the text it was parsed from, and the members of all objects in this text. */
export interface JsonText {
  readonly value: unknown;
  readonly text: string;
  readonly members: number;
}

/** Fields of up to a million numbers, which are skipped. An unknown field of such a name only costs a second reading. */
const VECTORS = ['batch', 'query'];
const INTEGER_MAX = 2 ** 53;
/** Signs of a number that is read as 0 and is not 0: it has a negative exponent of three digits, or this many zeros. */
const MINUSES = ['e-', 'E-'];
const THREE_DIGITS = /^\d{3}$/;
const MANY_ZEROS = '0'.repeat(200);
/** Least length of a lossy number without an exponent: a shorter one is below 2^53, and is not read as 0. */
const LOSSY_CHARS = 16;
const ONLY_DIGITS = /^-?\d+$/;

/**
 * Throws `validation_error` naming the first number or key that would not be kept. With `field`, only this field of the
 * object is checked. `path` names the value of the text.
 */
export function assertKept(json: JsonText, path: string, field?: string): void {
  const { value, text, members } = json;
  const part = field === undefined ? value : (value as JsonObject)[field];
  if (part === undefined || part === null) {
    assertNoTwins(json, path);
    return;
  }
  const found: Found = { members: 0, hasLarge: false, hasZero: false };
  lookAt(part, found);
  const allMembers = field === undefined ? found.members : found.members + membersBeside(field, value as JsonObject);
  const hasTwins = allMembers !== members;
  if (found.hasLarge || hasTwins || (found.hasZero && mayHaveTiny(text)))
    // Twins may be in any field.
    assertTextKept({ text, open: [], path, field: hasTwins ? undefined : field, hasTwins });
}

/** Throws `validation_error` naming a key that an object of the text has twice: parsing keeps only the last value. */
export function assertNoTwins({ value, text, members }: JsonText, path: string): void {
  if (membersBeside(undefined, value as JsonObject) === members) return;
  assertTextKept({ text, open: [], path, field: undefined, hasTwins: true });
}

/** Whether the text has `e-` or `E-`. Over vectors this search is many times faster than a pattern. */
export function mayHaveTiny(text: string): boolean {
  for (const minus of MINUSES)
    for (let at = text.indexOf(minus); at >= 0; at = text.indexOf(minus, at + 2))
      if (THREE_DIGITS.test(text.slice(at + 2, at + 5))) return true;
  return text.includes(MANY_ZEROS);
}

interface Found {
  members: number;
  hasLarge: boolean;
  hasZero: boolean;
}

function lookAt(value: unknown, found: Found): void {
  if (typeof value === 'number') {
    if (value === 0) found.hasZero = true;
    else if (value >= INTEGER_MAX || value <= -INTEGER_MAX) found.hasLarge = true;
  } else if (typeof value === 'object' && value !== null) {
    if (Array.isArray(value)) {
      for (const inner of value) lookAt(inner, found);
      return;
    }
    // In parsed JSON every enumerable member is an own one. Without a list of keys this takes half the time.
    for (const key in value) {
      found.members += 1;
      lookAt((value as JsonObject)[key], found);
    }
  }
}

/** Members of an object and of everything in it, except in `field` and in vectors. */
function membersBeside(field: string | undefined, object: JsonObject): number {
  const keys = Object.keys(object);
  const others = keys.filter((key) => key !== field && !VECTORS.includes(key));
  return others.reduce((sum, key) => sum + membersOf(object[key]), keys.length);
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const isArray = Array.isArray(value);
  const inner: readonly unknown[] = isArray ? value : Object.values(value);
  let members = isArray ? 0 : inner.length;
  for (const each of inner) if (typeof each === 'object') members += membersOf(each);
  return members;
}

/** An open object or array, and the reader's position in it. */
interface Level {
  readonly isArray: boolean;
  /** The keys so far; null for an array, and if no object has a key twice. */
  readonly keys: Set<string> | null;
  /** The index in an array, or the position of the object's last key in the text. */
  at: number;
}

/** The state of reading a text again. */
interface Reading {
  readonly text: string;
  readonly open: Level[];
  readonly path: string;
  /** The only field of the outermost object to check; undefined: all. */
  readonly field: string | undefined;
  readonly hasTwins: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
/** The bit in which lower case differs from upper case. */
const CASE_BIT = 0x20;
const EXPONENT = 0x65;

function assertTextKept(reading: Reading): void {
  const { text, open, hasTwins } = reading;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = afterString(reading, at);
      continue;
    }
    if (code === MINUS || isDigit(code)) {
      at = afterNumber(reading, at);
      continue;
    }
    if (code === ARRAY) open.push({ isArray: true, keys: null, at: 0 });
    else if (code === OBJECT) open.push({ isArray: false, keys: hasTwins ? new Set() : null, at: 0 });
    else if (code === ARRAY_END || code === OBJECT_END) open.pop();
    else if (code === COMMA) {
      const level = open.at(-1)!;
      if (level.isArray) level.at += 1;
    }
    at += 1;
  }
}

/** Returns the position after a string; for a key that is not wanted, the position after its value. */
function afterString({ text, open, path, field }: Reading, at: number): number {
  const level = open.at(-1);
  const end = endOfString(text, at);
  if (level === undefined || level.isArray || !isKey(text, end)) return end;
  level.at = at;
  const isNamed = open.length === 1 && field !== undefined;
  if (isNamed || level.keys !== null) {
    const key = keyAt(text, at);
    if (isNamed && key !== field) return afterValue(text, end);
    if (level.keys?.has(key)) throw invalid(`${placeOf(text, open, path)} appears twice`);
    level.keys?.add(key);
  }
  return end;
}

function afterNumber({ text, open, path }: Reading, at: number): number {
  let exponentAt = -1;
  let end = at;
  for (let code = text.charCodeAt(at); isOfNumber(code); code = text.charCodeAt(++end))
    if ((code | CASE_BIT) === EXPONENT) exponentAt = end;
  if (end - at < LOSSY_CHARS && exponentAt < 0) return end;
  const loss = lossOf(text.slice(at, end), text.slice(at, exponentAt < 0 ? end : exponentAt));
  if (loss !== undefined) throw invalid(`${placeOf(text, open, path)}: ${loss}`);
  return end;
}

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;

/** Whether a number may contain the character: a digit, `+`, `-`, `.`, or the letter of an exponent. */
const isOfNumber = (code: number): boolean =>
  isDigit(code) || code === 0x2b || code === MINUS || code === 0x2e || (code | CASE_BIT) === EXPONENT;

/** Returns why the number cannot be kept; undefined if it can. `digits`: its part before the exponent. */
function lossOf(literal: string, digits: string): string | undefined {
  const value = Number(literal);
  if (!Number.isFinite(value)) return 'the number is too large';
  if (value === 0) return /[1-9]/.test(digits) ? 'the number is too close to 0' : undefined;
  if (!ONLY_DIGITS.test(literal) || Number.isSafeInteger(value)) return undefined;
  // 2^53 + 1 is read as 2^53. All integers that are read as 2^53 have 16 digits.
  if (Math.abs(value) === INTEGER_MAX && BigInt(literal) === BigInt(value)) return undefined;
  return 'an integer beyond 2^53 cannot be kept exactly; send it as a string';
}

const placeOf = (text: string, open: readonly Level[], path: string): string =>
  open.reduce((place, { isArray, at }) => (isArray ? `${place}[${at}]` : below(place, keyAt(text, at))), path);

/** The key that begins at `at`. */
const keyAt = (text: string, at: number): string => JSON.parse(text.slice(at, endOfString(text, at))) as string;

/** The position after the closing quote of the string that begins at `at`. */
function endOfString(text: string, at: number): number {
  let end = at + 1;
  for (let code = text.charCodeAt(end); code !== QUOTE; code = text.charCodeAt(end)) end += code === BACKSLASH ? 2 : 1;
  return end + 1;
}

/** Whether the string that ends at `end` is a key: a colon follows. */
function isKey(text: string, end: number): boolean {
  let at = end;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text.charCodeAt(at) === COLON;
}

/** The position of the comma or bracket after the value of the key that ends at `end`. */
function afterValue(text: string, end: number): number {
  let depth = 0;
  for (let at = end; ; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at) - 1;
    else if (code === OBJECT || code === ARRAY) depth += 1;
    else if (code === COMMA && depth === 0) return at;
    else if ((code === OBJECT_END || code === ARRAY_END) && depth-- === 0) return at;
  }
}
