/** Hashes of requests and answers, which may be long. */
import type { Clock } from '../../shared/clock.js';
import { hash, hashStream, toHex } from '../../shared/hashing/hash.js';
import { Slice } from '../../shared/scheduling/slice.js';

/** So many bytes take a quarter of a millisecond. */
const AT_ONCE_BYTES = 256 * 1024;

/** H(domain ‖ text ‖ bytes), in hex. Returns a promise for a long message alone. */
export function hashedParts(domain: number, text: string, bytes: Uint8Array, clock: Clock): string | Promise<string> {
  const textBytes = Buffer.byteLength(text);
  if (textBytes + bytes.length > AT_ONCE_BYTES)
    return hashedInSlices(domain, [Buffer.from(text), bytes], new Slice(clock));
  const message = Buffer.allocUnsafe(1 + textBytes + bytes.length);
  message[0] = domain;
  message.write(text, 1);
  message.set(bytes, 1 + textBytes);
  return toHex(hash(message));
}

async function hashedInSlices(domain: number, parts: readonly Uint8Array[], slice: Slice): Promise<string> {
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
