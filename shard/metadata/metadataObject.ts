/** Stored metadata, read as the JSON object that it is or is not, and what is found in it. */
import { isArray } from '../../shared/canonicalJson.js';
import { type Json, PATH_SEPARATOR } from '../../shared/filter.js';
import { JSON_DEPTH_MAX } from '../../shared/limits.js';

export interface MetadataObject {
  readonly [key: string]: Json;
}

/** Undefined where it is not JSON of an object, or nests deeper than allowed: such metadata is opaque bytes. */
export function metadataObject(stored: Uint8Array | null): MetadataObject | undefined {
  if (stored === null) return undefined;
  let value: Json;
  try {
    value = JSON.parse(Buffer.from(stored.buffer, stored.byteOffset, stored.length).toString('utf8'));
  } catch {
    return undefined;
  }
  return isObject(value) && nestsWithin(value, JSON_DEPTH_MAX) ? value : undefined;
}

export type Visit = (path: string, value: Json) => void;

/** Every value of the object with the path where a filter finds it; the same may be visited more than once. */
export function forEachValue(object: MetadataObject, visit: Visit, prefix = ''): void {
  for (const key of Object.keys(object)) {
    const path = prefix + key;
    const value = object[key]!;
    visit(path, value);
    if (isArray(value)) {
      for (const element of value) {
        visit(path, element);
        if (isObject(element)) forEachValue(element, visit, path + PATH_SEPARATOR);
      }
    } else if (isObject(value)) forEachValue(value, visit, path + PATH_SEPARATOR);
  }
}

const isObject = (value: Json): value is MetadataObject =>
  typeof value === 'object' && value !== null && !isArray(value);

function nestsWithin(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  return Object.values(value).every((inner) => nestsWithin(inner, levels - 1));
}
