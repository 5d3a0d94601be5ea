/** Divides long work in the event loop into slices, and ends it at its deadline. */
import type { Clock } from '../clock.js';
import { unavailable } from '../errors/errors.js';
import { lastOp, lastSubject, noteWork, type Subject } from './currentWork.js';
import type { Pause } from './pacer.js';

/** Resolves when all callbacks that were ready have run. */
export const nextTurn: Pause = () => new Promise((resolve) => setImmediate(resolve));

/** The longest time that one piece of work holds the event loop. */
const SLICE_MS = 2;
/** The steps between two looks at the clock, which cost as much as a small step. */
const STEPS_PER_LOOK = 512;

export class Slice {
  #startedMs: number;
  #steps = 0;
  /** The work of this slice, noted again when it resumes. */
  readonly #op = lastOp();
  readonly #subject: Subject | undefined = lastSubject();

  /** `deadlineMs`: unix milliseconds; the work ends then. `pause`: until the next slice may begin. */
  constructor(
    private readonly clock: Clock,
    private readonly deadlineMs = Number.POSITIVE_INFINITY,
    private readonly pause = nextTurn,
  ) {
    this.#startedMs = clock.monotonicMs();
  }

  /** Whether the slice is used up, and `next` is to be called. */
  get due(): boolean {
    return this.clock.monotonicMs() - this.#startedMs >= SLICE_MS;
  }

  /** Counts small steps; returns whether the slice is used up. */
  step(steps = 1): boolean {
    this.#steps += steps;
    if (this.#steps < STEPS_PER_LOOK) return false;
    this.#steps = 0;
    return this.due;
  }

  /** Yields, and begins another slice. Throws `unavailable` after the deadline. */
  async next(): Promise<void> {
    if (this.clock.nowMs() > this.deadlineMs) throw unavailable('the deadline passed during the work');
    await this.pause();
    noteWork(this.#op, this.#subject);
    this.#startedMs = this.clock.monotonicMs();
  }
}

/** Work in steps of at most a few tenths of a millisecond. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Runs all steps without yielding. */
export function atOnce<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Runs the steps in slices. `afterRest` may end it by throwing; the steps then release what they hold. */
export async function inSlices<Result>(steps: Steps<Result>, slice: Slice, afterRest?: () => void): Promise<Result> {
  try {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      if (!slice.due) continue;
      await slice.next();
      afterRest?.();
    }
  } finally {
    steps.return(undefined as never);
  }
}
