import type { Clock } from '../../shared/clock.js';
import { overloaded } from '../../shared/errors/overloaded.js';

/** An expensive answer, made at most once in `keptMs` for any number of requests. */
export class SharedAnswer<T> {
  #kept: { readonly value: T; readonly begunMs: number } | undefined;
  #asking: Promise<T> | undefined;
  #waiting = 0;

  constructor(
    private readonly ask: () => Promise<T>,
    /** Time for which an answer is reused, counted from the call of `ask`. */
    private readonly keptMs: number,
    private readonly clock: Clock,
    /** The bound on requests that wait for the answer; further ones are refused. */
    private readonly waitingMax = Number.POSITIVE_INFINITY,
  ) {}

  /** Throws Overloaded if too many wait, and the errors of `ask`, which are not reused. */
  get(): T | Promise<T> {
    if (this.#kept !== undefined && this.clock.monotonicMs() - this.#kept.begunMs < this.keptMs)
      return this.#kept.value;
    if (this.#waiting >= this.waitingMax) throw overloaded('metrics');
    this.#waiting += 1;
    this.#asking ??= this.#ask();
    return this.#asking;
  }

  async #ask(): Promise<T> {
    const begunMs = this.clock.monotonicMs();
    try {
      const value = await this.ask();
      this.#kept = { value, begunMs };
      return value;
    } finally {
      this.#asking = undefined;
      this.#waiting = 0;
    }
  }
}
