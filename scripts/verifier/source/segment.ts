/** The files that a standalone node keeps a log in. All integers are little-endian; checksums are cut BLAKE3. */
import { H } from '../hashing.js';
import { Reading } from '../reading.js';

export const SEGMENT_HEADER_BYTES = 64;
export const FRAME_HEADER_BYTES = 16;

const CHECKSUM_BYTES = 8;
/** No node writes a longer one. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024;
/** "1HCV", read as a little-endian u32: zeros do not verify. */
const LENGTH_SEED = 0x56434831;

export interface SegmentHeader {
  readonly collectionId: bigint;
  /** The bytes of all segments before this one. */
  readonly base: number;
  /** Of the last frame that was answered, 0 where there is none; and where it ends. */
  readonly headAt: number;
  readonly endAt: number;
  /** Base of the segment that follows, 0 where none does. */
  readonly next: number;
}

export const checksumOf = (bytes: Buffer): Buffer => H(bytes).subarray(0, CHECKSUM_BYTES);

/** Throws Refused. */
export function readSegmentHeader(bytes: Buffer): SegmentHeader {
  const reading = new Reading(bytes, 'the segment');
  if (reading.take(4).toString('latin1') !== 'VSEG') reading.fail('does not begin with VSEG');
  const version = reading.u32();
  if (version !== 2) reading.fail(`has version ${version}`);
  const [collectionId, base] = [reading.u64(), Number(reading.u64())];
  if (!reading.take(CHECKSUM_BYTES).equals(checksumOf(bytes.subarray(0, 24))))
    reading.fail('has a header that does not match its checksum');
  const [headAt, endAt, next] = [Number(reading.u64()), Number(reading.u64()), Number(reading.u64())];
  if (!reading.take(CHECKSUM_BYTES).equals(checksumOf(bytes.subarray(32, 56))))
    reading.fail('has a watermark that does not match its checksum');
  if (endAt < SEGMENT_HEADER_BYTES) reading.fail('has a watermark within its header');
  if (next !== 0 && next !== base + endAt) reading.fail('is not followed where it ends');
  return { collectionId, base, headAt, endAt, next };
}

export interface FrameHeader {
  readonly length: number;
  readonly checksum: Buffer;
}

/** The header of the frame whose header stands at `position`, counted over all segments; undefined where it is none. */
export function readFrameHeader(bytes: Buffer, position: number): FrameHeader | undefined {
  const length = bytes.readUInt32LE(0);
  if (length > FRAME_BYTES_MAX || bytes.readUInt32LE(4) !== lengthCheck(length, position)) return undefined;
  return { length, checksum: Buffer.from(bytes.subarray(8, FRAME_HEADER_BYTES)) };
}

/** The length and both halves of the position, each mixed in by the finaliser of MurmurHash3. */
function lengthCheck(length: number, position: number): number {
  const low = position % 2 ** 32;
  const high = (position - low) / 2 ** 32;
  return finalise(finalise((length ^ LENGTH_SEED) >>> 0, low), high);
}

function finalise(mixed: number, word: number): number {
  let h = (mixed ^ word) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
