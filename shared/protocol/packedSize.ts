/** Bounds of the size of msgpack. */

/** The head of a string, an array or a map. */
export const HEAD_BYTES = 5;
/** The longest number; `null` and booleans are shorter. */
const NUMBER_BYTES = 9;
const UTF8_BYTES_PER_CHAR = 3;

/** An upper bound of the bytes of a value in msgpack. */
export function packedBytesMax(value: unknown): number {
  if (typeof value === 'string') return HEAD_BYTES + UTF8_BYTES_PER_CHAR * value.length;
  if (value === null || typeof value !== 'object') return NUMBER_BYTES;
  if (value instanceof Uint8Array) return HEAD_BYTES + value.length;
  let sizeBytes = HEAD_BYTES;
  if (Array.isArray(value)) for (const item of value) sizeBytes += packedBytesMax(item);
  else
    for (const key in value)
      sizeBytes += packedBytesMax(key) + packedBytesMax((value as Readonly<Record<string, unknown>>)[key]);
  return sizeBytes;
}
