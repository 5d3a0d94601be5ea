/**
 * Bounds a queue by its waiting time. An item that would have to wait longer than `maxQueueWaitMs` is refused when it comes;
 * the wait is estimated from that of earlier items. In a queue that has not been empty for that time a fifth of the wait is
 * allowed, which keeps the throughput and restores the latency.
 *
 * After K. Nichols, V. Jacobson: Controlling Queue Delay (ACM Queue, 2012), and B. Maurer: Fail at Scale (ACM Queue, 2015).
 */

const STANDING_SHARE = 1 / 5;
/** The number of last items that count whole; those before them count half, and so on. */
const REMEMBERED = 32;

export class WaitBound {
  /** The sums of the waits, and of the units ahead, of items that left the queue. */
  #waitedMs = 0;
  #units = 0;
  #count = 0;

  constructor(readonly maxQueueWaitMs: number) {}

  /** Whether an item with `ahead` units before it may wait, in a queue that has not been empty for `standingMs`. */
  admits(ahead: number, standingMs: number): boolean {
    const allowedMs = standingMs > this.maxQueueWaitMs ? this.maxQueueWaitMs * STANDING_SHARE : this.maxQueueWaitMs;
    return this.#units === 0 || ahead * this.#waitedMs <= allowedMs * this.#units;
  }

  /** Learns from an item that leaves the queue. Returns false where it has waited too long, and is refused. */
  through(ahead: number, waitedMs: number): boolean {
    const isInTime = waitedMs <= this.maxQueueWaitMs;
    // Items ahead of a late one were not all served, so they left faster than service is.
    const isSlower = this.#units === 0 || waitedMs * this.#units > this.#waitedMs * ahead;
    if (ahead > 0 && (isInTime || isSlower)) this.#learn(ahead, waitedMs);
    return isInTime;
  }

  /** Sums the units and waits: in a pause of the process an item behind one waits as long as one behind a hundred. */
  #learn(ahead: number, waitedMs: number): void {
    this.#waitedMs += waitedMs;
    this.#units += ahead;
    if (++this.#count < REMEMBERED) return;
    this.#count /= 2;
    this.#waitedMs /= 2;
    this.#units /= 2;
  }
}
