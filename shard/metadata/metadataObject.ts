/** Stored metadata as a JSON object, and the values in it. */
import { VouchError } from '../../shared/errors/errors.js';
import { assertNesting } from '../../shared/json/nesting.js';
import { JSON_DEPTH_MAX } from '../../shared/limits.js';
import { isArray, type Json } from '../../shared/model/filter.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { type Effort, WORK } from './effort.js';
import { keyBelow } from './pathKey.js';

export interface MetadataObject {
  readonly [key: string]: Json;
}

/**
 * Parses metadata; undefined if it is not a JSON object, nests too deep, or has a key that is too long. Such metadata
 * is opaque bytes, which an old log or an import may contain.
 */
export function metadataObject(stored: Uint8Array | null): MetadataObject | undefined {
  if (stored === null) return undefined;
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  try {
    // So few bytes cannot nest too deep, nor hold a key that is too long.
    if (bytes.length > JSON_DEPTH_MAX) assertNesting(bytes, JSON_DEPTH_MAX);
    const value: Json = JSON.parse(bytes.toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof VouchError) return undefined;
    throw error;
  }
}

/** `path`: the key of the value's path. */
type Visit = (path: string, value: Json) => void;

/** Visits every value of the object with its path: an array as a whole, then each element under the path of the array. */
export function forEachValue(object: MetadataObject, visit: Visit, parent?: string): void {
  for (const key of Object.keys(object)) {
    const path = keyBelow(parent, key);
    const value = object[key]!;
    visit(path, value);
    if (isArray(value)) {
      for (const element of value) {
        visit(path, element);
        if (isObject(element)) forEachValue(element, visit, path);
      }
    } else if (isObject(value)) forEachValue(value, visit, path);
  }
}

/** Visits as `forEachValue`, in steps. */
export function* visitInSteps(object: MetadataObject, visit: Visit, effort: Effort, parent?: string): Steps<void> {
  for (const key of Object.keys(object)) {
    const path = keyBelow(parent, key);
    const value = object[key]!;
    for (const one of isArray(value) ? [value, ...value] : [value]) {
      visit(path, one);
      effort.spend(WORK.find);
      if (effort.endsStep()) yield;
      if (isObject(one)) yield* visitInSteps(one, visit, effort, path);
    }
  }
}

const isObject = (value: Json): value is MetadataObject =>
  typeof value === 'object' && value !== null && !isArray(value);

/** Throws `validation_error` if the patch is not a JSON object. */
export function patchIn(patch: Uint8Array): MetadataObject {
  const object = metadataObject(patch);
  if (object === undefined) throw new VouchError('validation_error', 'the merge patch is not a JSON object');
  return object;
}
