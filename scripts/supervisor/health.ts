import { get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, systemClock } from '../../shared/clock.js';
import { StartError } from './startError.js';

const BETWEEN_MS = 50;
const ANSWER_MS = 2_000;

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Waits until `GET /health` is 200. Throws StartError with the service's own reason when it is not within `withinMs`. */
export async function waitUntilHealthy(
  url: string,
  withinMs: number,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + withinMs;
  let last = 'it does not answer';
  while (clock.monotonicMs() < deadlineMs) {
    const answer = await ask(`${url}/health`);
    if (answer?.status === 200) return;
    if (answer) last = reasonIn(answer);
    await wait(BETWEEN_MS, undefined, { signal });
  }
  throw new StartError(`the service is not healthy after ${withinMs / 1000} s: ${last}`);
}

function reasonIn({ status, body }: Answer): string {
  try {
    const { reason } = JSON.parse(body) as { reason?: unknown };
    if (typeof reason === 'string') return reason;
  } catch {
    // Not JSON: the status says what there is to say.
  }
  return `/health answers ${status}`;
}

/** A connection of its own each time, so that none stays open and holds up the coordinator's stop. */
function ask(url: string): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: ANSWER_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.once('error', () => resolve(undefined));
    });
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve(undefined));
  });
}
