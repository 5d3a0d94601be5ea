/**
 * The chain over a log: each event's hash, folded into the head before it, gives the head after it. Two logs with the
 * same head are the same log.
 */
import { DOMAIN, EMPTY_HASH, hash } from '../hash.js';
import { HASH_BYTES } from '../limits.js';

/** Where a log ends, and so what the next frame must continue. */
export interface LogEnd {
  readonly chainHead: Uint8Array;
  /** The sequence of the event that comes next. */
  readonly nextSequence: number;
  /** The lengths of all frames together. */
  readonly logBytes: number;
  /** The time of the last event; the next is not before it. */
  readonly lastTimeMs: number;
}

export const EMPTY_LOG: LogEnd = { chainHead: EMPTY_HASH, nextSequence: 0, logBytes: 0, lastTimeMs: 0 };

/**
 * H(0x00 ‖ event) of the event at `at` to `end` of a frame; of the genesis it is the collection's config hash. Takes no
 * copy: the byte before an event is the high byte of its length, and zero, since events are shorter than 2^24 bytes; and
 * zero is the domain byte of a log leaf.
 */
export const eventHashInFrame = (frame: Uint8Array, at: number, end: number): Uint8Array =>
  hash(frame.subarray(at - 1, end));

const message = new Uint8Array(1 + 2 * HASH_BYTES);
message[0] = DOMAIN.chain;

/** H(0x03 ‖ head before ‖ event hash). */
export function nextChainHead(headBefore: Uint8Array, hashOfEvent: Uint8Array): Uint8Array {
  message.set(headBefore, 1);
  message.set(hashOfEvent, 1 + HASH_BYTES);
  return hash(message);
}
