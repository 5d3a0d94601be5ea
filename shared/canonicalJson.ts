import type { Json } from './filter.js';

/**
 * The same text for values that are deeply equal, and for no others: keys in order, 0 for −0, and the infinities that
 * JSON of too large a number is read as.
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : value > 0 ? '1e999' : '-1e999';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`);
  return `{${members.join()}}`;
}

/** As `Array.isArray`, which does not know of arrays that are read only. */
export const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);
