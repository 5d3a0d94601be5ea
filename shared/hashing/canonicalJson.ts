import type { Json } from '../model/filter.js';

/** Returns the same text for deeply equal values alone: keys in order, 0 for −0, and infinities, which JSON may parse to. */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : value > 0 ? '1e999' : '-1e999';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key]!)}`);
  return `{${members.join()}}`;
}

/** `Array.isArray` for readonly arrays. */
export const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);
