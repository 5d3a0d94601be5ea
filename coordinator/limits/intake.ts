/**
 * How much a coordinator takes in before it goes on with what it has. Requests that come faster than they can be parsed
 * wait in the sockets, where nobody sees for how long: whoever is read late in a long turn of the event loop has waited
 * about as long as the turn lasts, and is refused before anything of it is looked at.
 */

/** A turn may be long because of one large answer. */
const REQUESTS_MIN = 64;
/** Of the time that something may wait: parsing, the way to the shards and the answers take their parts as well. */
const TURN_SHARE = 1 / 5;

export class Intake {
  readonly #turnMs: number;
  #startedMs = 0;
  /** In this turn. */
  #taken = 0;

  constructor(queueMs: number) {
    this.#turnMs = queueMs * TURN_SHARE;
  }

  /** Called with every request. False: this turn has taken in enough. */
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
