/**
 * Deadlines travel as instants of the sender's clock, and machines' clocks differ. What a message took on its way shows
 * in none of them alone: the least that any message of a sender seemed to take is the difference of the clocks and the
 * shortest way, and what another took beyond that, it has waited somewhere. So a message that waited long is still known
 * to be late, and one from a clock that is half a minute behind is not.
 *
 * The least is of the last half to whole minute: a clock that is set back is believed again after that at the latest,
 * one that is set forward at once.
 */
import type { Clock } from '../clock.js';

const WINDOW_MS = 30_000;
/** More senders than any cluster has; those longest known are forgotten first, and learnt anew by their next message. */
const SENDERS_MAX = 4_096;

interface Seen {
  windowSinceMs: number;
  leastMs: number;
  leastBeforeMs: number;
}

export class SenderClocks {
  private readonly seen = new Map<string, Seen>();

  constructor(private readonly clock: Clock) {}

  /** What to add to an instant of the sender's clock; `sentMs` is when it sent the message that arrives now. */
  shiftMs(sender: string, sentMs: number): number {
    const tookMs = this.clock.nowMs() - sentMs;
    const nowMs = this.clock.monotonicMs();
    const seen = this.seen.get(sender);
    if (seen === undefined) {
      this.remember(sender, { windowSinceMs: nowMs, leastMs: tookMs, leastBeforeMs: tookMs });
      return tookMs;
    }
    if (nowMs - seen.windowSinceMs >= WINDOW_MS) {
      seen.windowSinceMs = nowMs;
      seen.leastBeforeMs = seen.leastMs;
      seen.leastMs = tookMs;
    } else if (tookMs < seen.leastMs) seen.leastMs = tookMs;
    return Math.min(seen.leastMs, seen.leastBeforeMs);
  }

  private remember(sender: string, seen: Seen): void {
    if (this.seen.size >= SENDERS_MAX) this.seen.delete(this.seen.keys().next().value!);
    this.seen.set(sender, seen);
  }
}
