import { unavailable } from '../../shared/errors.js';

/** Rebuilds that run at once, and that wait for one of them to end. Each holds the memory of a state. */
const LANES = 2;
const WAITING_MAX = 32;

/** Lets so much work run at once, in the order it came, and refuses what would have to wait behind too much. */
export class Lanes {
  #busy = 0;
  /** What lets each in, in the order they came. */
  readonly #waiting = new Set<() => void>();

  /** Throws `unavailable` where too many wait, and the signal's reason where it is aborted before the work begins. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#busy < LANES) this.#busy++;
    else await this.#turn(signal);
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#leave();
    }
  }

  /** Resolves with the lane of one that has left. */
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
      this.#busy--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
