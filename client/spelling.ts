/** The names of fields: snake_case in the API, camelCase here. Keys that a caller chose are never touched. */
import { USER_KEYED } from './contract/userKeyed.js';

/** `log_index` → `logIndex`. */
export const camelCase = (name: string): string =>
  name.includes('_') ? name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) : name;

/** `logIndex` → `log_index`; a name in snake_case stays as it is. */
export const snakeCase = (name: string): string =>
  CAPITAL.test(name) ? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name;

const CAPITAL = /[A-Z]/;

/** Converts an answer from the spelling of this package back to that of the API; typed arrays become lists. */
export const toWire = (value: unknown): unknown => renamed(value, snakeCase);

/** An answer in the spelling of this package. */
export const fromWire = (value: unknown): unknown => renamed(value, camelCase);

const OWN = { enumerable: true, writable: true, configurable: true };

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array);
  // Vectors are long, and hold nothing to rename.
  if (Array.isArray(value)) return typeof value[0] === 'number' ? value : value.map((each) => renamed(each, rename));
  const named: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const field = (value as Record<string, unknown>)[key];
    const isKept = typeof field !== 'object' || field === null || USER_KEYED.has(snakeCase(key));
    const content = isKept ? field : renamed(field, rename);
    const name = rename(key);
    // An assignment to this name would change the prototype.
    if (name === '__proto__') Object.defineProperty(named, name, { ...OWN, value: content });
    else named[name] = content;
  }
  return named;
}
