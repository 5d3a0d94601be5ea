/**
 * Barriers: messages in a log that are no frames, and that every reader passes over. A NATS server that was deposed and does
 * not know of it yet answers without the newest frames. A message that a majority has stored stands behind all that was durable
 * before it, so a reader that has come to it has missed nothing of that.
 *
 *    0  "VBR1"
 *    4  0^4
 *    8  u64 position of the last frame that its writer was told of; 0: of none. Frames may stand between it and the barrier
 *   16  checksum: the first 16 bytes of H over everything before
 */
import { Malformed } from '../errors/malformed.js';
import { hash } from '../hashing/hash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { byteView } from './eventBytes.js';
import type { Position } from './eventLog.js';

/** "VBR1", read as a little-endian u32. */
const BARRIER_MAGIC = 0x31_52_42_56;
const FRAME_AT = 8;
const CHECKSUM_AT = 16;
const BARRIER_BYTES = 32;

/** `lastFrame`: `LOG_START` where none is known. */
export function barrierAfter(lastFrame: Position): Uint8Array {
  const { bytes, view } = byteView(new Uint8Array(BARRIER_BYTES));
  view.setUint32(0, BARRIER_MAGIC, true);
  writeU64(view, FRAME_AT, lastFrame);
  bytes.set(checksumOf(bytes), CHECKSUM_AT);
  return bytes;
}

/** The position that an intact barrier names; undefined where the bytes are none. */
export function frameBefore(message: Uint8Array): Position | undefined {
  if (message.length !== BARRIER_BYTES) return undefined;
  const { bytes, view } = byteView(message);
  const isIntact = Buffer.compare(checksumOf(bytes), bytes.subarray(CHECKSUM_AT)) === 0;
  if (!isIntact || view.getUint32(0, true) !== BARRIER_MAGIC || view.getUint32(4, true) !== 0) return undefined;
  try {
    return readU64(view, FRAME_AT);
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

const checksumOf = (bytes: Uint8Array): Uint8Array =>
  hash(bytes.subarray(0, CHECKSUM_AT)).subarray(0, BARRIER_BYTES - CHECKSUM_AT);
