/**
 * The chain over a log: each head hashes the previous head, the event's hash, and the event's actor. Logs with equal heads are
 * equal.
 */
import { Malformed } from '../errors/malformed.js';
import { DOMAIN, EMPTY_HASH, hash, hashInto, hashTogetherInto } from '../hashing/hash.js';
import { TOGETHER, TOGETHER_BYTES_MAX } from '../hashing/longHash.js';
import { HASH_BYTES } from '../limits.js';
import type { Actor } from '../model/actor.js';
import { ACTOR_BYTES_MAX, encodeActor } from './actorCodec.js';
import type { Event } from './event.js';

/** The end of a log, which the next frame must continue. */
export interface LogEnd {
  readonly chainHead: Uint8Array;
  readonly nextSequence: number;
  readonly logBytes: number;
  /** The time of the last event; the next event's time is equal or later. */
  readonly lastTimeMs: number;
}

export const EMPTY_LOG: LogEnd = { chainHead: EMPTY_HASH, nextSequence: 0, logBytes: 0, lastTimeMs: 0 };

const HEAD_AT = 1;
const EVENT_HASH_AT = HEAD_AT + HASH_BYTES;
const LINK_BYTES = EVENT_HASH_AT + HASH_BYTES;

/** H(0x04 ‖ head before ‖ event hash ‖ actor), or without an actor H(0x03 ‖ head before ‖ event hash). */
export function nextChainHead(headBefore: Uint8Array, hashOfEvent: Uint8Array, actor: Actor | null): Uint8Array {
  const actorBytes = actor === null ? NO_ACTOR : encodeActor(actor);
  const link = new Uint8Array(LINK_BYTES + actorBytes.length);
  link[0] = domainOf(actor);
  link.set(headBefore, HEAD_AT);
  link.set(hashOfEvent, EVENT_HASH_AT);
  link.set(actorBytes, LINK_BYTES);
  return hash(link);
}

const NO_ACTOR = new Uint8Array(0);

const domainOf = (actor: Actor | Uint8Array | null): number => (actor === null ? DOMAIN.chain : DOMAIN.actorChain);

/**
 * A walk along the chain over the events of one frame, for writing and for reading. It makes no object for each event: a
 * frame may have thousands. Events of one size that follow each other are hashed four at a time: `finish` hashes the rest.
 */
export class ChainWalk {
  /** 32 bytes an event, like `chainHeads`. */
  readonly eventHashes: Uint8Array;
  readonly chainHeads: Uint8Array;
  /** The chain head after the last hashed event: a view, which the next steps change. */
  readonly chainHead: Uint8Array;
  /** Room for the hashed message: domain, head, event hash, actor. */
  readonly #room = new Uint8Array(LINK_BYTES + ACTOR_BYTES_MAX);
  /** The hashed message, which ends with the actor of the last linked event. */
  #message = this.#room.subarray(0, LINK_BYTES);
  /** The actor in the message, as its bytes. */
  #linked: Uint8Array | null = null;
  /** The actor of the next events, as its bytes. */
  #actor: Uint8Array | null = null;
  #nextSequence: number;
  #lastTimeMs: number;
  /** Number of hashed events. */
  #events = 0;
  /** Offsets in the frame of the messages that wait to be hashed. */
  readonly #starts = new Uint32Array(TOGETHER);
  /** The actors of these events. */
  readonly #actors: (Uint8Array | null)[] = [];
  #waiting = 0;
  /** Size of each of these messages. */
  #sizeBytes = 0;

  /** The chain over the events of `frame`, which continues a log that ends at `before`. */
  constructor(
    private readonly before: LogEnd,
    private readonly frame: Uint8Array,
    events: number,
  ) {
    this.eventHashes = new Uint8Array(events * HASH_BYTES);
    this.chainHeads = new Uint8Array(events * HASH_BYTES);
    this.#room[0] = domainOf(null);
    this.chainHead = this.#room.subarray(HEAD_AT, EVENT_HASH_AT);
    this.chainHead.set(before.chainHead);
    this.#nextSequence = before.nextSequence;
    this.#lastTimeMs = before.lastTimeMs;
  }

  /** Sets the actor of the next events, as its bytes, which must not change; null: they are of version 1. */
  setActor(actorBytes: Uint8Array | null): void {
    this.#actor = actorBytes;
  }

  /**
   * Takes the event whose bytes are `from` to `end` of the frame. Throws Malformed if it cannot come next. The event is hashed
   * without a copy: the byte before it is the high byte of its length. That is zero, since events are shorter than 2^24 bytes,
   * and zero is the domain byte of a log leaf.
   */
  step(event: Event, from: number, end: number): void {
    if (event.sequence !== this.#nextSequence)
      throw new Malformed(`event ${event.sequence} is in the place of event ${this.#nextSequence}`, from);
    if (event.timeMs < this.#lastTimeMs)
      throw new Malformed(`event ${event.sequence} is older than the one before it`, from);
    const sizeBytes = end - from + 1;
    if (sizeBytes !== this.#sizeBytes) this.finish();
    this.#sizeBytes = sizeBytes;
    this.#actors[this.#waiting] = this.#actor;
    this.#starts[this.#waiting++] = from - 1;
    if (this.#waiting === TOGETHER || sizeBytes > TOGETHER_BYTES_MAX) this.finish();
    this.#nextSequence++;
    this.#lastTimeMs = event.timeMs;
  }

  /** Hashes the events that wait for others of their size. */
  finish(): void {
    const { frame, eventHashes: target } = this;
    const first = this.#events;
    if (this.#waiting === TOGETHER)
      hashTogetherInto(frame, this.#starts, this.#sizeBytes, { target, at: first * HASH_BYTES });
    else
      for (let i = 0; i < this.#waiting; i++) {
        const start = this.#starts[i]!;
        hashInto(frame.subarray(start, start + this.#sizeBytes), target, (first + i) * HASH_BYTES);
      }
    for (let i = 0; i < this.#waiting; i++) this.#link((first + i) * HASH_BYTES, this.#actors[i] ?? null);
    this.#events += this.#waiting;
    this.#waiting = 0;
  }

  /** Links the event whose hash is at `at`. */
  #link(at: number, actor: Uint8Array | null): void {
    if (actor !== this.#linked) this.#writeActor(actor);
    this.#room.set(this.eventHashes.subarray(at, at + HASH_BYTES), EVENT_HASH_AT);
    hashInto(this.#message, this.#room, HEAD_AT);
    this.chainHeads.set(this.chainHead, at);
  }

  #writeActor(actor: Uint8Array | null): void {
    const bytes = actor ?? NO_ACTOR;
    this.#room[0] = domainOf(actor);
    this.#room.set(bytes, LINK_BYTES);
    this.#message = this.#room.subarray(0, LINK_BYTES + bytes.length);
    this.#linked = actor;
  }

  /** The end of the log with the frame of `frameBytes`. */
  end(frameBytes: number): LogEnd {
    return {
      chainHead: this.chainHead.slice(),
      nextSequence: this.#nextSequence,
      logBytes: this.before.logBytes + frameBytes,
      lastTimeMs: this.#lastTimeMs,
    };
  }
}
