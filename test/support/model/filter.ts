/** Evaluates metadata filters, as sent, on metadata as it was sent. Operators may start with `$`. */
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../../../shared/model/filter.js';
import { wordsOf } from './bm25.js';

type JsonObject = { readonly [key: string]: Json };

export const OPERATORS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'nin',
  'prefix',
  'contains',
  'words',
  'exists',
] as const;
type Operator = (typeof OPERATORS)[number];

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isOperator = (key: string): boolean => (OPERATORS as readonly string[]).includes(key.replace(/^\$/, ''));
// 0 and −0 are one number.
const plain = (value: Json): Json => JSON.parse(JSON.stringify(value));
const equals = (a: Json, b: Json): boolean => isDeepStrictEqual(plain(a), plain(b));

/**
 * Whether the record's metadata satisfies `filter`; metadata that is not an object satisfies no filter, not even a
 * negated one.
 */
export function matches(filter: JsonObject, metadata: Json | undefined, text: string | null = null): boolean {
  if (isObject(metadata)) return holds(filter, metadata, text);
  return text !== null && JSON.stringify(filter).includes('"$text":') && holds(filter, {}, text);
}

function holds(filter: JsonObject, metadata: JsonObject, text: string | null): boolean {
  return Object.entries(filter).every(([key, wanted]) => {
    if (key === '$and') return (wanted as JsonObject[]).every((one) => holds(one, metadata, text));
    if (key === '$or') return (wanted as JsonObject[]).some((one) => holds(one, metadata, text));
    if (key === '$not') return !holds(wanted as JsonObject, metadata, text);
    if (key === '$text') return text !== null && fits(wanted, [text]);
    return fits(wanted, valuesAt(metadata, key.split('.')));
  });
}

/** All values at the path: through every element of an array on the way, and through keys that contain dots. */
export function valuesAt(value: Json, path: readonly string[]): Json[] {
  if (path.length === 0) return [value];
  if (Array.isArray(value)) return value.filter(isObject).flatMap((element) => valuesAt(element, path));
  if (!isObject(value)) return [];
  return path.flatMap((_, i) => {
    const key = path.slice(0, i + 1).join('.');
    return Object.hasOwn(value, key) ? valuesAt(value[key] as Json, path.slice(i + 1)) : [];
  });
}

function fits(wanted: Json, values: readonly Json[]): boolean {
  const isOperators = isObject(wanted) && Object.keys(wanted).some(isOperator);
  if (!isOperators) return test('eq', wanted, values);
  return Object.entries(wanted).every(([operator, operand]) =>
    test(operator.replace(/^\$/, '') as Operator, operand, values),
  );
}

function test(operator: Operator, operand: Json, values: readonly Json[]): boolean {
  // The value at the end is compared whole and, if it is an array, element by element.
  const all = values.flatMap((value) => (Array.isArray(value) ? [value as Json, ...value] : [value]));
  const isAny = (wanted: Json): boolean => all.some((value) => equals(value, wanted));
  const compares = (holdsFor: (value: number | string, than: number | string) => boolean): boolean =>
    all.some((value) => {
      if (typeof value !== typeof operand) return false;
      const [one, other] = [instantOf(value), instantOf(operand)];
      return one !== undefined && other !== undefined
        ? holdsFor(one, other)
        : holdsFor(value as string, operand as string);
    });
  switch (operator) {
    case 'eq':
      return isAny(operand);
    case 'ne':
      return !isAny(operand);
    case 'in':
      return (operand as Json[]).some(isAny);
    case 'nin':
      return !(operand as Json[]).some(isAny);
    case 'gt':
      return compares((value, than) => value > than);
    case 'gte':
      return compares((value, than) => value >= than);
    case 'lt':
      return compares((value, than) => value < than);
    case 'lte':
      return compares((value, than) => value <= than);
    case 'prefix':
      return all.some((value) => typeof value === 'string' && value.startsWith(operand as string));
    case 'contains':
      return all.some((value) => typeof value === 'string' && value.includes(operand as string));
    case 'words':
      return all.some((value) => typeof value === 'string' && hasWords(value, operand as JsonObject));
    case 'exists':
      return values.length > 0 === operand;
  }
}

function hasWords(value: string, { all, any, phrase }: JsonObject): boolean {
  const has = wordsOf(value);
  const wanted = wordsOf((all ?? any ?? phrase) as string);
  if (wanted.length === 0) return false;
  if (all !== undefined) return wanted.every((word) => has.includes(word));
  if (any !== undefined) return wanted.some((word) => has.includes(word));
  return has.some((_, at) => wanted.every((word, i) => has[at + i] === word));
}

const FIRST_MS = Date.parse('0000-01-01T00:00Z');
const END_MS = Date.parse('9999-12-31T00:00Z') + 86_400_000;

/** Unix milliseconds of a date or time of ISO 8601; undefined for other values. */
export function instantOf(value: Json): number | undefined {
  const form = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d(?:\.\d{1,3})?))?(?:Z|([+-]\d\d):?(\d\d)?)?)?$/i;
  const parts = typeof value === 'string' ? form.exec(value) : null;
  if (parts === null) return undefined;
  const [, date, minutes = '00:00', seconds = '00', hoursAhead, minutesAhead = '00'] = parts;
  const zone = hoursAhead === undefined ? 'Z' : `${hoursAhead}:${minutesAhead}`;
  const unixMs = Date.parse(`${date}T${minutes}:${seconds}${zone}`);
  const isDay = new Date(`${date}T00:00Z`).getUTCDate() === Number(date!.slice(8));
  const isYear = unixMs >= FIRST_MS && unixMs < END_MS;
  return isYear && isDay ? unixMs : undefined;
}
