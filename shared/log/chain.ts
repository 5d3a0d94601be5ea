/**
 * The chain over a log: each event's hash, folded into the head before it, gives the head after it. Two logs with the
 * same head are the same log.
 */
import { DOMAIN, EMPTY_HASH, hash, hashInto } from '../hash.js';
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

const HEAD_AT = 1;
const EVENT_HASH_AT = HEAD_AT + HASH_BYTES;
const LINK_BYTES = EVENT_HASH_AT + HASH_BYTES;

/** H(0x03 ‖ head before ‖ event hash). */
export function nextChainHead(headBefore: Uint8Array, hashOfEvent: Uint8Array): Uint8Array {
  const link = new Uint8Array(LINK_BYTES);
  link[0] = DOMAIN.chain;
  link.set(headBefore, HEAD_AT);
  link.set(hashOfEvent, EVENT_HASH_AT);
  return hash(link);
}

/** Goes along a chain and makes no object for an event: a frame may hold thousands. */
export class ChainLink {
  /** After the last event, as `nextChainHead` has it. A view: the next event changes it. */
  readonly head: Uint8Array;
  /**
   * H(0x00 ‖ event) of the last event; of the genesis it is the collection's config hash. A view, as `head`.
   */
  readonly eventHash: Uint8Array;
  /** 0x03, head and event hash stand side by side, as they are hashed. */
  readonly #message = new Uint8Array(LINK_BYTES);

  constructor(headBefore: Uint8Array) {
    this.head = this.#message.subarray(HEAD_AT, EVENT_HASH_AT);
    this.eventHash = this.#message.subarray(EVENT_HASH_AT);
    this.#message[0] = DOMAIN.chain;
    this.head.set(headBefore);
  }

  /**
   * The next event is that at `at` to `end` of a frame. Takes no copy of it: the byte before an event is the high byte of
   * its length, and zero, since events are shorter than 2^24 bytes; and zero is the domain byte of a log leaf.
   */
  follow(frame: Uint8Array, at: number, end: number): void {
    hashInto(frame.subarray(at - 1, end), this.#message, EVENT_HASH_AT);
    hashInto(this.#message, this.#message, HEAD_AT);
  }
}
