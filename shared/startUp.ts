/** A process that starts may find a cluster that is still starting too: it waits, and says what for. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from './clock.js';
import { messageOf, VouchError } from './errors.js';
import type { Logger } from './logger.js';

/** Three NATS servers that start together, on a busy machine, find leaders for every stream well within this. */
export const START_WITHIN_MS = 90_000;
const RETRY_MS = 250;
/** How often it is told that something is still waited for. */
const TELL_MS = 5_000;

/**
 * Makes an attempt, which may be repeated at will, until it comes through or fails for another reason than that what it
 * needs is `unavailable`. Throws the last failure when it has taken too long, or `isWaiting` says that nothing is to come.
 */
export async function whenAvailable<T>(
  /** Completes the line "waiting for …". */
  what: string,
  attempt: () => Promise<T>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  { withinMs = START_WITHIN_MS, isWaiting = () => true }: WaitOptions = {},
): Promise<T> {
  const begunMs = clock.monotonicMs();
  let tellAtMs = begunMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const nowMs = clock.monotonicMs();
      if (!isUnavailable(error) || !isWaiting(error) || nowMs - begunMs >= withinMs) throw error;
      if (nowMs >= tellAtMs) {
        logger.info({ error: messageOf(error), seconds: Math.round((nowMs - begunMs) / 1000) }, `waiting for ${what}`);
        tellAtMs = nowMs + TELL_MS;
      }
      await delay(RETRY_MS);
    }
  }
}

interface WaitOptions {
  readonly withinMs?: number;
  readonly isWaiting?: (error: VouchError) => boolean;
}

const isUnavailable = (error: unknown): error is VouchError =>
  error instanceof VouchError && error.code === 'unavailable';
