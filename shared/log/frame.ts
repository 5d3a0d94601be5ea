/**
 * A frame is one commit: one or more events, written and read whole. All integers are little-endian.
 *
 * ```text
 *    0  "VFR1"
 *    4  u32 event count (the genesis included)
 *    8  u64 sequence of the first event
 *   16  u64 log bytes before: the lengths of all earlier frames
 *   24  u64 live records after
 *   32  chain head before (32)
 *   64  the events: each u32 length, bytes, and for version 2 its actor (see `frameActors.ts`)
 *  −48  chain head after (32)
 *  −16  checksum: the first 16 bytes of H over everything before
 * ```
 */
import { Malformed } from '../errors/malformed.js';
import { hash, hashOnward, hashSteps } from '../hashing/hash.js';
import { roomForValues } from '../hashing/longHash.js';
import { readU64, writeU64 } from '../hashing/u64.js';
import { HASH_BYTES } from '../limits.js';
import { longZeros } from '../longMemory.js';
import type { Actor } from '../model/actor.js';
import { EVENT_COST_BYTES, Pacer, type Pause } from '../scheduling/pacer.js';
import { ChainWalk, type LogEnd } from './chain.js';
import type { Event } from './event.js';
import { type ByteView, byteView } from './eventBytes.js';
import { readEvent, writeEvent } from './eventCodec.js';
import { EVENT_END_BYTES, eventSizeBytes } from './eventLayout.js';
import { actorBesideBytes, FrameActors } from './frameActors.js';

/** "VFR1", read as a little-endian u32. */
const FRAME_MAGIC = 0x31_52_46_56;
const FRAME = {
  count: 4,
  firstSequence: 8,
  logBytesBefore: 16,
  liveRecords: 24,
  chainHead: 32,
  events: 64,
} as const;
const CHECKSUM_BYTES = 16;
const FRAME_TAIL_BYTES = HASH_BYTES + CHECKSUM_BYTES;
/** Bytes of the length before each event. */
export const EVENT_PREFIX_BYTES = 4;
const CHECKSUM_AT_ONCE_BYTES = 128 * 1024;
/** Size of a frame without its events and their prefixes. */
export const FRAME_OVERHEAD_BYTES = FRAME.events + FRAME_TAIL_BYTES;

export interface FrameHeader {
  readonly events: number;
  readonly firstSequence: number;
  /** Sequence of the frame's last event. */
  readonly lastSequence: number;
  readonly logBytesBefore: number;
  /** With this frame. */
  readonly logBytesAfter: number;
  /** After the frame's last event. */
  readonly liveRecords: number;
  readonly chainHeadBefore: Uint8Array;
  readonly chainHeadAfter: Uint8Array;
}

/** A frame that this process has built or verified: its bytes and events agree. */
export interface Frame {
  readonly bytes: Uint8Array;
  readonly header: FrameHeader;
  readonly events: readonly Event[];
  /** 32 bytes an event: its hash, and the chain head after it. */
  readonly eventHashes: Uint8Array;
  readonly chainHeads: Uint8Array;
  /** The end of the log with this frame. */
  readonly end: LogEnd;
}

/** Reads the header of a frame, and verifies only its layout. The hashes are views. Throws Malformed. */
export function readFrameHeader(frame: Uint8Array): FrameHeader {
  const { bytes, view } = byteView(frame);
  if (bytes.length < FRAME_OVERHEAD_BYTES) throw new Malformed(`a frame of ${bytes.length} bytes`, bytes.length);
  if (view.getUint32(0, true) !== FRAME_MAGIC)
    throw new Malformed('not a frame of version 1: it does not begin with VFR1', 0);
  const events = view.getUint32(FRAME.count, true);
  const firstSequence = readU64(view, FRAME.firstSequence);
  const logBytesBefore = readU64(view, FRAME.logBytesBefore);
  return {
    events,
    firstSequence,
    lastSequence: firstSequence + events - 1,
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

/** The log end that a frame claims to continue, for verifying a single frame. Throws Malformed. */
export function claimedStart(frame: Uint8Array): LogEnd {
  const { chainHeadBefore, firstSequence, logBytesBefore } = readFrameHeader(frame);
  return { chainHead: chainHeadBefore, nextSequence: firstSequence, logBytes: logBytesBefore, lastTimeMs: 0 };
}

export function frameSizeBytes(events: readonly Event[]): number {
  let sizeBytes = FRAME_OVERHEAD_BYTES;
  let before: Actor | null = null;
  for (const event of events) {
    sizeBytes += EVENT_PREFIX_BYTES + eventSizeBytes(event) + actorBesideBytes(event.actor, before);
    before = event.actor;
  }
  return sizeBytes;
}

/**
 * Builds the frame of `events` that continues a log ending at `before`. `liveRecords`: the count after the last event. It calls
 * `pause` about once in a millisecond of work, and never for a small frame. Throws Malformed if the events do not continue the
 * log, RangeError for an event that cannot be written: both are defects of the caller.
 */
export async function buildFrame(
  events: readonly Event[],
  before: LogEnd,
  liveRecords: number,
  pause: Pause,
): Promise<Frame> {
  if (events.length === 0) throw new RangeError('a frame has at least one event');
  const pacer = new Pacer(pause);
  const target = byteView(longZeros(frameSizeBytes(events)));
  writeHeader(target, events.length, before, liveRecords);
  const walk = new ChainWalk(before, target.bytes, events.length);
  const actors = new FrameActors(target, walk);
  let at: number = FRAME.events;
  for (const event of events) {
    const from = at + EVENT_PREFIX_BYTES;
    const end = writeEvent(event, target, from);
    target.view.setUint32(at, end - from, true);
    at = actors.write(event.actor, end);
    walk.step(event, from, end);
    if (pacer.spend(end - from + EVENT_COST_BYTES)) await pacer.rest();
  }
  walk.finish();
  const { bytes } = target;
  bytes.set(walk.chainHead, bytes.length - FRAME_TAIL_BYTES);
  const values = roomForValues(bytes.length);
  bytes.set(await frameChecksum(bytes, pacer, values), bytes.length - CHECKSUM_BYTES);
  noteHashed(bytes, values);
  const { eventHashes, chainHeads } = walk;
  return { bytes, header: readFrameHeader(bytes), events, eventHashes, chainHeads, end: walk.end(bytes.length) };
}

function writeHeader({ bytes, view }: ByteView, count: number, before: LogEnd, liveRecords: number): void {
  view.setUint32(0, FRAME_MAGIC, true);
  view.setUint32(FRAME.count, count, true);
  writeU64(view, FRAME.firstSequence, before.nextSequence);
  writeU64(view, FRAME.logBytesBefore, before.logBytes);
  writeU64(view, FRAME.liveRecords, liveRecords);
  bytes.set(before.chainHead, FRAME.chainHead);
}

/**
 * Verifies that `frame` is intact and continues a log ending at `before`: checksum, sequences, log bytes, times and the
 * chain. The caller compares the count of live records once the events are applied. The events are views of `frame`.
 * `pause`: see `buildFrame`. Throws Malformed with the reason and its offset in the frame.
 */
export async function verifyFrame(frame: Uint8Array, before: LogEnd, pause: Pause): Promise<Frame> {
  const pacer = new Pacer(pause);
  const header = readFrameHeader(frame);
  const source = byteView(frame);
  await assertChecksum(source.bytes, pacer);
  assertContinues(header, before);
  const eventsEnd = frame.length - FRAME_TAIL_BYTES;
  // Checked before an allocation of this size.
  if (header.events * EVENT_PREFIX_BYTES > eventsEnd - FRAME.events)
    throw new Malformed(`${header.events} events do not fit the frame`, FRAME.count);
  const events: Event[] = [];
  const walk = new ChainWalk(before, source.bytes, header.events);
  const actors = new FrameActors(source, walk);
  let at: number = FRAME.events;
  while (events.length < header.events) {
    const from = at + EVENT_PREFIX_BYTES;
    const end = eventEnd(source, at, eventsEnd);
    at = actors.read(from, end, eventsEnd);
    const event = readEvent(source, from, end, actors.actor);
    walk.step(event, from, end);
    events.push(event);
    if (pacer.spend(at - from + EVENT_COST_BYTES)) await pacer.rest();
  }
  if (at !== eventsEnd) throw new Malformed('bytes after the last event', at);
  walk.finish();
  if (!isSame(walk.chainHead, header.chainHeadAfter))
    throw new Malformed('the events do not lead to the chain head that the frame ends with', eventsEnd);
  const { eventHashes, chainHeads } = walk;
  return { bytes: source.bytes, header, events, eventHashes, chainHeads, end: walk.end(frame.length) };
}

async function assertChecksum(frame: Uint8Array, pacer: Pacer): Promise<void> {
  const at = frame.length - CHECKSUM_BYTES;
  const values = roomForValues(frame.length);
  if (!isSame(await frameChecksum(frame, pacer, values), frame.subarray(at)))
    throw new Malformed('the checksum does not match: the frame is damaged', at);
  noteHashed(frame, values);
}

function assertContinues(header: FrameHeader, before: LogEnd): void {
  if (header.events === 0) throw new Malformed('a frame without events', FRAME.count);
  if (header.firstSequence !== before.nextSequence) {
    const loss = before.nextSequence === 0 ? 'the log has lost its beginning: ' : '';
    throw new Malformed(
      `${loss}the frame begins with event ${header.firstSequence} instead of ${before.nextSequence}`,
      FRAME.firstSequence,
    );
  }
  if (header.logBytesBefore !== before.logBytes)
    throw new Malformed(
      `the frame states ${header.logBytesBefore} bytes of log before it, and there are ${before.logBytes}`,
      FRAME.logBytesBefore,
    );
  if (!isSame(header.chainHeadBefore, before.chainHead))
    throw new Malformed('the frame continues another chain', FRAME.chainHead);
}

/** The end of the event whose length is at `at`. */
function eventEnd({ view }: ByteView, at: number, eventsEnd: number): number {
  if (eventsEnd - at < EVENT_PREFIX_BYTES) throw new Malformed('fewer events than the frame counts', at);
  const sizeBytes = view.getUint32(at, true);
  if (sizeBytes >= EVENT_END_BYTES || sizeBytes > eventsEnd - at - EVENT_PREFIX_BYTES)
    throw new Malformed(`an event of ${sizeBytes} bytes reaches beyond the frame`, at);
  return at + EVENT_PREFIX_BYTES + sizeBytes;
}

/** The values of the pieces of large frames that this process has built or verified. Such a frame does not change. */
const hashedPieces = new WeakMap<Uint8Array, Uint8Array>();

function noteHashed(frame: Uint8Array, values: Uint8Array): void {
  if (frame.length > CHECKSUM_AT_ONCE_BYTES + CHECKSUM_BYTES) hashedPieces.set(frame, values);
}

/** The hash of a whole frame. A large frame that was just built or verified was hashed for its checksum, so only its end is hashed again. */
export function frameHash(frame: Uint8Array): Uint8Array {
  const values = hashedPieces.get(frame);
  return values === undefined ? hash(frame) : hashOnward(frame, frame.length - CHECKSUM_BYTES, values);
}

/** The checksum of everything in the frame before the checksum itself. `values`: see `LongHash.steps`. */
async function frameChecksum(frame: Uint8Array, pacer: Pacer, values?: Uint8Array): Promise<Uint8Array> {
  const message = frame.subarray(0, frame.length - CHECKSUM_BYTES);
  const hashed = isLong(message) ? await hashInSlices(message, pacer, values) : hash(message);
  return hashed.subarray(0, CHECKSUM_BYTES);
}

/** Whether the hash of the bytes takes too long for one turn. */
export const isLong = ({ length }: Uint8Array): boolean => length > CHECKSUM_AT_ONCE_BYTES;

/** `values`: see `LongHash.steps`. */
export async function hashInSlices(message: Uint8Array, pacer: Pacer, values?: Uint8Array): Promise<Uint8Array> {
  const steps = hashSteps(message, values);
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) return step.value;
    if (pacer.spend(step.value)) await pacer.rest();
  }
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
