/** Stored metadata as a JSON object, and the values in it. */
import { isArray } from '../../shared/hashing/canonicalJson.js';
import { JSON_DEPTH_MAX } from '../../shared/limits.js';
import { type Json, PATH_SEPARATOR } from '../../shared/model/filter.js';

export interface MetadataObject {
  readonly [key: string]: Json;
}

/** Parses metadata; undefined where it is no JSON object, or nests too deep: such metadata is opaque bytes. */
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

type Visit = (path: string, value: Json) => void;

/** Visits every value of the object with its path; one value may be visited more than once. */
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
