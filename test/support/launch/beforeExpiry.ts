/** Records that expire soon, but not before a test has made them and seen them. */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../shared/clock.js';

/** Waits before an expiry, for the requests before it. A longer one follows if they take too long. */
const LEADS_MS = [1_000, 5_000, 25_000] as const;

/** Resolves in that second, by the clock: a timer may end a moment early. */
export async function reached(second: number): Promise<void> {
  while (systemClock.nowMs() < 1000 * second) await delay(1000 * second - systemClock.nowMs());
}

/**
 * Runs `prepare` with a second in which its records expire. If that second comes before the end of `prepare`, runs
 * `undo` and tries a later one.
 */
export async function beforeExpiry<T extends object>(
  prepare: (expires_at: number) => Promise<T>,
  undo: () => Promise<void>,
): Promise<T & { readonly expires_at: number }> {
  for (const leadMs of LEADS_MS) {
    const expires_at = Math.ceil((systemClock.nowMs() + leadMs) / 1000);
    const outcome = await prepare(expires_at).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    const isLate = systemClock.nowMs() >= 1000 * expires_at;
    if (!isLate && 'error' in outcome) throw outcome.error;
    if (!isLate && 'value' in outcome) return { ...outcome.value, expires_at };
    await undo();
  }
  throw new Error(`the requests took longer than ${LEADS_MS.at(-1)} ms`);
}
