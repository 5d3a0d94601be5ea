/**
 * From `metadata_filter`, as a request has it, to the filter that shards evaluate.
 *
 *   {"year": 2011}                       equal; an array or an object is compared whole
 *   {"year": {"gte": 2000, "lt": 2010}}  operators, all of which must hold; each may also be written `$gte`
 *   {"author.name": "Ann"}               a key inside an object
 *   {"$or": [{…}, {…}]}                  also `$and`, and `$not` with one object
 *
 * An object whose keys are operators is none to compare with; such a one is written `{"eq": {"in": 3}}`. Operators mixed
 * with other keys are refused, as is any other key that begins with `$`, and what other systems have as an operator.
 */
import type { Filter, Json, Order, Test } from '../../shared/filter.js';
import { PATH_SEPARATOR } from '../../shared/filter.js';
import { FILTER_CONDITIONS_MAX, FILTER_VALUES_MAX } from '../../shared/limits.js';
import { invalid, refuseBody } from './refusal.js';
import type { JsonObject } from './values.js';

type Operator = Test['kind'];

/** What the whole filter has so far. */
interface Spent {
  conditions: number;
  values: number;
}

const OPERATORS: Readonly<Record<Operator, (operand: unknown, path: string, spent: Spent) => Test>> = {
  eq: (operand, path) => ({ kind: 'eq', value: comparable(operand, path) }),
  ne: (operand, path) => ({ kind: 'ne', value: comparable(operand, path) }),
  gt: (operand, path) => ordered('gt', operand, path),
  gte: (operand, path) => ordered('gte', operand, path),
  lt: (operand, path) => ordered('lt', operand, path),
  lte: (operand, path) => ordered('lte', operand, path),
  in: (operand, path, spent) => ({ kind: 'in', values: values(operand, path, spent) }),
  nin: (operand, path, spent) => ({ kind: 'nin', values: values(operand, path, spent) }),
  exists: (operand, path) => {
    if (typeof operand !== 'boolean') throw refuseBody({ path, expected: 'boolean', value: operand });
    return { kind: 'exists', value: operand };
  },
};

/**
 * Operators that other systems have and this one has not. An object of one of them alone is far more likely to be meant
 * as one than as a value to compare with, which would find nothing and say nothing.
 */
const FOREIGN_OPERATORS: ReadonlySet<string> = new Set([
  ...['neq', 'not', 'equals', 'ge', 'le', 'between', 'range', 'not_in', 'notIn', 'any', 'all', 'and', 'or', 'contains'],
  ...['like', 'ilike', 'regex', 'match', 'starts_with', 'startsWith', 'ends_with', 'endsWith', 'elemMatch'],
]);

/** A longer key is not repeated whole to its sender. */
const SHOWN_KEY_CHARS = 64;

/** `path` names the filter in errors. Its nesting has been bounded. Throws `validation_error`. */
export const filterOf = (json: JsonObject, path = '$.metadata_filter'): Filter =>
  objectFilter(json, path, { conditions: 0, values: 0 });

function objectFilter(json: JsonObject, path: string, spent: Spent): Filter {
  return allOf(Object.keys(json).map((key) => memberFilter(key, json[key], below(path, key), spent)));
}

const allOf = (parts: readonly Filter[]): Filter => (parts.length === 1 ? parts[0]! : { op: 'and', of: parts });

function memberFilter(key: string, value: unknown, path: string, spent: Spent): Filter {
  if (key === '$and') return { op: 'and', of: filters(value, path, spent) };
  if (key === '$or') return { op: 'or', of: filters(value, path, spent) };
  if (key === '$not') return { op: 'not', of: objectFilter(object(value, path), path, spent) };
  if (key.startsWith('$')) throw invalid(`${path} is no operator: $and, $or and $not stand here`);
  const keys = key.split(PATH_SEPARATOR);
  return allOf(testsOf(value, path, spent).map((test) => ({ op: 'test', path: keys, test })));
}

function filters(value: unknown, path: string, spent: Spent): Filter[] {
  if (!Array.isArray(value)) throw refuseBody({ path, expected: 'Array<JsonObject>', value });
  if (value.length === 0) throw invalid(`${path}: expected an array of at least one filter, got an empty one`);
  return value.map((each, i) => objectFilter(object(each, `${path}[${i}]`), `${path}[${i}]`, spent));
}

function testsOf(value: unknown, path: string, spent: Spent): Test[] {
  const operations = isObject(value) && isOfOperators(value, path) ? Object.entries(value) : undefined;
  spent.conditions += operations?.length ?? 1;
  if (spent.conditions > FILTER_CONDITIONS_MAX)
    throw invalid(`${path}: a filter has at most ${FILTER_CONDITIONS_MAX} conditions, and here are more`);
  if (operations === undefined) return [{ kind: 'eq', value: comparable(value, path) }];
  return operations.map(([key, operand]) => OPERATORS[operatorOf(key)!](operand, below(path, key), spent));
}

/** False: to be compared with as a whole. Throws `validation_error` where it is neither. */
function isOfOperators(value: JsonObject, path: string): boolean {
  const keys = Object.keys(value);
  const stranger = keys.find((key) => operatorOf(key) === undefined);
  if (stranger === undefined) return keys.length > 0;
  const isMixed = keys.some((key) => key.startsWith('$') || operatorOf(key) !== undefined);
  if (!isMixed && !(keys.length === 1 && FOREIGN_OPERATORS.has(stranger))) return false;
  const names = Object.keys(OPERATORS).join(', ');
  throw invalid(
    `${below(path, stranger)} is no operator: expected one of ${names}; {"eq": {…}} compares with an object whole`,
  );
}

function operatorOf(key: string): Operator | undefined {
  const name = key.startsWith('$') ? key.slice(1) : key;
  return Object.hasOwn(OPERATORS, name) ? (name as Operator) : undefined;
}

function ordered(kind: Order, operand: unknown, path: string): Test {
  if (typeof operand !== 'string' && typeof operand !== 'number')
    throw refuseBody({ path, expected: '(number | string)', value: operand });
  return { kind, value: comparable(operand, path) as number | string };
}

function values(operand: unknown, path: string, spent: Spent): Json[] {
  if (!Array.isArray(operand)) throw refuseBody({ path, expected: 'Array<unknown>', value: operand });
  spent.values += operand.length;
  if (spent.values > FILTER_VALUES_MAX)
    throw invalid(`${path}: a filter lists at most ${FILTER_VALUES_MAX} values, and with these it has ${spent.values}`);
  return operand.map((each, i) => comparable(each, `${path}[${i}]`));
}

/** JSON as it is, without what would not be the same on the other side. */
function comparable(value: unknown, path: string): Json {
  if (typeof value === 'number' && !Number.isFinite(value)) throw invalid(`${path}: the number is too large`);
  if (Array.isArray(value)) for (const [i, each] of value.entries()) comparable(each, `${path}[${i}]`);
  else if (isObject(value))
    for (const key of Object.keys(value)) {
      // Its bytes are read into another key, lest it become an object's prototype.
      if (key === '__proto__') throw invalid(`${path}: a key named __proto__ cannot be compared with`);
      comparable(value[key], below(path, key));
    }
  return value as Json;
}

function object(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw refuseBody({ path, expected: 'JsonObject', value });
  return value;
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const below = (path: string, key: string): string =>
  `${path}.${key.length <= SHOWN_KEY_CHARS ? key : `${key.slice(0, SHOWN_KEY_CHARS)}…`}`;
