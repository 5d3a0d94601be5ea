/**
 * Bounds a queue by its waiting time. An item whose expected wait exceeds `maxQueueWaitMs` is refused on arrival. The expected wait
 * is the work ahead of it, times the wait per unit of work of recent items. A queue that has not been empty for `maxQueueWaitMs`
 * allows only a fifth of it. This keeps the throughput and restores the latency.
 *
 * After K. Nichols, V. Jacobson: Controlling Queue Delay (ACM Queue, 2012), and B. Maurer: Fail at Scale (ACM Queue, 2015).
 */

/** Share of the wait that is allowed in a queue without an empty moment. */
const BUSY_SHARE = 1 / 5;
/** The sums and the count are halved when they have this many items, so older items count less and less. */
const REMEMBERED = 32;

export class WaitBound {
  /** The sums of the waits, and of the units ahead, of items that left the queue. */
  #waitedMs = 0;
  #units = 0;
  #count = 0;

  constructor(readonly maxQueueWaitMs: number) {}

  /** Whether an item with `ahead` units before it may wait, in a queue that has not been empty for `busyMs`. */
  admits(ahead: number, busyMs: number): boolean {
    const allowedMs = busyMs > this.maxQueueWaitMs ? this.maxQueueWaitMs * BUSY_SHARE : this.maxQueueWaitMs;
    return this.#units === 0 || ahead * this.#waitedMs <= allowedMs * this.#units;
  }

  /** Learns from an item that leaves the queue. Returns false if it has waited too long and is refused. */
  through(ahead: number, waitedMs: number): boolean {
    const isInTime = waitedMs <= this.maxQueueWaitMs;
    // Refused items leave the queue without work. So the wait of a late item underestimates the time per unit.
    const isSlower = this.#units === 0 || waitedMs * this.#units > this.#waitedMs * ahead;
    if (ahead > 0 && (isInTime || isSlower)) this.#learn(ahead, waitedMs);
    return isInTime;
  }

  /**
   * Adds to the sums of units and waits. After a pause of the process all waiting items have waited equally long, with little and
   * with much work ahead. The quotient of the sums is less affected by that than an average of quotients.
   */
  #learn(ahead: number, waitedMs: number): void {
    this.#waitedMs += waitedMs;
    this.#units += ahead;
    if (++this.#count < REMEMBERED) return;
    this.#count /= 2;
    this.#waitedMs /= 2;
    this.#units /= 2;
  }
}
