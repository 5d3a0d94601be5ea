import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import { Slice } from '../pause.js';

/** The clock is looked at once in so many steps: a look costs as much as a step. */
const STEPS_PER_LOOK = 512;

/**
 * Keeps a walk over a large graph, or a look at very many texts, from holding the event loop, and ends it when nobody
 * waits for it any more. Writes may come in while it rests.
 */
export class Pace {
  readonly #slice: Slice;
  #steps = 0;

  constructor(
    private readonly clock: Clock,
    private readonly deadlineMs: number,
  ) {
    this.#slice = new Slice(clock);
  }

  /** Counts an edge or a node that was looked at. True: `rest` now. */
  step(): boolean {
    return ++this.#steps % STEPS_PER_LOOK === 0 && this.#slice.due;
  }

  /** `rest` now: for work that is done many steps at a time. */
  get due(): boolean {
    return this.#slice.due;
  }

  /** Throws `unavailable` once the deadline has passed. */
  async rest(): Promise<void> {
    if (this.clock.nowMs() > this.deadlineMs) throw unavailable('the deadline passed during the search');
    await this.#slice.next();
  }
}
