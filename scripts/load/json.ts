/** Reads JSON without loss: refuses repeated keys, and marks numbers that a double does not hold to their last digit. */
import { assertKept, mayHaveTiny } from '../../coordinator/body/keptJson.js';
import { VouchError } from '../../shared/errors/errors.js';
import { assertNesting } from '../../shared/json/nesting.js';
import { JSON_DEPTH_MAX } from '../../shared/limits.js';
import { RowFault, UnreadNumber } from './source.js';
import { textOf } from './utf8.js';

interface Reading {
  /** Whole numbers beyond 2^53 become bigints. It takes longer; otherwise they become UnreadNumber. */
  readonly isExact: boolean;
}

/** The value of a JSON text. Throws RowFault. `place`: what the bytes are. */
export function jsonIn(bytes: Buffer, place: string, { isExact }: Reading): unknown {
  const text = textOf(bytes, place);
  const value = parsed(text, place, isExact ? parseExact : JSON.parse);
  try {
    const { members } = assertNesting(bytes, JSON_DEPTH_MAX, place);
    const found: Found = { members: 0, hasLarge: false, hasZero: false };
    lookAt(value, found);
    // An object keeps only the last value of a repeated key.
    if (found.members !== members) assertKept({ value, text, members }, place);
    const isDoubtful = !isExact && (found.hasLarge || (found.hasZero && mayHaveTiny(text)));
    return isDoubtful ? parseMarked(text, unread) : value;
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
  hasLarge: boolean;
  hasZero: boolean;
}

function lookAt(value: unknown, found: Found): void {
  if (typeof value === 'number') {
    if (value === 0) found.hasZero = true;
    else if (Math.abs(value) > Number.MAX_SAFE_INTEGER) found.hasLarge = true;
  } else if (Array.isArray(value)) for (const item of value) lookAt(item, found);
  else if (typeof value === 'object' && value !== null)
    for (const item of Object.values(value)) {
      found.members += 1;
      lookAt(item, found);
    }
}

const MANY_DIGITS = /\d{16}/;

/** JSON.parse, with bigints for whole numbers beyond 2^53, and UnreadNumber for others that become 0 or infinite. */
export const parseExact = (text: string): unknown =>
  MANY_DIGITS.test(text) || mayHaveTiny(text) ? parseMarked(text, BigInt) : JSON.parse(text);

const STRING_OR_WHOLE = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;
/** A number that may be infinite. */
const LARGE_EXPONENT = /[eE]\+?\d{3}/;
/** Takes longer than the pattern above. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
const ONLY_DIGITS = /^-?\d+$/;
/** A number that is not 0. */
const NOT_ZERO = /^-?[0.]*[1-9]/;

const unread = (text: string): UnreadNumber => new UnreadNumber(Number(text));

/** JSON.parse, with the result of `whole` for whole numbers beyond 2^53, and UnreadNumber for others that become 0 or infinite. */
function parseMarked(text: string, whole: (digits: string) => unknown): unknown {
  let mark = '\0';
  // A key that begins so has this escape in the text.
  while (text.includes(JSON.stringify(mark).slice(1, -1))) mark += '\0';
  const pattern = mayHaveTiny(text) || LARGE_EXPONENT.test(text) ? STRING_OR_NUMBER : STRING_OR_WHOLE;
  const marked = text.replace(pattern, (found) => (isLossy(found) ? JSON.stringify({ [mark]: found }) : found));
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, value) => {
    const found = markedNumber(value, mark);
    if (found === undefined) return value;
    return ONLY_DIGITS.test(found) ? whole(found) : unread(found);
  });
}

/** Whether a double does not hold a whole number, or makes another number 0 or infinite. False for a string. */
function isLossy(found: string): boolean {
  if (found.startsWith('"')) return false;
  const value = Number(found);
  if (ONLY_DIGITS.test(found)) return !Number.isSafeInteger(value);
  return !Number.isFinite(value) || (value === 0 && NOT_ZERO.test(found));
}

function markedNumber(value: unknown, mark: string): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, mark)) return undefined;
  return (value as Record<string, string>)[mark];
}

/** JSON.stringify of an object, with whole numbers for the bigints among its values. */
export const jsonOf = (object: Readonly<Record<string, unknown>>): string =>
  `{${Object.entries(object)
    .map(([name, value]) => `${JSON.stringify(name)}:${typeof value === 'bigint' ? value : JSON.stringify(value)}`)
    .join(',')}}`;
