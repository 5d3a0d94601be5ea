/** A frame to events: accepted whole or not at all. */
import { Malformed } from '../malformed.js';
import type { LogEnd } from './chain.js';
import { ChainWalk } from './chainWalk.js';
import type { Event } from './event.js';
import { EVENT_END_BYTES } from './eventLayout.js';
import { readEvent, type Source, sourceOf } from './eventReader.js';
import {
  CHECKSUM_BYTES,
  EVENT_PREFIX_BYTES,
  FRAME,
  FRAME_TAIL_BYTES,
  type Frame,
  type FrameHeader,
  readFrameHeader,
} from './frame.js';
import { frameChecksum } from './frameChecksum.js';
import { EVENT_COST_BYTES, Pacer, type Pause } from './pacer.js';

/**
 * Checks that `frame` is intact and continues a log ending at `before`: checksum, sequences, log bytes, times and the
 * chain. What it cannot check is whether the events make sense to the state; the count of live records is for the
 * caller to compare once they are applied. The events are views of `frame`. `pause` is called as in `buildFrame`.
 * Throws Malformed with the reason and where in the frame it lies.
 */
export async function verifyFrame(frame: Uint8Array, before: LogEnd, pause: Pause): Promise<Frame> {
  const pacer = new Pacer(pause);
  const header = readFrameHeader(frame);
  const source = sourceOf(frame);
  await assertChecksum(source.bytes, pacer);
  assertContinues(header, before);
  const eventsEnd = frame.length - FRAME_TAIL_BYTES;
  // Before anything is allocated by this count.
  if (header.events * EVENT_PREFIX_BYTES > eventsEnd - FRAME.events)
    throw new Malformed(`${header.events} events do not fit the frame`, FRAME.count);
  const events: Event[] = [];
  const walk = new ChainWalk(before, header.events);
  let at: number = FRAME.events;
  while (events.length < header.events) {
    const from = at + EVENT_PREFIX_BYTES;
    at = eventEnd(source, at, eventsEnd);
    const event = readEvent(source, from, at);
    walk.step(event, source.bytes, from, at);
    events.push(event);
    if (pacer.spend(at - from + EVENT_COST_BYTES)) await pacer.rest();
  }
  if (at !== eventsEnd) throw new Malformed('bytes after the last event', at);
  if (!isSame(walk.chainHead, header.chainHeadAfter))
    throw new Malformed('the events do not lead to the chain head that the frame ends with', eventsEnd);
  const { eventHashes, chainHeads } = walk;
  return { bytes: source.bytes, header, events, eventHashes, chainHeads, end: walk.end(frame.length) };
}

async function assertChecksum(frame: Uint8Array, pacer: Pacer): Promise<void> {
  const at = frame.length - CHECKSUM_BYTES;
  if (!isSame(await frameChecksum(frame, pacer), frame.subarray(at)))
    throw new Malformed('the checksum does not match: the frame is damaged', at);
}

function assertContinues(header: FrameHeader, before: LogEnd): void {
  if (header.events === 0) throw new Malformed('a frame without events', FRAME.count);
  if (header.firstSequence !== before.nextSequence)
    throw new Malformed(
      `the frame begins with event ${header.firstSequence} where ${before.nextSequence} comes next`,
      FRAME.firstSequence,
    );
  if (header.logBytesBefore !== before.logBytes)
    throw new Malformed(
      `the frame has ${header.logBytesBefore} bytes of log before it where there are ${before.logBytes}`,
      FRAME.logBytesBefore,
    );
  if (!isSame(header.chainHeadBefore, before.chainHead))
    throw new Malformed('the frame continues another chain', FRAME.chainHead);
}

/** Where the event whose length stands at `at` ends. */
function eventEnd({ view }: Source, at: number, eventsEnd: number): number {
  if (eventsEnd - at < EVENT_PREFIX_BYTES) throw new Malformed('fewer events than the frame counts', at);
  const sizeBytes = view.getUint32(at, true);
  if (sizeBytes >= EVENT_END_BYTES || sizeBytes > eventsEnd - at - EVENT_PREFIX_BYTES)
    throw new Malformed(`an event of ${sizeBytes} bytes reaches beyond the frame`, at);
  return at + EVENT_PREFIX_BYTES + sizeBytes;
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;
