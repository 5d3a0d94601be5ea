/**
 * Requests in the spelling of the API, exactly as the caller gave them. Values that JSON would leave out or change are refused
 * before anything is sent: a condition that vanishes matches every record.
 */
import { REQUEST_FIELDS } from './contract/fields.js';
import { meantBy } from './contract/spelling.js';
import { camelCase, snakeCase } from './spelling.js';

export type RequestName = keyof typeof REQUEST_FIELDS;

const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = REQUEST_FIELDS;
/** More than any request nests; an object that refers to itself nests deeper. */
const DEPTH_MAX = 256;

type NumberList = readonly number[] | Float32Array;

/** Converts a list of numbers to the form in which it is sent. */
type Numbers = (list: NumberList) => unknown;

/**
 * The request in the spelling of the API. Fields may be in either spelling. Typed arrays become lists, and each of `vectors` a
 * `Float32Array`.
 *
 * @throws {TypeError} for a field that the request does not have. For a value that JSON cannot write: undefined, NaN, an
 * infinity, a function, a symbol, a big integer, a `Map`, a `Set` or another container. The message names its path.
 */
export function exactRequest(of: RequestName, request: object, vectors: ReadonlySet<unknown> = new Set()): object {
  const numbers: Numbers = (list) => {
    if (vectors.has(list)) return list instanceof Float32Array ? list : Float32Array.from(list);
    return Array.isArray(list) ? list : Array.from(list);
  };
  return fieldsOf(of, request, '', numbers);
}

/** Whether it is a vector that float32 holds exactly. Most models make such. */
export const isOfFloat32 = (vector: unknown): boolean =>
  vector instanceof Float32Array || (Array.isArray(vector) && vector.length > 0 && vector.every(isFloat32));

const isFloat32 = (component: unknown): boolean =>
  typeof component === 'number' && Math.fround(component) === component;

/**
 * Refuses a value whose keys the caller chose, if JSON would leave out or change a part. Errors name it by `path`.
 *
 * @throws {TypeError}
 */
export function assertExactJson(value: unknown, path: string, depth = 0): void {
  if (typeof value !== 'object' || value === null) {
    assertScalar(value, path);
    return;
  }
  if (depth > DEPTH_MAX) throw new TypeError(`${path} is nested too deeply, or refers to itself`);
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) assertExactJson(value[i], `${path}[${i}]`, depth + 1);
    return;
  }
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    if (value instanceof Date && Number.isNaN(value.getTime())) throw new TypeError(`${path} is an invalid date`);
    assertExactJson(value.toJSON(), path, depth + 1);
    return;
  }
  assertPlain(value, path);
  for (const [key, member] of Object.entries(value)) assertExactJson(member, below(path, key), depth + 1);
}

/** @throws {TypeError} unless `name` is a string that is not empty. */
export function assertName(name: unknown, what: string): asserts name is string {
  if (typeof name !== 'string' || name === '')
    throw new TypeError(`${what}: expected a name, got ${name === '' ? "''" : shown(name)}`);
}

/** A name as a part of a path. @throws {TypeError} unless it is a string that is not empty. */
export function nameSegment(name: string): string {
  assertName(name, 'name');
  return encodeURIComponent(name);
}

/** An id as a part of a path. @throws {TypeError} unless it is a whole number from 0. */
export function idSegment(id: number): string {
  if (!Number.isSafeInteger(id) || id < 0) throw new TypeError(`id: expected a whole number, got ${shown(id)}`);
  return String(id);
}

/** @throws {TypeError} naming the first key of `value` that is not known. */
export function assertKnown(value: object, known: readonly string[], path: string): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw unknownField(path, unknown, known);
}

/** @throws {TypeError} unless `value` is an object that may have fields. `example`: what is expected, such as `{ ids }`. */
export function assertRequest(value: unknown, call: string, example: string): void {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
  if (!isObject) throw new TypeError(`${call} takes an object such as ${example}; got ${shown(value)}`);
}

/**
 * The request with the fields that its call decides.
 *
 * @throws {TypeError} for a request that is not a plain object. For a field that would be replaced.
 */
export function withOwn(request: object, own: object): object {
  assertPlain(request, 'the request');
  const decided = Object.keys(own).map(snakeCase);
  const taken = Object.keys(request).find((key) => decided.includes(snakeCase(key)));
  if (taken !== undefined) throw new TypeError(`${taken} is not a field here: the call already has it`);
  return { ...request, ...own };
}

/** Refuses options that are not known, or are undefined: what they ask for would not be done. */
export function assertOptions(options: object, known: readonly string[], path: string): void {
  assertPlain(options, path === '' ? 'the options' : path);
  assertKnown(options, known, path);
  for (const [key, value] of Object.entries(options))
    if (value === undefined) throw new TypeError(`${below(path, key)} is undefined; leave it out`);
}

function fieldsOf(of: string, request: object, path: string, numbers: Numbers): object {
  assertPlain(request, path === '' ? 'the request' : path);
  const fields = FIELDS[of]!;
  const sent: Record<string, unknown> = {};
  for (const key of Object.keys(request)) {
    const [name, at] = [snakeCase(key), below(path, key)];
    if (!Object.hasOwn(fields, name)) throw unknownField(path, key, Object.keys(fields));
    if (Object.hasOwn(sent, name))
      throw new TypeError(`${at}: the field is given twice, as ${name} and ${camelCase(name)}`);
    sent[name] = fieldOf(fields[name]!, (request as Record<string, unknown>)[key], at, numbers);
  }
  return sent;
}

function fieldOf(kind: string, value: unknown, path: string, numbers: Numbers): unknown {
  if (kind === 'json') {
    assertExactJson(value, path);
    return value;
  }
  if (kind === 'value') return checkedValue(value, path, numbers);
  if (Array.isArray(value)) return Array.from(value, (each, i) => fieldOf(kind, each, `${path}[${i}]`, numbers));
  if (typeof value === 'object' && value !== null) return fieldsOf(kind, value, path, numbers);
  assertScalar(value, path);
  return value;
}

/** A scalar, a vector, or a list of them. */
function checkedValue(value: unknown, path: string, numbers: Numbers): unknown {
  if (typeof value !== 'object' || value === null) {
    assertScalar(value, path);
    return value;
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    assertFinite(value as Float32Array, path);
    return numbers(value as Float32Array);
  }
  if (!Array.isArray(value)) throw new TypeError(`${path}: expected a value or a list, got ${shown(value)}`);
  // Vectors are long.
  if (typeof value[0] === 'number') {
    assertFinite(value, path);
    return numbers(value as number[]);
  }
  return Array.from(value, (each, i) => checkedValue(each, `${path}[${i}]`, numbers));
}

function assertFinite(list: ArrayLike<unknown>, path: string): void {
  for (let i = 0; i < list.length; i++) {
    const each = list[i];
    if (typeof each !== 'number' || !Number.isFinite(each)) assertScalar(each, `${path}[${i}]`);
  }
}

function assertScalar(value: unknown, path: string): void {
  const isSent = typeof value === 'number' ? Number.isFinite(value) : value === null || SCALARS.includes(typeof value);
  if (isSent) return;
  const advice = value === undefined ? '; leave the field out, or give null' : '';
  throw new TypeError(`${path} is ${shown(value)}, which cannot be sent${advice}`);
}

const SCALARS = ['string', 'boolean'];

/** @throws {TypeError} unless the own enumerable members of an object are all that it has: others would not be sent. */
export function assertPlain(value: object, path: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || holdsMore(value))
    throw new TypeError(`${path} is ${shown(value)}: expected a plain object`);
  if (Object.getOwnPropertySymbols(value).length > 0)
    throw new TypeError(`${path} has a symbol as a key, which cannot be sent`);
}

/** Whether an object may hold data elsewhere: in its prototypes, or where only its methods reach. */
function holdsMore(value: object): boolean {
  if (Object.getPrototypeOf(value) === Object.prototype) return false;
  if (CONTAINERS.some((Container) => value instanceof Container) || ArrayBuffer.isView(value)) return true;
  const prototypes = prototypesOf(value);
  const isEmptyInstance = prototypes.length > 0 && Object.keys(value).length === 0;
  return isEmptyInstance || prototypes.some(hasData);
}

/** The prototypes except that of plain objects, which is the last one in every realm. */
function prototypesOf(value: object): object[] {
  const prototypes: object[] = [];
  for (let at: object | null = Object.getPrototypeOf(value); at !== null; at = Object.getPrototypeOf(at))
    prototypes.push(at);
  return prototypes.filter(
    (prototype) => Object.getPrototypeOf(prototype) !== null || !('hasOwnProperty' in prototype),
  );
}

const hasData = (prototype: object): boolean =>
  Object.values(Object.getOwnPropertyDescriptors(prototype)).some(
    ({ value, get }) => get !== undefined || typeof value !== 'function',
  );

const CONTAINERS = [Map, Set, WeakMap, WeakSet, Promise, RegExp, Error, ArrayBuffer, Number, String, Boolean];

/** Names the field that is probably meant, or all that there are. */
function unknownField(path: string, key: string, known: readonly string[]): TypeError {
  const meant = meantBy(snakeCase(key), known.map(snakeCase));
  const hint =
    meant === undefined ? `expected only ${known.map(camelCase).join(', ')}` : `did you mean ${camelCase(meant)}?`;
  return new TypeError(`${below(path, key)} is not a field here: ${hint}`);
}

const below = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);

/** Names a value: by its text where that is short, otherwise by its kind. */
function shown(value: unknown): string {
  if (value === undefined || value === null || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  if (typeof value === 'bigint') return `the bigint ${value}`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object') return `a ${value.constructor?.name ?? 'object'}`;
  return `a ${typeof value}`;
}
