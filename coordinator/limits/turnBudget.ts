/**
 * Bounds the requests that a turn of the event loop accepts. Requests that arrive faster than they are parsed wait unseen in
 * the sockets. A request that is read late in a long turn has waited about as long as the turn, and is refused unread.
 */

/** Requests that any turn accepts: a single large answer can make a turn long. */
const REQUESTS_MIN = 64;
/** The turn's share of the longest wait; parsing, shards and answers get the rest. */
const TURN_SHARE = 1 / 5;

export class TurnBudget {
  readonly #turnMs: number;
  #startedMs = 0;
  /** Number of requests in this turn. */
  #taken = 0;

  constructor(maxQueueWaitMs: number) {
    this.#turnMs = maxQueueWaitMs * TURN_SHARE;
  }

  /** Called with every request. False if this turn has accepted enough. */
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
