/** Fields of JSON from anywhere. All throw an Error that names the field. */

export type JsonObject = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown, what: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${what} is not an object`);
  return value as JsonObject;
}

export function textOf(object: JsonObject, field: string): string {
  const value = object[field];
  if (typeof value !== 'string') throw new Error(`${field} is not a text`);
  return value;
}

/** Whole, and below 2^53. */
export function wholeOf(object: JsonObject, field: string): bigint {
  const value = object[field];
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new Error(`${field} is not a whole number`);
  return BigInt(value as number);
}

/** `length` bytes as lowercase hex. */
export function hexOf(object: JsonObject, field: string, length: number): Buffer {
  const text = textOf(object, field);
  if (!new RegExp(`^[0-9a-f]{${2 * length}}$`).test(text))
    throw new Error(`${field} is not ${2 * length} lowercase hex`);
  return Buffer.from(text, 'hex');
}

/** Base64url without padding, and written in the one way there is. */
export function base64urlOf(object: JsonObject, field: string): Buffer {
  const text = textOf(object, field);
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.toString('base64url') !== text) throw new Error(`${field} is not canonical base64url`);
  return bytes;
}
