/** The segment files of a standalone node's log. All integers are little-endian; checksums are truncated BLAKE3. */
import { equal, readU32 } from '../bytes.js';
import { H } from '../hashing.js';
import { Reading } from '../reading.js';

export const SEGMENT_HEADER_BYTES = 64;
export const FRAME_HEADER_BYTES = 16;

const CHECKSUM_BYTES = 8;
/** Longest frame that a node writes. */
const FRAME_BYTES_MAX = 16 * 1024 * 1024;
/** "1HCV", read as a little-endian u32: zeros do not verify. */
const LENGTH_SEED = 0x56434831;

export interface SegmentHeader {
  readonly collectionId: bigint;
  /** The bytes of all segments before this one. */
  readonly base: number;
  /** The start of the last answered frame, 0 without one; and its end. */
  readonly headAt: number;
  readonly endAt: number;
  /** The base of the next segment, 0 without one. */
  readonly next: number;
}

export const checksumOf = (bytes: Uint8Array): Uint8Array => H(bytes).subarray(0, CHECKSUM_BYTES);

/** Decodes the header of a segment. Throws Refused. */
export function readSegmentHeader(bytes: Uint8Array): SegmentHeader {
  const reading = new Reading(bytes, 'the segment');
  reading.magic('VSEG');
  const version = reading.u32();
  if (version !== 2) reading.fail(`has version ${version}`);
  const [collectionId, base] = [reading.u64(), Number(reading.u64())];
  if (!equal(reading.take(CHECKSUM_BYTES), checksumOf(bytes.subarray(0, 24))))
    reading.fail('has a header that does not match its checksum');
  const [headAt, endAt, next] = [Number(reading.u64()), Number(reading.u64()), Number(reading.u64())];
  if (!equal(reading.take(CHECKSUM_BYTES), checksumOf(bytes.subarray(32, 56))))
    reading.fail('has a reach that does not match its checksum');
  if (endAt < SEGMENT_HEADER_BYTES) reading.fail('has a reach within its header');
  if (next !== 0 && next !== base + endAt) reading.fail('is not followed where it ends');
  return { collectionId, base, headAt, endAt, next };
}

export interface FrameHeader {
  readonly length: number;
  readonly checksum: Uint8Array;
}

/** Decodes a frame header. `position`: counted over all segments. Undefined if the bytes are not a header. */
export function readFrameHeader(bytes: Uint8Array, position: number): FrameHeader | undefined {
  const length = readU32(bytes, 0);
  if (length > FRAME_BYTES_MAX || readU32(bytes, 4) !== lengthCheck(length, position)) return undefined;
  return { length, checksum: new Uint8Array(bytes.subarray(8, FRAME_HEADER_BYTES)) };
}

/** The check of a length: it and both halves of the position, each mixed in by the finaliser of MurmurHash3. */
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
