/** The frames of an export or import: each after its length as u32 LE. */
import { FRAME_OVERHEAD_BYTES } from '../../shared/log/frame.js';
import type { Steps } from '../../shared/scheduling/slice.js';
import { invalid } from '../contract/refusal.js';

/** Bytes of the length before each frame. */
export const FRAME_PREFIX_BYTES = 4;

/** Returns the bytes. Throws `validation_error` if they are not whole frames; does not check the frames' content. */
export function checkedFrames(bytes: Buffer): Buffer {
  for (let at = 0; at < bytes.length; ) {
    const left = bytes.length - at - FRAME_PREFIX_BYTES;
    const sizeBytes = left < 0 ? 0 : bytes.readUInt32LE(at);
    if (sizeBytes < FRAME_OVERHEAD_BYTES || sizeBytes > left)
      throw invalid(`no whole frame begins at byte ${at} of the body`);
    at += FRAME_PREFIX_BYTES + sizeBytes;
  }
  return bytes;
}

/** Yields each frame of checked bytes, as a view. */
export function* framesIn(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const begin = at + FRAME_PREFIX_BYTES;
    at = begin + bytes.readUInt32LE(at);
    yield bytes.subarray(begin, at);
  }
}

/** Returns a copy of all frames, in steps of one. */
export function* joinFrames(frames: readonly Uint8Array[]): Steps<Buffer> {
  const joined = Buffer.allocUnsafeSlow(frames.reduce((sum, frame) => sum + FRAME_PREFIX_BYTES + frame.length, 0));
  let at = 0;
  for (const frame of frames) {
    at = joined.writeUInt32LE(frame.length, at);
    joined.set(frame, at);
    at += frame.length;
    yield;
  }
  return joined;
}
