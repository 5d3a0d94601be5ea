/** Untrusted JSON and its fields. The functions throw an Error that names the file or the field. */
import { fromBase64url, fromHex, fromUtf8 } from './bytes.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Parses JSON that has one meaning for all readers. An object with a field twice is refused, since one reader takes the first and
 * another the last. Errors contain `name`, the file.
 */
export function parseJson(bytes: Uint8Array, name: string): unknown {
  let text: string;
  let value: unknown;
  try {
    text = fromUtf8(bytes);
    value = JSON.parse(text);
  } catch {
    throw new Error(`${name} is not JSON`);
  }
  const repeated = repeatedField(text);
  if (repeated !== undefined) throw new Error(`${name} has the field ${JSON.stringify(repeated)} twice`);
  return value;
}

/** The first repeated field of an object in the text, which must be JSON. */
function repeatedField(text: string): string | undefined {
  /** The fields of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '{') open.push(new Set());
    else if (char === '[') open.push(undefined);
    else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const end = endOfString(text, at);
      if (isField(text, end)) {
        const field = JSON.parse(text.slice(at, end)) as string;
        if (open.at(-1)!.has(field)) return field;
        open.at(-1)!.add(field);
      }
      at = end - 1;
    }
  }
  return undefined;
}

/** The position after the closing quote of the string that begins at `at`. */
function endOfString(text: string, at: number): number {
  let end = at + 1;
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end + 1;
}

/** Whether the string that ends at `end` is a field's name: a colon follows. */
function isField(text: string, end: number): boolean {
  let at = end;
  while (text.charCodeAt(at) <= 0x20) at++;
  return text[at] === ':';
}

export function objectOf(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is not an object`);
  return value as JsonObject;
}

export function textOf(object: JsonObject, field: string): string {
  const value = object[field];
  if (typeof value !== 'string') throw new Error(`${field} is not a text`);
  return value;
}

/** A whole number below 2^53. */
export function wholeOf(object: JsonObject, field: string): bigint {
  const value = object[field];
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new Error(`${field} is not a whole number`);
  return BigInt(value as number);
}

/** `length` bytes as lowercase hex. */
export function hexOf(object: JsonObject, field: string, length: number): Uint8Array {
  const text = textOf(object, field);
  if (!new RegExp(`^[0-9a-f]{${2 * length}}$`).test(text))
    throw new Error(`${field} is not ${2 * length} lowercase hex digits`);
  return fromHex(text);
}

/** Canonical base64url, without padding. */
export function base64urlOf(object: JsonObject, field: string): Uint8Array {
  const bytes = fromBase64url(textOf(object, field));
  if (bytes === undefined) throw new Error(`${field} is not canonical base64url`);
  return bytes;
}
