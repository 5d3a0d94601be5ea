/** Parses the JSON of bodies and of metadata, and refuses costly texts early. */
import { isUtf8 } from 'node:buffer';
import { messageOf, VouchError } from '../../shared/errors/errors.js';
import { assertNesting, type JsonBudget } from '../../shared/json/nesting.js';
import { JSON_DEPTH_MAX } from '../../shared/limits.js';
import { invalid } from '../contract/refusal.js';
import type { JsonObject } from '../contract/values.js';
import { assertKept, type JsonText } from './keptJson.js';

const BACKSLASH = 0x5c;

/** About how many strings the JSON within strings has: each has two escaped quotes. */
export function escapedPieces(json: Buffer): number {
  const first = json.indexOf(BACKSLASH);
  if (first < 0) return 0;
  let backslashes = 0;
  for (let i = first; i < json.length; i++) if (json[i] === BACKSLASH) backslashes += 1;
  return backslashes / 2;
}

/** Throws `validation_error`; if `isSecret`, its message repeats no part of the body. */
export function parseJson(bytes: Buffer, depthMax: number, isSecret = false): JsonText {
  if (bytes.length === 0) throw invalid('the body is empty: expected JSON');
  if (!isUtf8(bytes)) throw invalid('the body is not UTF-8');
  try {
    return jsonText(bytes, depthMax, '$', { isSecret });
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalid(isSecret ? 'the body is not JSON' : `the body is not JSON: ${messageOf(error)}`);
  }
}

/** Throws `validation_error` if it nests too deeply or holds too much, SyntaxError if it is not JSON. */
function jsonText(
  bytes: Buffer,
  depthMax: number,
  path?: string,
  options?: Parameters<typeof assertNesting>[3],
): JsonText {
  const { members } = assertNesting(bytes, depthMax, path, options);
  const text = bytes.toString('utf8');
  return { value: JSON.parse(text), text, members };
}

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The object in a JSON text. Throws `validation_error` naming `path`, also if parsing and printing it would change a value
 * (`keptJson.ts`).
 */
export function jsonObjectOf(bytes: Buffer, path: string, budget?: JsonBudget): JsonObject {
  let json: JsonText;
  try {
    json = jsonText(bytes, JSON_DEPTH_MAX, path, budget && { budget });
  } catch (error) {
    throw error instanceof SyntaxError ? invalid(`${path} is not JSON`) : error;
  }
  if (!isJsonObject(json.value)) throw invalid(`${path}: expected a JSON object`);
  assertKept(json, path);
  return json.value;
}

/**
 * Checks metadata in bytes. Throws `validation_error` naming `path` for a JSON object that exceeds the bounds of JSON, or whose
 * values parsing and printing would change. Other bytes are opaque.
 */
export function assertShownAsWritten({ buffer, byteOffset, length }: Uint8Array, path: string): void {
  const bytes = Buffer.from(buffer, byteOffset, length);
  let json: JsonText;
  try {
    json = jsonText(bytes, JSON_DEPTH_MAX, path);
  } catch (error) {
    const isOpaque = error instanceof SyntaxError || (error instanceof VouchError && !isBraced(bytes));
    if (isOpaque) return;
    throw error;
  }
  if (isJsonObject(json.value)) assertKept(json, path);
}

/** Whether the bytes begin and end like a JSON object. */
function isBraced(bytes: Buffer): boolean {
  const text = bytes.toString('latin1').trim();
  return text.startsWith('{') && text.endsWith('}');
}

/** The object in stored metadata; null if it is anything else. */
export const shownMetadata = (stored: Uint8Array | null): JsonObject | null =>
  stored === null ? null : ((objectText(stored)?.value ?? null) as JsonObject | null);

/** Null if the bytes are not a JSON object, or too costly to parse or print: such metadata is opaque. */
function objectText({ buffer, byteOffset, length }: Uint8Array): JsonText | null {
  try {
    const json = jsonText(Buffer.from(buffer, byteOffset, length), JSON_DEPTH_MAX);
    return isJsonObject(json.value) ? json : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof VouchError) return null;
    throw error;
  }
}
