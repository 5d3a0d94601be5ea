/** Lets long work in the event loop give way to what waits there. */
import type { Clock } from '../shared/clock.js';
import type { Pause } from '../shared/log/pacer.js';

/** Resolves when everything that was ready has run. */
export const nextTurn: Pause = () => new Promise((resolve) => setImmediate(resolve));

/** How long one piece of work may hold the event loop. */
const SLICE_MS = 2;

/** `due()` is true when the slice is used up; `await next()` then ends it and begins another. */
export class Slice {
  #startedMs: number;

  constructor(private readonly clock: Clock) {
    this.#startedMs = clock.monotonicMs();
  }

  get due(): boolean {
    return this.clock.monotonicMs() - this.#startedMs >= SLICE_MS;
  }

  async next(): Promise<void> {
    await nextTurn();
    this.#startedMs = this.clock.monotonicMs();
  }
}

/**
 * Walks to the end, and rests where the walk allows it once the slice is used up. `afterRest` may end it by throwing.
 * Writes may come in while it rests.
 */
export async function inSlices<T>(walk: Generator<undefined, T>, clock: Clock, afterRest: () => void): Promise<T> {
  const slice = new Slice(clock);
  for (;;) {
    const step = walk.next();
    if (step.done) return step.value;
    if (!slice.due) continue;
    await slice.next();
    afterRest();
  }
}
