/** The wait that an answer asks for in its header `Retry-After`. */
import { DURATION_MAX_MS } from '../../config/config.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';

const MS_PER_SECOND = 1_000;

/** Returns milliseconds, from one second to 7 days; one second where the header is missing, a date or not a number. */
export function retryAfterMs(header: string | null | undefined): number {
  const secs = /^\d+$/.test(header ?? '') ? Number(header) : 0;
  return Math.min(Math.max(secs * MS_PER_SECOND, RETRY_MS.command), DURATION_MAX_MS);
}
