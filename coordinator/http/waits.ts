/**
 * Deadlines of waiting requests. One timer checks all of them: a timer for each would cost more than the rest of its admission.
 */
import type { Clock } from '../../shared/clock.js';
import type { VouchError } from '../../shared/errors/errors.js';

/** Interval of checks: a wait may end so much later than its deadline. */
const LOOK_EVERY_MS = 100;

interface Wait {
  readonly deadlineMs: number;
  readonly end: () => void;
}

export class Waits {
  readonly #waits = new Set<Wait>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly clock: Clock) {}

  /** Settles like `work`, or rejects with `late()` after `withinMs`; the work continues. */
  within<T>(work: Promise<T>, withinMs: number, late: () => VouchError): Promise<T> {
    return new Promise((resolve, reject) => {
      const wait = { deadlineMs: this.clock.monotonicMs() + withinMs, end: () => reject(late()) };
      this.#waits.add(wait);
      this.#timer ??= setTimeout(() => this.#look(), LOOK_EVERY_MS).unref();
      work.then(
        (value) => {
          this.#waits.delete(wait);
          resolve(value);
        },
        (error: unknown) => {
          this.#waits.delete(wait);
          reject(error);
        },
      );
    });
  }

  #look(): void {
    const nowMs = this.clock.monotonicMs();
    for (const wait of this.#waits) {
      if (wait.deadlineMs > nowMs) continue;
      this.#waits.delete(wait);
      wait.end();
    }
    this.#timer = this.#waits.size > 0 ? setTimeout(() => this.#look(), LOOK_EVERY_MS).unref() : undefined;
  }
}
