/** The layout of frames: a frame is a commit of one or more events. */

import { readActor } from './actor.js';
import { equal, readU32, readU64, toUtf8 } from './bytes.js';
import { type LogEvent, readEvent } from './events.js';
import { H } from './hashing.js';
import { Reading, Refused } from './reading.js';

const EVENTS_AT = 64;
/** The size of the length before each event. */
const LENGTH_BYTES = 4;
const HASH_BYTES = 32;
const CHECKSUM_BYTES = 16;
const TAIL_BYTES = HASH_BYTES + CHECKSUM_BYTES;

export interface FrameHeader {
  readonly count: number;
  readonly firstSequence: bigint;
  readonly logBytesBefore: bigint;
  /** The count after its last event. */
  readonly liveRecords: bigint;
  readonly headBefore: Uint8Array;
}

/** An event in a frame. `offset`: of its first byte. */
export interface FramedEvent {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** The bytes of its actor; null for an event of version 1. */
  readonly actor: Uint8Array | null;
  /** The offset after event and actor. */
  readonly end: number;
}

/** Whether the checksum matches the bytes before it. */
export const isIntact = (frame: Uint8Array): boolean =>
  frame.length >= EVENTS_AT + TAIL_BYTES &&
  equal(H(frame.subarray(0, -CHECKSUM_BYTES)).subarray(0, CHECKSUM_BYTES), frame.subarray(-CHECKSUM_BYTES));

/** "VBR1" ‖ 0^4 ‖ u64 the last frame ‖ u64 the last message ‖ checksum. */
const BARRIER = { magic: toUtf8('VBR1\0\0\0\0'), frame: 8, message: 16, checksum: 24, end: 40 } as const;
const POSITION_END = 2n ** 53n;

/**
 * The position in an intact barrier, a message without a frame that every reader skips. It is the position of the last frame that
 * its writer knew, or 0. Undefined for another message.
 */
export function frameBefore(message: Uint8Array): bigint | undefined {
  if (message.length !== BARRIER.end || !equal(message.subarray(0, BARRIER.frame), BARRIER.magic)) return undefined;
  const checksum = H(message.subarray(0, BARRIER.checksum)).subarray(0, CHECKSUM_BYTES);
  if (!equal(checksum, message.subarray(BARRIER.checksum))) return undefined;
  const frame = readU64(message, BARRIER.frame);
  return frame < POSITION_END && readU64(message, BARRIER.message) < POSITION_END ? frame : undefined;
}

/** Decodes the header. Throws Refused. */
export function readHeader(frame: Uint8Array): FrameHeader {
  const reading = new Reading(frame, 'the frame');
  reading.magic('VFR1');
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

export const headAfter = (frame: Uint8Array): Uint8Array => frame.subarray(-TAIL_BYTES, -CHECKSUM_BYTES);

/** The events between header and tail, even if the header counts another number. Throws Refused for one that does not fit. */
export function* framedEvents(frame: Uint8Array): Generator<FramedEvent> {
  const end = frame.length - TAIL_BYTES;
  let at = EVENTS_AT;
  let actor: Uint8Array | null = null;
  while (at < end) {
    const offset = at + LENGTH_BYTES;
    if (offset > end) throw new Refused('the frame ends within the length of an event', at);
    const eventEnd = offset + readU32(frame, at);
    if (eventEnd > end) throw new Refused('an event reaches beyond its frame', offset);
    at = eventEnd;
    const bytes = frame.subarray(offset, eventEnd);
    if (bytes[0] !== VERSION_WITH_ACTOR) actor = null;
    else {
      at = actorEnd(frame, eventEnd, end);
      actor = actorAt(frame.subarray(eventEnd + ACTOR_LENGTH_BYTES, at), actor, eventEnd);
    }
    yield { offset, bytes, actor, end: at };
  }
}

const VERSION_WITH_ACTOR = 2;
const ACTOR_LENGTH_BYTES = 2;

/** The end of the actor whose length is at `at`. */
function actorEnd(frame: Uint8Array, at: number, end: number): number {
  if (at + ACTOR_LENGTH_BYTES > end) throw new Refused('the frame ends within the length of an actor', at);
  const actorEnds = at + ACTOR_LENGTH_BYTES + frame[at]! + (frame[at + 1]! << 8);
  if (actorEnds > end) throw new Refused('an actor reaches beyond its frame', at);
  return actorEnds;
}

/** The actor of an event; without bytes that of the event before. */
function actorAt(bytes: Uint8Array, before: Uint8Array | null, at: number): Uint8Array {
  if (bytes.length === 0 && before === null) throw new Refused('no event before this one states its actor', at);
  if (before !== null && equal(bytes, before)) throw new Refused('an actor repeats the one before it', at);
  return bytes.length === 0 ? before! : bytes;
}

/** The time that an event states, unchecked; undefined if it is too short. */
export const timeIn = (event: Uint8Array): bigint | undefined => (event.length < 24 ? undefined : readU64(event, 16));

/** The time that the first event of a frame states, unchecked. */
export const firstTimeIn = (frame: Uint8Array): bigint | undefined => timeIn(frame.subarray(EVENTS_AT + LENGTH_BYTES));

/** The event of a damaged frame that shows the damage, and the damage. */
export interface Flaw {
  readonly sequence: bigint;
  readonly offset: number;
  /** The time that the event states, which may itself be wrong. */
  readonly timeMs: bigint | undefined;
  readonly what: string;
}

/**
 * Finds the first malformed event of a damaged frame. Undefined if all are well-formed, so that the damage is in their values, or in
 * the frame around them.
 */
export function flawIn(frame: Uint8Array, firstSequence: bigint): Flaw | undefined {
  let sequence = firstSequence;
  try {
    for (const { offset, bytes, actor } of framedEvents(frame)) {
      const what = flawOf(bytes, actor, sequence);
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

function flawOf(bytes: Uint8Array, actor: Uint8Array | null, sequence: bigint): string | undefined {
  let event: LogEvent;
  try {
    event = readEvent(bytes, `event ${sequence}`);
    if (actor !== null) readActor(actor);
  } catch (error) {
    return (error as Error).message;
  }
  return event.sequence === sequence ? undefined : `event ${event.sequence} is in the place of event ${sequence}`;
}

/** Largest frame that is searched for a flipped bit; a larger one would take seconds. */
const SEARCHED_BYTES_MAX = 8192;

/** A flipped bit that is the only damage of a frame. */
export interface FlippedBit {
  readonly byte: number;
  /** The repaired event with that bit; undefined if the bit is outside of all events. */
  readonly event: LogEvent | undefined;
}

/**
 * Finds the one flipped bit, such as from a failing disk, that explains a damaged frame. Undefined if no single bit does, or the
 * frame is too large to try all.
 */
export function flippedBitIn(frame: Uint8Array): FlippedBit | undefined {
  if (frame.length > SEARCHED_BYTES_MAX) return undefined;
  const tried = new Uint8Array(frame);
  for (let bit = 0; bit < 8 * tried.length; bit++) {
    const byte = bit >> 3;
    tried[byte]! ^= 1 << (bit & 7);
    if (isIntact(tried)) return { byte, event: eventWith(tried, byte) };
    tried[byte]! ^= 1 << (bit & 7);
  }
  return undefined;
}

function eventWith(frame: Uint8Array, byte: number): LogEvent | undefined {
  const found = [...framedEvents(frame)].find(({ offset, end }) => byte >= offset - LENGTH_BYTES && byte < end);
  return found && readEvent(found.bytes, 'the event');
}
