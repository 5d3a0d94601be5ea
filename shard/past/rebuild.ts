import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import type { Opening } from './opening.js';
import type { PastState } from './pastState.js';

/** A past state in the making, and those who wait for it. */
export class Rebuild {
  readonly #made: Promise<PastState>;
  #waiting = 1;

  /**
   * For one who waits until `latestDeadlineMs`. `make` is to call what it is given now and then, and ends when that
   * throws; its state is held once. `onEnd` is told of the state, held for all who wait, or that there is none.
   */
  constructor(
    readonly opening: Opening,
    private readonly clock: Clock,
    private latestDeadlineMs: number,
    make: (assertWanted: () => void) => Promise<PastState>,
    onEnd: (past: PastState | undefined) => void,
  ) {
    this.#made = make(() => this.#assertWanted()).then(
      (past) => {
        for (let holds = 1; holds < this.#waiting; holds++) past.hold();
        onEnd(past);
        return past;
      },
      (error: unknown) => {
        onEnd(undefined);
        throw error;
      },
    );
  }

  /** Of the one it was begun for: the state, held for the caller. */
  get made(): Promise<PastState> {
    return this.#made;
  }

  /** One more waits. Resolves as `made`. */
  join(deadlineMs: number): Promise<PastState> {
    this.#waiting++;
    this.latestDeadlineMs = Math.max(this.latestDeadlineMs, deadlineMs);
    return this.#made;
  }

  /** Resolves when nothing of it runs any more, whatever came of it. */
  async ended(): Promise<void> {
    await this.#made.catch(() => undefined);
  }

  #assertWanted(): void {
    this.opening.closing.throwIfAborted();
    if (this.clock.nowMs() > this.latestDeadlineMs)
      throw unavailable('the deadline passed while the past state was being rebuilt; retry');
  }
}
