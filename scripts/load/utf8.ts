/** Reads bytes as text. Invalid UTF-8 is refused, since replaced characters would make two texts equal. */
import { isUtf8 } from 'node:buffer';
import { RowFault } from './source.js';

/** Throws RowFault naming the first byte that is not UTF-8. `place`: what the bytes are, such as the name of a field. */
export function textOf(bytes: Uint8Array, place: string): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  const at = validBytes(buffer);
  const byte = buffer[at]!.toString(16).padStart(2, '0').toUpperCase();
  throw new RowFault(`byte ${at + 1} of ${place}, 0x${byte}, is not UTF-8: convert it to UTF-8`);
}

/** The number of bytes before the first that is not UTF-8. */
function validBytes(buffer: Buffer): number {
  let at = 0;
  for (let size: number | undefined = 0; size !== undefined; at += size ?? 0)
    size = SIZES.find((bytes) => at + bytes <= buffer.length && isUtf8(buffer.subarray(at, at + bytes)));
  return at;
}

/** The possible lengths of a character in bytes. */
const SIZES = [1, 2, 3, 4];
