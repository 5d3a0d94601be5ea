import type { Clock } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors.js';
import { moved } from '../moving.js';

/** Who keeps a collection from taking writes, and until when: a holder that is gone must not keep it for ever. */
export class WriteHold {
  #token: string | undefined;
  #untilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** `onEnd` is called when nobody holds any more. */
  constructor(
    private readonly clock: Clock,
    private readonly onEnd: () => void,
  ) {}

  get isHeld(): boolean {
    return this.#token !== undefined;
  }

  /** Begins, or goes on, for `holdMs` from now. Throws `conflict` where somebody else holds, `unavailable` once over. */
  take(token: string, holdMs: number): void {
    if (this.#isOver) throw moved();
    if (this.#token !== undefined && this.#token !== token)
      throw new VouchError(
        'conflict',
        'the indexes of this project are being rebuilt already; wait until that has ended',
      );
    this.#token = token;
    this.#untilMs = this.clock.monotonicMs() + holdMs;
    this.#timer ??= this.#wait(holdMs);
  }

  release(token: string): void {
    if (this.#token === token) this.#end();
  }

  /** Nobody holds any more, nor ever again. */
  over(): void {
    this.#isOver = true;
    this.#end();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#token = undefined;
    this.onEnd();
  }

  #wait(forMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const leftMs = this.#untilMs - this.clock.monotonicMs();
      if (leftMs <= 0) this.#end();
      else this.#timer = this.#wait(leftMs);
    }, forMs).unref();
  }
}
