/** The frames of an export or import: each after its length as u32 LE. */
import { FRAME_OVERHEAD_BYTES } from '../../shared/log/frame.js';
import { invalid } from '../contract/refusal.js';

const LENGTH_BYTES = 4;

/** Returns the bytes. Throws `validation_error` if they are not whole frames; does not check the frames' content. */
export function checkedFrames(bytes: Buffer): Buffer {
  for (let at = 0; at < bytes.length; ) {
    const left = bytes.length - at - LENGTH_BYTES;
    const sizeBytes = left < 0 ? 0 : bytes.readUInt32LE(at);
    if (sizeBytes < FRAME_OVERHEAD_BYTES || sizeBytes > left)
      throw invalid(`no whole frame begins at byte ${at} of the body`);
    at += LENGTH_BYTES + sizeBytes;
  }
  return bytes;
}

/** Yields each frame of checked bytes, as a view. */
export function* framesIn(bytes: Buffer): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; ) {
    const begin = at + LENGTH_BYTES;
    at = begin + bytes.readUInt32LE(at);
    yield bytes.subarray(begin, at);
  }
}

/** Returns a copy of all frames. */
export function joinFrames(frames: readonly Uint8Array[]): Buffer {
  const joined = Buffer.allocUnsafe(frames.reduce((sum, frame) => sum + LENGTH_BYTES + frame.length, 0));
  let at = 0;
  for (const frame of frames) {
    at = joined.writeUInt32LE(frame.length, at);
    joined.set(frame, at);
    at += frame.length;
  }
  return joined;
}
