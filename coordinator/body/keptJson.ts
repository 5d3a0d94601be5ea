/**
 * Refuses metadata and filters that would not be kept as they are written. Numbers are kept as doubles: an integer must be
 * within ±2^53, no number may become an infinity, and only 0 may become 0; fractions are rounded to the nearest double. An
 * object keeps one value for each key.
 *
 * For almost all JSON the parsed value shows that nothing is lost. In case of doubt the text is read again, which takes some
 * ten times as long as the parser.
 */
import { below, invalid } from '../contract/refusal.js';
import type { JsonObject } from '../contract/values.js';

/** A value, the text it was parsed from, and the members of all objects in this text. */
export interface JsonText {
  readonly value: unknown;
  readonly text: string;
  readonly members: number;
}

/** Fields of up to a million numbers. An unknown field of such a name only costs a second reading. */
const VECTORS = ['batch', 'query'];
const INTEGER_MAX = 2 ** 53;
/** A number that is read as 0 and is not 0 has a negative exponent of three digits, or this many zeros. */
const MINUSES = ['e-', 'E-'];
const THREE_DIGITS = /^\d{3}$/;
const MANY_ZEROS = '0'.repeat(200);
const NUMBER = /(-?\d[\d.]*)(?:[eE][+-]?\d+)?/y;
const ONLY_DIGITS = /^-?\d+$/;

/**
 * Throws `validation_error` naming the first number or key that would not be kept. With `field`, only this field of the
 * object is checked. `path` names the value of the text.
 */
export function assertKept({ value, text, members }: JsonText, path: string, field?: string): void {
  const part = field === undefined ? value : (value as JsonObject)[field];
  if (part === undefined || part === null) return;
  const found: Found = { members: 0, hasLarge: false, hasZero: false };
  lookAt(part, found);
  const allMembers = field === undefined ? found.members : found.members + membersBeside(field, value as JsonObject);
  if (found.hasLarge || allMembers !== members || (found.hasZero && mayHaveTiny(text)))
    assertTextKept(text, path, field);
}

/** The runtime's search for two letters passes over vectors many times faster than a pattern. */
function mayHaveTiny(text: string): boolean {
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
function membersBeside(field: string, object: JsonObject): number {
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
  /** Null for an array. */
  readonly keys: Set<string> | null;
  at: string | number;
}

function assertTextKept(text: string, path: string, field: string | undefined): void {
  const open: Level[] = [];
  const isWanted = (): boolean => field === undefined || open[0]?.at === field;
  for (let at = 0; at < text.length; ) {
    const char = text[at]!;
    const level = open.at(-1);
    if (char === '{') open.push({ keys: new Set(), at: '' });
    else if (char === '[') open.push({ keys: null, at: 0 });
    else if (char === '}' || char === ']') open.pop();
    else if (char === ',' && level?.keys === null) level.at = (level.at as number) + 1;
    else if (char === '"') {
      const end = endOfString(text, at);
      if (level?.keys && isKey(text, end)) {
        level.at = JSON.parse(text.slice(at, end)) as string;
        if (level.keys.has(level.at) && isWanted()) throw invalid(`${placeOf(open, path)} stands there twice`);
        level.keys.add(level.at);
      }
      at = end;
      continue;
    } else if (char === '-' || (char >= '0' && char <= '9')) {
      const [literal, digits] = literalAt(text, at);
      const loss = isWanted() ? lossOf(literal, digits) : undefined;
      if (loss !== undefined) throw invalid(`${placeOf(open, path)}: ${loss}`);
      at += literal.length;
      continue;
    }
    at += 1;
  }
}

/** A number as it is written, and its digits before the exponent. */
function literalAt(text: string, at: number): readonly [literal: string, digits: string] {
  NUMBER.lastIndex = at;
  const [literal, digits] = NUMBER.exec(text) as unknown as [string, string];
  return [literal, digits];
}

/** Why the number cannot be kept, if it cannot. */
function lossOf(literal: string, digits: string): string | undefined {
  const value = Number(literal);
  if (!Number.isFinite(value)) return 'the number is too large';
  if (value === 0) return /[1-9]/.test(digits) ? 'the number is too close to 0' : undefined;
  if (!ONLY_DIGITS.test(literal) || Number.isSafeInteger(value)) return undefined;
  // 2^53 + 1 is read as 2^53.
  if (Math.abs(value) === INTEGER_MAX && BigInt(literal) === BigInt(value)) return undefined;
  return 'an integer beyond 2^53 cannot be kept exactly; send it as a string';
}

const placeOf = (open: readonly Level[], path: string): string =>
  open.reduce((place, { at }) => (typeof at === 'number' ? `${place}[${at}]` : below(place, at)), path);

/** The position after the closing quote of the string that begins at `at`. */
function endOfString(text: string, at: number): number {
  let end = at + 1;
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

/** Whether a colon follows the string that ends there: only a key is followed by one. */
function isKey(text: string, end: number): boolean {
  let at = end;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text[at] === ':';
}
