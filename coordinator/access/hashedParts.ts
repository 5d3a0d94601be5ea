/** Hashes of requests and answers, which may be long. */
import { hash, hashStream, toHex } from '../../shared/hashing/hash.js';
import type { Slice } from '../../shared/scheduling/slice.js';

/** So many bytes take a quarter of a millisecond. */
const AT_ONCE_BYTES = 256 * 1024;

/** H(domain ‖ parts), in hex. */
export async function hashedParts(domain: number, parts: readonly Uint8Array[], slice: Slice): Promise<string> {
  const sizeBytes = parts.reduce((sum, { length }) => sum + length, 0);
  if (sizeBytes <= AT_ONCE_BYTES) return toHex(hash(Buffer.concat([Uint8Array.of(domain), ...parts])));
  const stream = hashStream();
  try {
    stream.update(Uint8Array.of(domain));
    for (const part of parts)
      for (let at = 0; at < part.length; at += AT_ONCE_BYTES) {
        stream.update(part.subarray(at, at + AT_ONCE_BYTES));
        if (slice.due) await slice.next();
      }
    return toHex(stream.digest());
  } finally {
    stream.dispose();
  }
}
