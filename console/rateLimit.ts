/** Respects the rate limit of the project, which all its keys share: waits as long as the service says, and polls only with spare requests. */
import type { WholeAnswer } from '../verifier/wholeAnswer.js';

const TOO_MANY = 429;
/** The wait if the service names no time. */
const RETRY_SECS = 1;

export class RateLimit {
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();
  /** When the project has all its requests again, on the clock of `performance.now()`; undefined: no limit is known. */
  #fullAtMs: number | undefined;
  #requestMs = 0;

  /** `onWaiting` receives the number of requests that wait, whenever it changes. */
  constructor(private readonly onWaiting: (requests: number) => void) {}

  /** Sends a request until it is not refused for the limit. Waiting requests are sent one after another. */
  async run(send: () => Promise<WholeAnswer>, signal: AbortSignal | undefined): Promise<WholeAnswer> {
    const answer = this.#waiting === 0 ? await this.#send(send) : undefined;
    if (answer !== undefined && answer.status !== TOO_MANY) return answer;
    this.#setWaiting(1);
    const done = this.#last.then(() => this.#repeat(send, answer, signal)).finally(() => this.#setWaiting(-1));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** Takes a request for a poll. False: some requests of the project are used, so the rest is for its clients. */
  takeSpare(): boolean {
    if (this.#waiting > 0) return false;
    if (this.#fullAtMs === undefined) return true;
    const nowMs = performance.now();
    if (nowMs < this.#fullAtMs) return false;
    this.#fullAtMs = nowMs + this.#requestMs;
    return true;
  }

  /** Waits for a request that the project has to spare, and takes it. */
  async untilSpare(signal: AbortSignal): Promise<void> {
    while (!this.takeSpare()) await rest(RETRY_SECS, signal);
  }

  async #repeat(
    send: () => Promise<WholeAnswer>,
    refused: WholeAnswer | undefined,
    signal: AbortSignal | undefined,
  ): Promise<WholeAnswer> {
    signal?.throwIfAborted();
    let answer = refused ?? (await this.#send(send));
    while (answer.status === TOO_MANY) {
      await rest(Number(answer.headers.get('retry-after') ?? RETRY_SECS), signal);
      answer = await this.#send(send);
    }
    return answer;
  }

  async #send(send: () => Promise<WholeAnswer>): Promise<WholeAnswer> {
    const answer = await send();
    const [limit, remaining, resetSecs] = ['limit', 'remaining', 'reset'].map((name) =>
      Number(answer.headers.get(`ratelimit-${name}`) ?? Number.NaN),
    ) as [number, number, number];
    if (Number.isNaN(limit + remaining + resetSecs)) return answer;
    this.#fullAtMs = performance.now() + resetSecs * 1_000;
    if (remaining < limit) this.#requestMs = (resetSecs * 1_000) / (limit - remaining);
    return answer;
  }

  #setWaiting(change: 1 | -1): void {
    this.#waiting += change;
    this.onWaiting(this.#waiting);
  }
}

function rest(secs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, secs * 1_000);
    signal?.addEventListener('abort', end, { once: true });
  });
}
