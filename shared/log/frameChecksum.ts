import { hash, hashStream } from '../hash.js';
import { CHECKSUM_BYTES } from './frame.js';
import type { Pacer } from './pacer.js';

/** Hashed in one go where shorter, in steps of this where longer. */
const STEP_BYTES = 128 * 1024;

/** The checksum of everything in the frame before the checksum itself. */
export async function frameChecksum(frame: Uint8Array, pacer: Pacer): Promise<Uint8Array> {
  const message = frame.subarray(0, frame.length - CHECKSUM_BYTES);
  if (message.length <= STEP_BYTES) return hash(message).subarray(0, CHECKSUM_BYTES);
  const stream = hashStream();
  try {
    for (let at = 0; at < message.length; at += STEP_BYTES) {
      stream.update(message.subarray(at, at + STEP_BYTES));
      if (pacer.spend(STEP_BYTES)) await pacer.rest();
    }
    return stream.digest().subarray(0, CHECKSUM_BYTES);
  } finally {
    stream.dispose();
  }
}
