/**
 * Barriers: messages in a log without a frame, which every reader skips. A stale replica, which may even be the leader, answers
 * a read without the newest frames. But a message that a majority stores comes after everything that was durable before. So a
 * reader that has reached its own barrier has read all of that.
 *
 * ```text
 *  0  "VBR1"
 *  4  0^4
 *  8  u64 position of the last frame known to the barrier's writer; 0 without one
 * 16  u64 position of the last message known to it; 0 without one
 * 24  checksum: the first 16 bytes of H over everything before
 * ```
 *
 * Between these two messages there are only barriers. So a reader that has the first one continues after the second one. Messages
 * between the second one and the barrier were in flight when the barrier was written.
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

/** The end of a log: its last frame, and its last message; `LOG_START` in an empty log. */
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

/** Decodes a barrier. Returns undefined if the message is not an intact one. */
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
