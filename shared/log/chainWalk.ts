import { HASH_BYTES } from '../limits.js';
import { Malformed } from '../malformed.js';
import { ChainLink, type LogEnd } from './chain.js';
import type { Event } from './event.js';

/** Walks the chain over the events of one frame and keeps what it met: the same walk for writing and for reading. */
export class ChainWalk {
  /** 32 bytes an event. */
  readonly eventHashes: Uint8Array;
  readonly chainHeads: Uint8Array;
  readonly #link: ChainLink;
  #nextSequence: number;
  #lastTimeMs: number;
  #events = 0;

  constructor(
    private readonly before: LogEnd,
    events: number,
  ) {
    this.eventHashes = new Uint8Array(events * HASH_BYTES);
    this.chainHeads = new Uint8Array(events * HASH_BYTES);
    this.#link = new ChainLink(before.chainHead);
    this.#nextSequence = before.nextSequence;
    this.#lastTimeMs = before.lastTimeMs;
  }

  /** A view: the next step changes it. */
  get chainHead(): Uint8Array {
    return this.#link.head;
  }

  /** Takes the event whose bytes stand in `frame` at `from` to `end`. Throws Malformed where it cannot come next. */
  step(event: Event, frame: Uint8Array, from: number, end: number): void {
    if (event.sequence !== this.#nextSequence)
      throw new Malformed(`event ${event.sequence} stands where ${this.#nextSequence} comes next`, from);
    if (event.timeMs < this.#lastTimeMs)
      throw new Malformed(`event ${event.sequence} is older than the one before it`, from);
    const at = this.#events * HASH_BYTES;
    this.#link.follow(frame, from, end);
    this.eventHashes.set(this.#link.eventHash, at);
    this.chainHeads.set(this.#link.head, at);
    this.#events++;
    this.#nextSequence++;
    this.#lastTimeMs = event.timeMs;
  }

  /** Where the log ends once the frame of `frameBytes` is in it. */
  end(frameBytes: number): LogEnd {
    return {
      chainHead: this.#link.head.slice(),
      nextSequence: this.#nextSequence,
      logBytes: this.before.logBytes + frameBytes,
      lastTimeMs: this.#lastTimeMs,
    };
  }
}
