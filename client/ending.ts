/** The end of a call before its answer. */
import { startTimer } from './clock.js';
import { onAbort } from './signals.js';

/** The reason of an end at the deadline. */
export const PASSED = new Error('deadline');

/** Ends a call at its deadline or by the signal of its caller. Costs less than an `AbortSignal`, which each call would make. */
export class Ending {
  #isEnded = false;
  #reason: unknown;
  #stop: (reason: unknown) => void = () => undefined;
  readonly #stopTimer: () => void;
  readonly #ignoreSignal: (() => void) | undefined;

  /** `signal` is not aborted yet. */
  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#stopTimer = startTimer(timeoutMs, () => this.#end(PASSED));
    this.#ignoreSignal = signal && onAbort(signal, () => this.#end(signal.reason));
  }

  /** Calls `stop` with the reason at the end, in place of the function that was given before. */
  onEnd(stop: (reason: unknown) => void): void {
    this.#stop = stop;
  }

  throwIfEnded(): void {
    if (this.#isEnded) throw this.#reason;
  }

  /** After it the call does not end early. */
  close(): void {
    this.#stopTimer();
    this.#ignoreSignal?.();
  }

  #end(reason: unknown): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#reason = reason;
    this.#stop(reason);
  }
}
