/**
 * A frame is one commit: one or more events, written and read whole. All integers are little-endian.
 *
 *    0  "VFR1"
 *    4  u32 event count (the genesis included)
 *    8  u64 sequence of the first event
 *   16  u64 log bytes before: the lengths of all earlier frames
 *   24  u64 live records after
 *   32  chain head before (32)
 *   64  the events: each u32 length, bytes
 *  −48  chain head after (32)
 *  −16  checksum: the first 16 bytes of H over everything before
 */
import { HASH_BYTES } from '../limits.js';
import { Malformed } from '../malformed.js';
import { readU64 } from '../u64.js';
import type { LogEnd } from './chain.js';
import type { Event } from './event.js';
import { sourceOf } from './eventReader.js';

/** "VFR1", read as a little-endian u32. */
export const FRAME_MAGIC = 0x31_52_46_56;
export const FRAME = {
  count: 4,
  firstSequence: 8,
  logBytesBefore: 16,
  liveRecords: 24,
  chainHead: 32,
  events: 64,
} as const;
export const CHECKSUM_BYTES = 16;
export const FRAME_TAIL_BYTES = HASH_BYTES + CHECKSUM_BYTES;
/** The length that stands before each event. */
export const EVENT_PREFIX_BYTES = 4;
/** What a frame takes beside its events and their prefixes. */
export const FRAME_OVERHEAD_BYTES = FRAME.events + FRAME_TAIL_BYTES;

export interface FrameHeader {
  readonly events: number;
  readonly firstSequence: number;
  readonly logBytesBefore: number;
  /** This frame included. */
  readonly logBytesAfter: number;
  /** After the frame's last event. */
  readonly liveRecords: number;
  readonly chainHeadBefore: Uint8Array;
  readonly chainHeadAfter: Uint8Array;
}

/** A frame whose bytes and events are known to agree, by having built or verified it. */
export interface Frame {
  readonly bytes: Uint8Array;
  readonly header: FrameHeader;
  readonly events: readonly Event[];
  /** 32 bytes an event: its hash, and the chain head after it. */
  readonly eventHashes: Uint8Array;
  readonly chainHeads: Uint8Array;
  /** Where the log ends with this frame. */
  readonly end: LogEnd;
}

/**
 * What a frame says of itself, nothing of it verified but the layout: cheap, for counting. Throws Malformed. The hashes
 * are views.
 */
export function readFrameHeader(frame: Uint8Array): FrameHeader {
  const { bytes, view } = sourceOf(frame);
  if (bytes.length < FRAME_OVERHEAD_BYTES) throw new Malformed(`a frame of ${bytes.length} bytes`, bytes.length);
  if (view.getUint32(0, true) !== FRAME_MAGIC)
    throw new Malformed('not a frame of version 1: it does not begin with VFR1', 0);
  const logBytesBefore = readU64(view, FRAME.logBytesBefore);
  return {
    events: view.getUint32(FRAME.count, true),
    firstSequence: readU64(view, FRAME.firstSequence),
    logBytesBefore,
    logBytesAfter: logBytesBefore + bytes.length,
    liveRecords: readU64(view, FRAME.liveRecords),
    chainHeadBefore: bytes.subarray(FRAME.chainHead, FRAME.events),
    chainHeadAfter: bytes.subarray(bytes.length - FRAME_TAIL_BYTES, bytes.length - CHECKSUM_BYTES),
  };
}

/** The 32 bytes of the event at `index` (from 0 within the frame). */
export const hashAt = (hashes: Uint8Array, index: number): Uint8Array =>
  hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);

/** The chain head before the event at `index` of a frame. */
export const chainHeadBefore = (frame: Frame, index: number): Uint8Array =>
  index === 0 ? frame.header.chainHeadBefore : hashAt(frame.chainHeads, index - 1);

/**
 * What a frame itself claims to continue: to verify a frame that is read alone, and was verified in its place before.
 * Throws Malformed.
 */
export function claimedStart(frame: Uint8Array): LogEnd {
  const { chainHeadBefore, firstSequence, logBytesBefore } = readFrameHeader(frame);
  return { chainHead: chainHeadBefore, nextSequence: firstSequence, logBytes: logBytesBefore, lastTimeMs: 0 };
}
