/**
 * Decides how long a small commit waits for more writes.
 *
 * Callers that are answered together send their next writes soon afterwards. Those would miss a commit that began at once for the
 * writes of other callers. Two groups would take turns, with two appends where one would do.
 *
 * The wait ends when as many writes are there as the last commit has answered or left waiting. No write waits longer than that
 * commit took: in two groups it would wait as long for its turn. After a wait in vain, some commits begin at once.
 */
import type { Clock } from '../../shared/clock.js';

/** Commits above this size cost more than their append, so the next writes should arrive meanwhile. */
const BYTES_MAX = 32 * 1024;
/** Longest wait of a write. A commit that took longer was slow for a reason that its callers do not share. */
const WAIT_MS_MAX = 20;
/** Power of two of the most commits that begin at once after a wait in vain. */
const RESTING_POWER_MAX = 6;

export class Gathering {
  /** Writes that the next commit waits for; 0: it does not wait. */
  #expected = 0;
  /** End of the last commit, on the monotonic clock, and the longest wait of a write for the next one. */
  #endedMs = 0;
  #waitMs = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Power of two of the commits that begin at once after the next wait in vain. */
  #misses = 0;
  /** Number of commits that begin at once from now on. */
  #resting = 0;

  /** `onOver` is called at the end of a wait in vain. */
  constructor(
    private readonly clock: Clock,
    private readonly onOver: () => void,
  ) {}

  /** Plans the wait of the next commit. `writes` and `bytes` are of the commit that has ended and of the waiting writes. */
  committed(writes: number, bytes: number, tookMs: number): void {
    this.#stop();
    if (writes < 2 || bytes > BYTES_MAX) return;
    if (this.#resting > 0) this.#resting--;
    else {
      this.#expected = writes;
      this.#endedMs = this.clock.monotonicMs();
      this.#waitMs = Math.min(tookMs, WAIT_MS_MAX);
    }
  }

  /** Whether the next commit waits for more writes than these, the oldest of which came at `sinceMs`. */
  waits(writes: number, sinceMs: number): boolean {
    if (this.#expected === 0) return false;
    const idleMs = sinceMs - this.#endedMs;
    const leftMs = Math.max(sinceMs, this.#endedMs) + this.#waitMs - this.clock.monotonicMs();
    if (writes < this.#expected && leftMs > 0 && idleMs < 2 * this.#waitMs) {
      this.#timer ??= setTimeout(() => this.#end(), leftMs);
      return true;
    }
    if (leftMs > 0 && writes >= this.#expected) this.#misses = Math.max(0, this.#misses - 1);
    else if (this.#timer !== undefined) this.#missed();
    this.#stop();
    return false;
  }

  #end(): void {
    this.#missed();
    this.#stop();
    this.onOver();
  }

  #missed(): void {
    this.#resting = 2 ** this.#misses;
    this.#misses = Math.min(this.#misses + 1, RESTING_POWER_MAX);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#expected = 0;
  }
}
