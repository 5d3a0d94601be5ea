/** The frames of an export or import: each after its length as u32 LE. */
import { invalid } from '../contract/refusal.js';

const LENGTH_BYTES = 4;

/** Returns views of `bytes`. Throws `validation_error` if they are not whole frames. */
export function splitFrames(bytes: Buffer): Uint8Array[] {
  const frames: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    const left = bytes.length - at - LENGTH_BYTES;
    const sizeBytes = left < 0 ? 0 : bytes.readUInt32LE(at);
    if (left < 0 || sizeBytes === 0 || sizeBytes > left)
      throw invalid(`at byte ${at} of the body there is no whole frame`);
    at += LENGTH_BYTES;
    frames.push(bytes.subarray(at, at + sizeBytes));
    at += sizeBytes;
  }
  return frames;
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
