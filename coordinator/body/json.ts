/** From the bytes of a body to a JSON value, refusing early what would be costly or is not JSON. */
import { isUtf8 } from 'node:buffer';
import { messageOf, VouchError } from '../../shared/errors.js';
import { JSON_DEPTH_MAX } from '../../shared/limits.js';
import { invalid } from '../contract/refusal.js';
import type { JsonObject } from '../contract/values.js';
import { assertNesting } from './nesting.js';

/** Throws `validation_error`; of what `isSecret` its message repeats nothing. */
export function parseJson(bytes: Buffer, depthMax: number, { isSecret = false } = {}): unknown {
  if (bytes.length === 0) throw invalid('the body is empty: expected JSON');
  if (!isUtf8(bytes)) throw invalid('the body is not UTF-8');
  assertNesting(bytes, depthMax);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw invalid(isSecret ? 'the body is not JSON' : `the body is not JSON: ${messageOf(error)}`);
  }
}

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Metadata that came as a string of JSON. Throws `validation_error` naming `path` unless it is that of an object. */
export function assertJsonObjectText(bytes: Buffer, path: string): void {
  assertNesting(bytes, JSON_DEPTH_MAX, path);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw invalid(`${path} is not JSON`);
  }
  if (!isJsonObject(value)) throw invalid(`${path}: expected JSON of an object`);
}

/** Stored metadata as it is shown: the object, or null where there is none or it is not JSON of an object. */
export function shownMetadata(stored: Uint8Array | null): JsonObject | null {
  if (stored === null) return null;
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length);
  try {
    // What one cannot parse cheaply, or print without running out of stack, is opaque.
    assertNesting(bytes, JSON_DEPTH_MAX);
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof VouchError) return null;
    throw error;
  }
}
