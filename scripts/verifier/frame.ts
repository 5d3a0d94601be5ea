/** Frames by their layout: a commit of one or more events. */
import { type LogEvent, readEvent } from './events.js';
import { H } from './hashing.js';
import { Reading, Refused } from './reading.js';

const EVENTS_AT = 64;
/** Of the length before each event. */
const LENGTH_BYTES = 4;
const HASH_BYTES = 32;
const CHECKSUM_BYTES = 16;
const TAIL_BYTES = HASH_BYTES + CHECKSUM_BYTES;

export interface FrameHeader {
  readonly count: number;
  readonly firstSequence: bigint;
  readonly logBytesBefore: bigint;
  /** After its last event. */
  readonly liveRecords: bigint;
  readonly headBefore: Buffer;
}

/** `offset`: of the event's first byte in the frame. */
export interface FramedEvent {
  readonly offset: number;
  readonly bytes: Buffer;
}

/** Whether the checksum is that of the bytes before it. */
export const isIntact = (frame: Buffer): boolean =>
  frame.length >= EVENTS_AT + TAIL_BYTES &&
  H(frame.subarray(0, -CHECKSUM_BYTES)).subarray(0, CHECKSUM_BYTES).equals(frame.subarray(-CHECKSUM_BYTES));

/** Throws Refused. */
export function readHeader(frame: Buffer): FrameHeader {
  const reading = new Reading(frame, 'the frame');
  if (reading.take(4).toString('latin1') !== 'VFR1') reading.fail('does not begin with VFR1');
  const header = {
    count: reading.u32(),
    firstSequence: reading.u64(),
    logBytesBefore: reading.u64(),
    liveRecords: reading.u64(),
    headBefore: reading.take(HASH_BYTES),
  };
  if (header.count === 0) reading.fail('has no event');
  if (reading.left < TAIL_BYTES) reading.fail('is cut short');
  return header;
}

export const headAfter = (frame: Buffer): Buffer => frame.subarray(-TAIL_BYTES, -CHECKSUM_BYTES);

/** The events between header and tail, however many the header counts. Throws Refused where one does not fit. */
export function* framedEvents(frame: Buffer): Generator<FramedEvent> {
  const end = frame.length - TAIL_BYTES;
  let at = EVENTS_AT;
  while (at < end) {
    const offset = at + LENGTH_BYTES;
    if (offset > end) throw new Refused('the frame ends within the length of an event', at);
    at = offset + frame.readUInt32LE(at);
    if (at > end) throw new Refused('an event reaches beyond its frame', offset);
    yield { offset, bytes: frame.subarray(offset, at) };
  }
}

/** As an event says, whatever that is worth; undefined where it is too short to say. */
export const timeIn = (event: Buffer): bigint | undefined =>
  event.length < 24 ? undefined : event.readBigUInt64LE(16);

/** As the first event of a frame says. */
export const firstTimeIn = (frame: Buffer): bigint | undefined => timeIn(frame.subarray(EVENTS_AT + LENGTH_BYTES));

/** Where in a damaged frame the damage shows: in which event, and how. */
export interface Flaw {
  readonly sequence: bigint;
  readonly offset: number;
  /** As the event tells it, which may be what is wrong. */
  readonly timeMs: bigint | undefined;
  readonly what: string;
}

/**
 * The first event of a frame that cannot be what was written there, judged by its form alone; undefined where all have
 * the form of an event, so that the damage is in what they hold, or in the frame around them.
 */
export function flawIn(frame: Buffer, firstSequence: bigint): Flaw | undefined {
  let sequence = firstSequence;
  try {
    for (const { offset, bytes } of framedEvents(frame)) {
      const what = flawOf(bytes, sequence);
      if (what !== undefined) {
        return { sequence, offset, timeMs: timeIn(bytes), what };
      }
      sequence++;
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { sequence, offset: error.at, timeMs: timeIn(frame.subarray(error.at)), what: error.message };
  }
}

function flawOf(bytes: Buffer, sequence: bigint): string | undefined {
  let event: LogEvent;
  try {
    event = readEvent(bytes, `event ${sequence}`);
  } catch (error) {
    return (error as Error).message;
  }
  return event.sequence === sequence ? undefined : `event ${event.sequence} stands where ${sequence} comes next`;
}

/** Of larger frames the search takes seconds. */
const SEARCHED_BYTES_MAX = 8192;

/** One flipped bit that is all that is wrong with a frame. */
export interface FlippedBit {
  readonly byte: number;
  /** The event it is in, as it was; undefined where it is in none. */
  readonly event: LogEvent | undefined;
}

/**
 * Where in a damaged frame one flipped bit is all that is wrong, as a failing disk flips one; undefined where there is no
 * such bit, or the frame is too large to try them all.
 */
export function flippedBitIn(frame: Buffer): FlippedBit | undefined {
  if (frame.length > SEARCHED_BYTES_MAX) return undefined;
  const tried = Buffer.from(frame);
  for (let bit = 0; bit < 8 * tried.length; bit++) {
    const byte = bit >> 3;
    tried[byte]! ^= 1 << (bit & 7);
    if (isIntact(tried)) return { byte, event: eventWith(tried, byte) };
    tried[byte]! ^= 1 << (bit & 7);
  }
  return undefined;
}

function eventWith(frame: Buffer, byte: number): LogEvent | undefined {
  const found = [...framedEvents(frame)].find(
    ({ offset, bytes }) => byte >= offset - LENGTH_BYTES && byte < offset + bytes.length,
  );
  return found && readEvent(found.bytes, 'the event');
}
