/** Events to a frame. */
import { writeU64 } from '../u64.js';
import type { LogEnd } from './chain.js';
import { ChainWalk } from './chainWalk.js';
import type { Event } from './event.js';
import { eventSizeBytes } from './eventLayout.js';
import { newTarget, type Target, writeEvent } from './eventWriter.js';
import {
  CHECKSUM_BYTES,
  EVENT_PREFIX_BYTES,
  FRAME,
  FRAME_MAGIC,
  FRAME_OVERHEAD_BYTES,
  FRAME_TAIL_BYTES,
  type Frame,
  readFrameHeader,
} from './frame.js';
import { frameChecksum } from './frameChecksum.js';
import { EVENT_COST_BYTES, Pacer, type Pause } from './pacer.js';

export function frameSizeBytes(events: readonly Event[]): number {
  let sizeBytes = FRAME_OVERHEAD_BYTES;
  for (const event of events) sizeBytes += EVENT_PREFIX_BYTES + eventSizeBytes(event);
  return sizeBytes;
}

/**
 * The frame that continues a log ending at `before`. The events carry their sequences and times already; `liveRecords`
 * is the count after the last of them. `pause` is called about once in a millisecond of work, and never for a small frame.
 * Throws Malformed where the events do not continue the log, RangeError where one cannot be written: both are defects of
 * the caller.
 */
export async function buildFrame(
  events: readonly Event[],
  before: LogEnd,
  liveRecords: number,
  pause: Pause,
): Promise<Frame> {
  if (events.length === 0) throw new RangeError('a frame holds at least one event');
  const pacer = new Pacer(pause);
  const target = newTarget(frameSizeBytes(events));
  writeHeader(target, events.length, before, liveRecords);
  const walk = new ChainWalk(before, events.length);
  let at: number = FRAME.events;
  for (const event of events) {
    const from = at + EVENT_PREFIX_BYTES;
    const end = writeEvent(event, target, from);
    target.view.setUint32(at, end - from, true);
    walk.step(event, target.bytes, from, end);
    at = end;
    if (pacer.spend(end - from + EVENT_COST_BYTES)) await pacer.rest();
  }
  const { bytes } = target;
  bytes.set(walk.chainHead, bytes.length - FRAME_TAIL_BYTES);
  bytes.set(await frameChecksum(bytes, pacer), bytes.length - CHECKSUM_BYTES);
  const { eventHashes, chainHeads } = walk;
  return { bytes, header: readFrameHeader(bytes), events, eventHashes, chainHeads, end: walk.end(bytes.length) };
}

function writeHeader({ bytes, view }: Target, count: number, before: LogEnd, liveRecords: number): void {
  view.setUint32(0, FRAME_MAGIC, true);
  view.setUint32(FRAME.count, count, true);
  writeU64(view, FRAME.firstSequence, before.nextSequence);
  writeU64(view, FRAME.logBytesBefore, before.logBytes);
  writeU64(view, FRAME.liveRecords, liveRecords);
  bytes.set(before.chainHead, FRAME.chainHead);
}
