/** The names of fields: snake_case in the API, camelCase here. Keys that a caller chose are never touched. */
import { USER_KEYED } from './contract/userKeyed.js';

/** `log_index` → `logIndex`. */
export const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** `logIndex` → `log_index`; a name in snake_case stays as it is. */
export const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A request in the spelling of the API; typed arrays become lists. A value that is in it already stays as it is. */
export const toWire = (value: unknown): unknown => renamed(value, snakeCase, (list) => Array.from(finite(list)));

/** The same for msgpack, where a `Float32Array` stays one. */
export const toPackedWire = (value: unknown): unknown => renamed(value, snakeCase, finite);

/** An answer in the spelling of this package. */
export const fromWire = (value: unknown): unknown => renamed(value, camelCase, (list) => list);

type Numbers = (list: ArrayLike<unknown>) => ArrayLike<unknown>;

/** JSON has no word for other numbers: they would be sent as null. */
const finite: Numbers = (list) => {
  for (let i = 0; i < list.length; i++)
    if (typeof list[i] === 'number' && !Number.isFinite(list[i]))
      throw new TypeError(`component ${i} of a vector is ${list[i]}, which is no number that can be sent`);
  return list;
};

function renamed(value: unknown, rename: (name: string) => string, numbers: Numbers): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (ArrayBuffer.isView(value)) return numbers(value as Float32Array);
  // Vectors are long, and hold nothing to rename.
  if (Array.isArray(value))
    return typeof value[0] === 'number' ? numbers(value) : value.map((each) => renamed(each, rename, numbers));
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => {
      const isOpaque = USER_KEYED.has(snakeCase(key));
      return [rename(key), isOpaque ? field : renamed(field, rename, numbers)];
    }),
  );
}
