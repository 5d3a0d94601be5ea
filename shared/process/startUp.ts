/** Waits, at the start of a process, for a cluster that is still starting. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../clock.js';
import { isUnavailable, messageOf, type VouchError } from '../errors/errors.js';
import type { Logger } from '../logger.js';
import { RETRY_MS } from '../scheduling/retry.js';

/** Longest wait: three NATS servers that start together on a slow machine elect all leaders well within it. */
export const START_WITHIN_MS = 90_000;
/** The interval of log lines about a wait. */
const REPORT_MS = 5_000;

/**
 * Repeats `attempt` until it succeeds, or fails with another error than `unavailable`. Throws the last error after too long a
 * time, or if `isWaiting` returns false for it.
 */
export async function whenAvailable<T>(
  /** Completes the line "waiting for …". */
  what: string,
  attempt: () => Promise<T>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  { withinMs = START_WITHIN_MS, isWaiting = () => true }: WaitOptions = {},
): Promise<T> {
  const begunMs = clock.monotonicMs();
  let reportAtMs = begunMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const nowMs = clock.monotonicMs();
      if (!isUnavailable(error) || !isWaiting(error) || nowMs - begunMs >= withinMs) throw error;
      if (nowMs >= reportAtMs) {
        logger.info({ error: messageOf(error), seconds: Math.round((nowMs - begunMs) / 1000) }, `waiting for ${what}`);
        reportAtMs = nowMs + REPORT_MS;
      }
      await delay(RETRY_MS.startUp);
    }
  }
}

interface WaitOptions {
  readonly withinMs?: number;
  readonly isWaiting?: (error: VouchError) => boolean;
}
