/**
 * The bytes of a segment, a file with a part of one collection's log. All integers are little-endian.
 *
 * ```text
 * header      0  "VSEG"  | u32 version = 2 | u64 collection id | u64 base | 8 B checksum of the 24 bytes before
 * reach      32  u64 offset of the last answered frame, 0 without one | u64 offset of its end
 *                | u64 base of the next segment, 0 without one | 8 B checksum of the 24 bytes before
 * frames     64  each: u32 length | u32 check of length and position | 8 B checksum of the bytes | bytes
 * ```
 *
 * `base`: the bytes of all segments before this one. A frame's position is base + its offset, so it grows, is never 0, and
 * leads to the frame without an index. A checksum is the first 8 bytes of BLAKE3-256. The reach is written in place, without
 * a sync, after each frame is durable and before it is answered. So it survives the end of the process, and is durable with the
 * next frame. Before the first frame of a next segment, the reach durably names that segment. So a log without its newest
 * segments is recognised as incomplete.
 */
import { Malformed } from '../errors/malformed.js';
import { hash } from '../hashing/hash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import type { Pacer } from '../scheduling/pacer.js';
import { frameHash, hashInSlices } from './frame.js';

export const SEGMENT_HEADER_BYTES = 64;
export const REACH_OFFSET = 32;
export const FRAME_PREFIX_BYTES = 16;
/** The bound of a message less the envelope of a frame, so that all platforms accept equal commits. */
export const FRAME_BYTES_MAX = 16 * 1024 * 1024 - 6 * 1024;

const MAGIC = 'VSEG';
const VERSION = 2;
const CHECKSUM_BYTES = 8;
const REACH_BYTES = 32;

interface SegmentHeader {
  readonly collectionId: number;
  readonly base: number;
}

export interface SegmentReach {
  /** Offset of the last answered frame, 0 without one. */
  readonly head: number;
  /** Offset of the end of the last answered frame. */
  readonly end: number;
  /** Base of the next segment, 0 without one. */
  readonly next: number;
}

interface FramePrefix {
  readonly length: number;
  readonly checksum: Uint8Array;
}

/** Zero padded, so that names sort like positions. */
export const segmentName = (base: number): string => `${String(base).padStart(16, '0')}.seg`;

const SEGMENT_NAME = /^(\d{16})\.seg$/;

/** The base in a segment's name; undefined for other files. */
export function baseInName(name: string): number | undefined {
  const digits = SEGMENT_NAME.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const checksumOf = (bytes: Uint8Array): Uint8Array => hash(bytes).subarray(0, CHECKSUM_BYTES);
const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

export function encodeSegmentHeader({ collectionId, base }: SegmentHeader): Uint8Array {
  const bytes = new Uint8Array(SEGMENT_HEADER_BYTES);
  const view = viewOf(bytes);
  bytes.set(Buffer.from(MAGIC, 'latin1'), 0);
  view.setUint32(4, VERSION, true);
  writeU64(view, 8, collectionId);
  writeU64(view, 16, base);
  bytes.set(checksumOf(bytes.subarray(0, 24)), 24);
  bytes.set(encodeReach({ head: 0, end: SEGMENT_HEADER_BYTES, next: 0 }), REACH_OFFSET);
  return bytes;
}

/** Throws Malformed. `bytes`: the first SEGMENT_HEADER_BYTES of the file, or all of a shorter one. */
export function decodeSegmentHeader(bytes: Uint8Array): { header: SegmentHeader; reach: SegmentReach } {
  if (bytes.length < SEGMENT_HEADER_BYTES) throw new Malformed('the header is cut short', bytes.length);
  const view = viewOf(bytes);
  if (Buffer.from(bytes.subarray(0, 4)).toString('latin1') !== MAGIC) throw new Malformed('this is not a segment', 0);
  const version = view.getUint32(4, true);
  if (version !== VERSION)
    throw new Malformed(`segment version ${version} is not known here; this program reads version ${VERSION}`, 4);
  if (!sameBytes(checksumOf(bytes.subarray(0, 24)), bytes.subarray(24, 32)))
    throw new Malformed('the checksum of the header does not verify', 24);
  const hashed = bytes.subarray(REACH_OFFSET, REACH_OFFSET + 24);
  if (!sameBytes(checksumOf(hashed), bytes.subarray(REACH_OFFSET + 24, REACH_OFFSET + REACH_BYTES)))
    throw new Malformed('the checksum of the reach does not verify', REACH_OFFSET);
  const [head, end, next] = [0, 8, 16].map((at) => readU64(view, REACH_OFFSET + at)) as [number, number, number];
  const base = readU64(view, 16);
  if (next !== 0 && next !== base + end) throw new Malformed('it is not followed where it ends', REACH_OFFSET + 16);
  return { header: { collectionId: readU64(view, 8), base }, reach: { head, end, next } };
}

export function encodeReach({ head, end, next }: SegmentReach): Uint8Array {
  const bytes = new Uint8Array(REACH_BYTES);
  const view = viewOf(bytes);
  writeU64(view, 0, head);
  writeU64(view, 8, end);
  writeU64(view, 16, next);
  bytes.set(checksumOf(bytes.subarray(0, 24)), 24);
  return bytes;
}

/** Writes the prefix of `frame`, FRAME_PREFIX_BYTES, to the start of `into`. */
export function writeFramePrefix(into: Uint8Array, frame: Uint8Array, position: number): void {
  const view = viewOf(into);
  view.setUint32(0, frame.length, true);
  view.setUint32(4, lengthCheck(frame.length, position), true);
  into.set(frameHash(frame).subarray(0, CHECKSUM_BYTES), 8);
}

/** Undefined if the length does not verify, so no frame begins there. */
export function readFramePrefix(bytes: Uint8Array, position: number): FramePrefix | undefined {
  if (bytes.length < FRAME_PREFIX_BYTES) return undefined;
  const view = viewOf(bytes);
  const length = view.getUint32(0, true);
  if (length > FRAME_BYTES_MAX || view.getUint32(4, true) !== lengthCheck(length, position)) return undefined;
  return { length, checksum: bytes.subarray(8, FRAME_PREFIX_BYTES) };
}

export const frameVerifies = ({ length, checksum }: FramePrefix, frame: Uint8Array): boolean =>
  frame.length === length && sameBytes(checksumOf(frame), checksum);

/** `frameVerifies` for a frame that takes too long for one turn. */
export const frameVerifiesInSlices = async (
  { length, checksum }: FramePrefix,
  frame: Uint8Array,
  pacer: Pacer,
): Promise<boolean> =>
  frame.length === length && sameBytes((await hashInSlices(frame, pacer)).subarray(0, CHECKSUM_BYTES), checksum);

/**
 * The check of a length, verified before the length is used. It covers the position, so that a frame does not verify in another
 * place, and a constant, so that zeros do not verify. Mixed by MurmurHash3's 32-bit finaliser.
 */
function lengthCheck(length: number, position: number): number {
  let mixed = (length ^ 0x56434831) >>> 0;
  for (const word of [position >>> 0, Math.floor(position / 2 ** 32)]) {
    mixed = (mixed ^ word) >>> 0;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    mixed = (mixed ^ (mixed >>> 16)) >>> 0;
  }
  return mixed;
}
