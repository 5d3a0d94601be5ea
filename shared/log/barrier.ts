/**
 * Barriers: messages in a log that are no frames, and that every reader passes over. A NATS server that was deposed and does
 * not know of it yet answers without the newest frames. A message that a majority has stored stands behind all that was durable
 * before it, so a reader that has come to it has missed nothing of that.
 *
 *    0  "VBR1"
 *    4  0^4
 *    8  u64 position of the last frame that its writer was told of; 0: of none
 *   16  u64 position of the last message that it was told of; 0: of none
 *   24  checksum: the first 16 bytes of H over everything before
 *
 * No frame stands between the two, so a reader that knows the first goes on behind the second, however many barriers there are.
 * What stands between the second and the barrier was on its way when that was written.
 */
import { Malformed } from '../errors/malformed.js';
import { hash } from '../hashing/hash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { byteView } from './eventBytes.js';
import type { Position } from './eventLog.js';

/** "VBR1", read as a little-endian u32. */
const BARRIER_MAGIC = 0x31_52_42_56;
const FRAME_AT = 8;
const MESSAGE_AT = 16;
const CHECKSUM_AT = 24;
const BARRIER_BYTES = 40;

/** The end of a log: its last frame, and its last message; `LOG_START` where there is none. */
export interface Barrier {
  readonly frame: Position;
  readonly message: Position;
}

export function writeBarrier({ frame, message }: Barrier): Uint8Array {
  const { bytes, view } = byteView(new Uint8Array(BARRIER_BYTES));
  view.setUint32(0, BARRIER_MAGIC, true);
  writeU64(view, FRAME_AT, frame);
  writeU64(view, MESSAGE_AT, message);
  bytes.set(checksumOf(bytes), CHECKSUM_AT);
  return bytes;
}

/** Undefined where the bytes are no intact barrier. */
export function readBarrier(message: Uint8Array): Barrier | undefined {
  if (message.length !== BARRIER_BYTES) return undefined;
  const { bytes, view } = byteView(message);
  const isIntact = Buffer.compare(checksumOf(bytes), bytes.subarray(CHECKSUM_AT)) === 0;
  if (!isIntact || view.getUint32(0, true) !== BARRIER_MAGIC || view.getUint32(4, true) !== 0) return undefined;
  try {
    return { frame: readU64(view, FRAME_AT), message: readU64(view, MESSAGE_AT) };
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

const checksumOf = (bytes: Uint8Array): Uint8Array =>
  hash(bytes.subarray(0, CHECKSUM_AT)).subarray(0, BARRIER_BYTES - CHECKSUM_AT);
