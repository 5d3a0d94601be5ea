/** Waits for a service that becomes healthy. */
import { systemClock } from '../../../shared/clock.js';
import { poll, RETRY_MS } from '../../../shared/scheduling/retry.js';
import { getPage, type Page } from '../page.js';

const HEALTHY_WITHIN_MS = 30_000;
const ANSWER_MS = 2_000;

/** Waits until `GET /health` answers 200. Throws an Error with the service's reason if that takes too long. */
export async function waitUntilHealthy(url: string, signal: AbortSignal): Promise<void> {
  let last = 'it does not answer';
  const isHealthy = async (): Promise<true | undefined> => {
    const page = await getPage(`${url}/health`, ANSWER_MS);
    if (page?.status === 200) return true;
    if (page) last = reasonIn(page);
    return undefined;
  };
  const polling = { everyMs: RETRY_MS.process, withinMs: HEALTHY_WITHIN_MS, clock: systemClock, signal };
  if ((await poll(isHealthy, polling)) === undefined)
    throw new Error(`the service is not healthy after ${HEALTHY_WITHIN_MS / 1000} s: ${last}`);
}

function reasonIn({ status, body }: Page): string {
  try {
    const { reason } = JSON.parse(body) as { reason?: unknown };
    if (typeof reason === 'string') return reason;
  } catch {
    // The answer is not JSON, so only the status is known.
  }
  return `/health answers ${status}`;
}
