/**
 * Bounds the requests that a turn of the event loop accepts. Requests that arrive faster than they are parsed wait unseen in
 * the sockets: a request that is read late in a long turn has waited about as long as the turn, and is refused unread.
 */

/** A turn may be long because of a single large answer. */
const REQUESTS_MIN = 64;
/** The share of the longest wait; parsing, shards and answers take the rest. */
const TURN_SHARE = 1 / 5;

export class TurnBudget {
  readonly #turnMs: number;
  #startedMs = 0;
  /** The requests of this turn. */
  #taken = 0;

  constructor(maxQueueWaitMs: number) {
    this.#turnMs = maxQueueWaitMs * TURN_SHARE;
  }

  /** Called with every request. False: this turn has accepted enough. */
  admits(nowMs: number): boolean {
    if (this.#taken++ === 0) {
      this.#startedMs = nowMs;
      setImmediate(() => {
        this.#taken = 0;
      });
    }
    return this.#taken <= REQUESTS_MIN || nowMs - this.#startedMs < this.#turnMs;
  }
}
