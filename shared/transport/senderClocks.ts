/**
 * Corrects deadlines, which are times of the sender's clock. The shortest apparent travel time of a sender's messages is the
 * difference of the clocks plus the shortest travel time. A message that takes longer has waited. So a message that waited long
 * counts as late, but a message of a sender whose clock is half a minute behind does not.
 *
 * The minimum covers the last 30 to 60 seconds: after that a clock that was set back is trusted again.
 */
import type { Clock } from '../clock.js';

const WINDOW_MS = 30_000;
/** Largest number of senders in memory, more than any cluster has; the oldest is forgotten first. */
const SENDERS_MAX = 4_096;

interface Seen {
  windowSinceMs: number;
  leastMs: number;
  leastBeforeMs: number;
}

export class SenderClocks {
  readonly #seen = new Map<string, Seen>();

  constructor(private readonly clock: Clock) {}

  /** The time to add to times of the sender's clock. `sentMs`: when it sent the message that arrives now. */
  shiftMs(sender: string, sentMs: number): number {
    const tookMs = this.clock.nowMs() - sentMs;
    const nowMs = this.clock.monotonicMs();
    const seen = this.#seen.get(sender);
    if (seen === undefined) {
      this.#remember(sender, { windowSinceMs: nowMs, leastMs: tookMs, leastBeforeMs: tookMs });
      return tookMs;
    }
    if (nowMs - seen.windowSinceMs >= WINDOW_MS) {
      seen.windowSinceMs = nowMs;
      seen.leastBeforeMs = seen.leastMs;
      seen.leastMs = tookMs;
    } else if (tookMs < seen.leastMs) seen.leastMs = tookMs;
    return Math.min(seen.leastMs, seen.leastBeforeMs);
  }

  #remember(sender: string, seen: Seen): void {
    if (this.#seen.size >= SENDERS_MAX) this.#seen.delete(this.#seen.keys().next().value!);
    this.#seen.set(sender, seen);
  }
}
