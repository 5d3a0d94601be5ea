/**
 * A queue bounded by the time that is waited in it, not by what it holds. What would have to wait longer than `queueMs`
 * is refused when it comes, so that nobody waits in vain; the wait is foreseen from what those have waited who came
 * through. A queue that has not been empty for as long is no burst any more: from then on a fifth of the wait is allowed,
 * which keeps the throughput (there is always something to do) and gives back the latency.
 *
 * After K. Nichols, V. Jacobson: Controlling Queue Delay (ACM Queue, 2012), and B. Maurer: Fail at Scale (ACM Queue, 2015).
 */

const STANDING_SHARE = 1 / 5;
/** The last so many who came through count whole, those before them half, and so on. */
const REMEMBERED = 32;

export class WaitBound {
  /** Of those who came through: what they have waited, and what they found before them. */
  #waitedMs = 0;
  #units = 0;
  #count = 0;

  constructor(readonly queueMs: number) {}

  /** Of what finds `ahead` units before it in a queue that has not been empty for `standingMs`: whether it may wait. */
  admits(ahead: number, standingMs: number): boolean {
    const allowedMs = standingMs > this.queueMs ? this.queueMs * STANDING_SHARE : this.queueMs;
    return this.#units === 0 || ahead * this.#waitedMs <= allowedMs * this.#units;
  }

  /** It has come through, having found `ahead` units before it. False: it has waited so long that it is refused now. */
  through(ahead: number, waitedMs: number): boolean {
    const isInTime = waitedMs <= this.queueMs;
    // Those before one that is late have not all been served: they were quicker out of its way than service is.
    const isSlower = this.#units === 0 || waitedMs * this.#units > this.#waitedMs * ahead;
    if (ahead > 0 && (isInTime || isSlower)) this.#learn(ahead, waitedMs);
    return isInTime;
  }

  /** Sums, since a pause of everything makes one who has waited behind one wait as long as one behind a hundred. */
  #learn(ahead: number, waitedMs: number): void {
    this.#waitedMs += waitedMs;
    this.#units += ahead;
    if (++this.#count < REMEMBERED) return;
    this.#count /= 2;
    this.#waitedMs /= 2;
    this.#units /= 2;
  }
}
