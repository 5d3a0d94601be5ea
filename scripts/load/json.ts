/** Reads JSON without loss: refuses repeated keys, and marks numbers that a double does not hold to their last digit. */
import { assertKept } from '../../coordinator/body/keptJson.js';
import { VouchError } from '../../shared/errors/errors.js';
import { assertNesting } from '../../shared/json/nesting.js';
import { JSON_DEPTH_MAX } from '../../shared/limits.js';
import { RowFault, UnreadNumber } from './source.js';
import { textOf } from './utf8.js';

/** Numbers from here on are written with an exponent, so their last digits do not matter. */
const LARGE = 1e21;

interface Reading {
  /** Whole numbers beyond 2^53 become bigints. It takes longer; otherwise such numbers become UnreadNumber. */
  readonly isExact: boolean;
}

/** The value of a JSON text. Throws RowFault. `place`: what the bytes are. */
export function jsonIn(bytes: Buffer, place: string, { isExact }: Reading): unknown {
  const text = textOf(bytes, place);
  const value = parsed(text, place, isExact ? parseExact : JSON.parse);
  try {
    const { members } = assertNesting(bytes, JSON_DEPTH_MAX, place);
    const found: Found = { members: 0, hasUnread: false };
    lookAt(value, found);
    // An object keeps only the last value of a repeated key.
    if (found.members !== members) assertKept({ value, text, members }, place);
    return found.hasUnread && !isExact ? withUnread(value) : value;
  } catch (error) {
    throw error instanceof VouchError ? new RowFault(error.message) : error;
  }
}

function parsed(text: string, place: string, parse: (text: string) => unknown): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new RowFault(`${place} is not JSON: ${(error as Error).message}`);
  }
}

interface Found {
  members: number;
  hasUnread: boolean;
}

const isUnread = (value: number): boolean =>
  Math.abs(value) > Number.MAX_SAFE_INTEGER && (Math.abs(value) < LARGE || !Number.isFinite(value));

function lookAt(value: unknown, found: Found): void {
  if (typeof value === 'number') {
    if (isUnread(value)) found.hasUnread = true;
  } else if (Array.isArray(value)) for (const item of value) lookAt(item, found);
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) {
      found.members += 1;
      lookAt(item, found);
    }
}

function withUnread(value: unknown): unknown {
  if (typeof value === 'number') return isUnread(value) ? new UnreadNumber(value) : value;
  if (Array.isArray(value)) return value.map(withUnread);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withUnread(item)]));
}

const MANY_DIGITS = /\d{16}/;
const STRING_OR_WHOLE = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** JSON.parse, with bigints for whole numbers beyond 2^53. */
export function parseExact(text: string): unknown {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text);
  let mark = '\0';
  // A key that begins so has this escape in the text.
  while (text.includes(JSON.stringify(mark).slice(1, -1))) mark += '\0';
  const marked = text.replace(STRING_OR_WHOLE, (found) =>
    found.startsWith('"') || Number.isSafeInteger(Number(found)) ? found : JSON.stringify({ [mark]: found }),
  );
  return marked === text ? JSON.parse(text) : JSON.parse(marked, (_, value) => markedNumber(value, mark) ?? value);
}

function markedNumber(value: unknown, mark: string): bigint | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, mark)) return undefined;
  return BigInt((value as Record<string, string>)[mark]!);
}

/** JSON.stringify of an object, with whole numbers for the bigints among its values. */
export const jsonOf = (object: Readonly<Record<string, unknown>>): string =>
  `{${Object.entries(object)
    .map(([name, value]) => `${JSON.stringify(name)}:${typeof value === 'bigint' ? value : JSON.stringify(value)}`)
    .join(',')}}`;
