/**
 * Parses the `metadata_filter` of a request to the filter that shards evaluate.
 *
 *   {"year": 2011}                       equal; an array or an object is compared whole
 *   {"year": {"gte": 2000, "lt": 2010}}  operators, all of which must hold; each may also be written `$gte`
 *   {"author.name": "Ann"}               a key inside an object
 *   {"$or": [{…}, {…}]}                  also `$and`, and `$not` with one object
 *   {"$text": {"words": {"all": "…"}}}   the text of the record; also `any` and `phrase`
 *
 * If any key of an object is an operator, all must be. An object without operators is compared whole, unless a key looks like an
 * operator. Such a key begins with `$`, is an operator of other systems, or is one letter off. The filter is then refused, since
 * a comparison would silently find nothing. To compare with any object, write `{"eq": {"in": 3}}`.
 */

import {
  FILTER_BYTES_MAX,
  FILTER_CONDITIONS_MAX,
  FILTER_CONTAINS_MAX,
  FILTER_VALUES_MAX,
  FILTER_WORDS_BYTES_MAX,
  JSON_DEPTH_MAX,
} from '../../shared/limits.js';
import type { Filter, Json, Order, Test, WordMode, WordsTest } from '../../shared/model/filter.js';
import { PATH_SEPARATOR } from '../../shared/model/filter.js';
import { below, invalid, refuseBody } from './refusal.js';
import { doubled, inserted, oneLetterOff, swapped } from './spelling.js';
import type { JsonObject } from './values.js';

type Operator = Test['kind'];

/** Counts over a whole filter; `bytes`: UTF-8 of all keys and strings. */
export interface Spent {
  conditions: number;
  contains: number;
  values: number;
  bytes: number;
}

export const nothingSpent = (): Spent => ({ conditions: 0, contains: 0, values: 0, bytes: 0 });

const OPERATORS: Readonly<Record<Operator, (operand: unknown, path: string, spent: Spent) => Test>> = {
  eq: (operand, path, spent) => ({ kind: 'eq', value: comparable(operand, path, spent) }),
  ne: (operand, path, spent) => ({ kind: 'ne', value: comparable(operand, path, spent) }),
  gt: (operand, path, spent) => ordered('gt', operand, path, spent),
  gte: (operand, path, spent) => ordered('gte', operand, path, spent),
  lt: (operand, path, spent) => ordered('lt', operand, path, spent),
  lte: (operand, path, spent) => ordered('lte', operand, path, spent),
  in: (operand, path, spent) => ({ kind: 'in', values: values(operand, path, spent) }),
  nin: (operand, path, spent) => ({ kind: 'nin', values: values(operand, path, spent) }),
  prefix: (operand, path, spent) => ({ kind: 'prefix', value: text(operand, path, spent) }),
  contains: (operand, path, spent) => {
    spendContains(path, spent);
    return { kind: 'contains', value: text(operand, path, spent) };
  },
  words,
  exists: (operand, path) => {
    if (typeof operand !== 'boolean') throw refuseBody({ path, expected: 'boolean', value: operand });
    return { kind: 'exists', value: operand };
  },
};

/** Operators of other systems. */
const FOREIGN_OPERATORS = [
  ...['neq', 'not', 'equals', 'ge', 'le', 'between', 'range', 'not_in', 'notIn', 'any', 'all', 'and', 'or', 'includes'],
  ...[
    'like',
    'ilike',
    'regex',
    'match',
    'starts_with',
    'startsWith',
    'begins_with',
    'substring',
    'ends_with',
    'endsWith',
    'elemMatch',
    'match_text',
    'match_phrase',
    'matchPhrase',
  ],
  ...['greater_than', 'greaterThan', 'less_than', 'lessThan', 'is_null', 'isNull'],
  ...['=', '==', '!=', '<>', '<', '<=', '>', '>='],
];

/** Ordinary words that are one letter off an operator. */
const WORDS = [
  ...['en', 'get', 'let', 'inn', 'gate', 'late', 'lite', 'nine'],
  ...['word', 'works', 'worlds', 'woods', 'wards', 'cords', 'lords', 'fords', 'worms', 'swords', 'wordy'],
];

/**
 * The misspellings of an operator. A long one: all with one wrong letter. A short one only some, since `id`, `lat` and `min` are
 * keys. Three letters: one letter more, or two neighbours swapped. Two letters: one doubled, or both swapped. Capitals count from
 * three letters on: `IN` and `LT` are countries.
 */
function misspellings(operator: string): string[] {
  if (operator.length === 2) return [...doubled(operator), ...swapped(operator)];
  const slips = operator.length === 3 ? [...inserted(operator), ...swapped(operator)] : oneLetterOff(operator);
  return [...slips, operator.toUpperCase(), operator[0]!.toUpperCase() + operator.slice(1)];
}

const LOOKALIKES: ReadonlySet<string> = new Set(
  [...FOREIGN_OPERATORS, ...Object.keys(OPERATORS).flatMap(misspellings)].filter((key) => !WORDS.includes(key)),
);

/**
 * `path` names the filter in errors. `spent` begins at zero, and counts the parts of the filter. The caller has bounded the
 * nesting. Throws `validation_error`.
 */
export const filterOf = (json: JsonObject, path = '$.metadata_filter', spent = nothingSpent()): Filter =>
  objectFilter(json, path, spent);

function objectFilter(json: JsonObject, path: string, spent: Spent): Filter {
  const keys = Object.keys(json);
  // An empty filter also costs a set of records, like a condition.
  if (keys.length === 0) spendConditions(1, path, spent);
  return allOf(keys.map((key) => memberFilter(key, json[key], below(path, key), spent)));
}

const allOf = (parts: readonly Filter[]): Filter => (parts.length === 1 ? parts[0]! : { op: 'and', of: parts });

function memberFilter(key: string, value: unknown, path: string, spent: Spent): Filter {
  if (key === '$and') return { op: 'and', of: filters(value, path, spent) };
  if (key === '$or') return { op: 'or', of: filters(value, path, spent) };
  if (key === '$not') return { op: 'not', of: objectFilter(object(value, path), path, spent) };
  if (key === '$text') return textFilter(value, path, spent);
  if (key.startsWith('$')) throw invalid(`${path} is not an operator: allowed here are $and, $or, $not and $text`);
  spendBytes(key, path, spent);
  const keys = key.split(PATH_SEPARATOR, JSON_DEPTH_MAX + 1);
  if (keys.length > JSON_DEPTH_MAX)
    throw invalid(`${path} has more than ${JSON_DEPTH_MAX} keys: metadata nests no deeper`);
  return allOf(testsOf(value, path, spent).map((test) => ({ op: 'test', path: keys, test })));
}

function textFilter(value: unknown, path: string, spent: Spent): Filter {
  const tests = Object.entries(isObject(value) ? value : {}).map(([key, operand]): Filter => {
    if (operatorOf(key) !== 'words')
      throw invalid(`${below(path, key)} does not exist: a text is tested by words, as in {"words": {"all": "…"}}`);
    spendConditions(1, path, spent);
    return { op: 'text', test: words(operand, below(path, key), spent) };
  });
  if (tests.length === 0) throw invalid(`${path}: expected words, as in {"words": {"all": "…"}}`);
  return allOf(tests);
}

function filters(value: unknown, path: string, spent: Spent): Filter[] {
  if (!Array.isArray(value)) throw refuseBody({ path, expected: 'Array<JsonObject>', value });
  if (value.length === 0) throw invalid(`${path}: expected an array of at least one filter, got an empty one`);
  return value.map((each, i) => objectFilter(object(each, `${path}[${i}]`), `${path}[${i}]`, spent));
}

function testsOf(value: unknown, path: string, spent: Spent): Test[] {
  const operations = isObject(value) && isOfOperators(value, path) ? Object.entries(value) : undefined;
  spendConditions(operations?.length ?? 1, path, spent);
  if (operations === undefined) return [{ kind: 'eq', value: comparable(value, path, spent) }];
  return operations.map(([key, operand]) => OPERATORS[operatorOf(key)!](operand, below(path, key), spent));
}

/** False if the object is compared whole. Throws `validation_error` if it is neither. */
function isOfOperators(value: JsonObject, path: string): boolean {
  const keys = Object.keys(value);
  const strangers = keys.filter((key) => operatorOf(key) === undefined);
  if (strangers.length === 0) return keys.length > 0;
  const isMixed = strangers.length < keys.length || keys.some((key) => key.startsWith('$'));
  const stranger = isMixed ? strangers[0] : strangers.find((key) => LOOKALIKES.has(key));
  if (stranger === undefined) return false;
  const names = Object.keys(OPERATORS).join(', ');
  throw invalid(
    `${below(path, stranger)} is not an operator: expected one of ${names}; {"eq": {…}} compares with an object whole`,
  );
}

function operatorOf(key: string): Operator | undefined {
  const name = key.startsWith('$') ? key.slice(1) : key;
  return Object.hasOwn(OPERATORS, name) ? (name as Operator) : undefined;
}

function spendConditions(count: number, path: string, spent: Spent): void {
  spent.conditions += count;
  if (spent.conditions > FILTER_CONDITIONS_MAX)
    throw invalid(`${path}: a filter has at most ${FILTER_CONDITIONS_MAX} conditions, and here are more`);
}

function spendContains(path: string, spent: Spent): void {
  if (++spent.contains > FILTER_CONTAINS_MAX)
    throw invalid(
      `${path}: a filter has at most ${FILTER_CONTAINS_MAX} conditions with contains or words, and here are more`,
    );
}

function spendValues(count: number, path: string, spent: Spent): void {
  spent.values += count;
  if (spent.values > FILTER_VALUES_MAX)
    throw invalid(`${path}: a filter lists at most ${FILTER_VALUES_MAX} values, and with these it has ${spent.values}`);
}

/** Counts a key or a string. Throws `validation_error`, also for text that UTF-8 cannot represent. */
function spendBytes(text: string, path: string, spent: Spent): void {
  spent.bytes += Buffer.byteLength(text, 'utf8');
  if (spent.bytes > FILTER_BYTES_MAX)
    throw invalid(
      `${path}: the keys and strings of a filter take at most ${FILTER_BYTES_MAX} bytes, and here are more`,
    );
  // It would be another character at the shard, and the condition would find nothing.
  if (!text.isWellFormed()) throw invalid(`${path} holds half of a surrogate pair, which is not a character`);
}

function ordered(kind: Order, operand: unknown, path: string, spent: Spent): Test {
  if (typeof operand !== 'string' && typeof operand !== 'number')
    throw refuseBody({ path, expected: '(number | string)', value: operand });
  return { kind, value: comparable(operand, path, spent) as number | string };
}

function text(operand: unknown, path: string, spent: Spent): string {
  if (typeof operand !== 'string') throw refuseBody({ path, expected: 'string', value: operand });
  spendBytes(operand, path, spent);
  return operand;
}

const WORD_MODES: readonly WordMode[] = ['all', 'any', 'phrase'];

function words(operand: unknown, path: string, spent: Spent): WordsTest {
  spendContains(path, spent);
  const entries = isObject(operand) ? Object.entries(operand) : [];
  const mode = WORD_MODES.find((one) => one === entries[0]?.[0]);
  if (mode === undefined || entries.length !== 1)
    throw invalid(`${path}: expected an object with one of all, any and phrase, as in {"all": "red wine"}`);
  const value = text(entries[0]![1], below(path, mode), spent);
  if (Buffer.byteLength(value, 'utf8') > FILTER_WORDS_BYTES_MAX)
    throw invalid(`${below(path, mode)}: at most ${FILTER_WORDS_BYTES_MAX} bytes are allowed`);
  return { kind: 'words', mode, value };
}

function values(operand: unknown, path: string, spent: Spent): Json[] {
  if (!Array.isArray(operand)) throw refuseBody({ path, expected: 'Array<unknown>', value: operand });
  spendValues(operand.length, path, spent);
  return operand.map((each, i) => comparable(each, `${path}[${i}]`, spent));
}

/** Returns the value. Throws `validation_error` for JSON that would change on its way to the shard. */
function comparable(value: unknown, path: string, spent: Spent): Json {
  if (typeof value === 'number' && !Number.isFinite(value)) throw invalid(`${path}: the number is too large`);
  if (typeof value === 'string') spendBytes(value, path, spent);
  if (Array.isArray(value)) {
    spendValues(value.length, path, spent);
    for (const [i, each] of value.entries()) comparable(each, `${path}[${i}]`, spent);
  } else if (isObject(value)) {
    const keys = Object.keys(value);
    spendValues(keys.length, path, spent);
    for (const key of keys) {
      spendBytes(key, path, spent);
      // The decoder renames this key, so that it does not become the prototype of an object.
      if (key === '__proto__') throw invalid(`${path}: a key named __proto__ cannot be compared with`);
      comparable(value[key], below(path, key), spent);
    }
  }
  return value as Json;
}

function object(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw refuseBody({ path, expected: 'JsonObject', value });
  return value;
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
