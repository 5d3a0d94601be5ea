import { unavailable } from '../errors/errors.js';

/** Rebuilds that run at once, each with the memory of a state, and that wait. */
const RUNNING_MAX = 2;
const WAITING_MAX = 32;

/** Bounds the rebuilds that run at once, in the order of arrival, and those that wait. */
export class Semaphore {
  #running = 0;
  /** Starts each waiting rebuild, in the order of arrival. */
  readonly #waiting = new Set<() => void>();

  /** Throws `unavailable` where too many wait, and the signal's reason where it is aborted before the work begins. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#running < RUNNING_MAX) this.#running++;
    else await this.#turn(signal);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Resolves when another rebuild has ended. */
  #turn(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= WAITING_MAX)
      return Promise.reject(unavailable('too many past states are being rebuilt; retry shortly'));
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting.delete(enter);
        reject(signal.reason as Error);
      };
      const enter = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      this.#waiting.add(enter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
