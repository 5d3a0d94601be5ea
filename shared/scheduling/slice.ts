/** Divides long work in the event loop into slices, and ends it at its deadline. */
import type { Clock } from '../clock.js';
import { unavailable } from '../errors/errors.js';
import { noteSlice, type Work, workInHand } from './currentWork.js';
import { FairTurns } from './fairTurns.js';
import type { Pause } from './pacer.js';

/** Resolves when all callbacks that were ready have run. */
export const nextTurn: Pause = () => new Promise((resolve) => setImmediate(resolve));

/**
 * The longest turn of one piece of work. Another request may wait for such a turn three times: before its message, its call
 * and its answer.
 */
const SLICE_MS = 1;
/** The number of steps between two looks at the clock: a look costs as much as a small step. */
const STEPS_PER_LOOK = 256;

const TURNS = new FairTurns();
/** Returns the turns of all sliced work in this thread. */
let turnsHere = (): FairTurns => TURNS;

/** For the simulation, which has many processes in a thread. */
export function setTurns(turnsOfProcess: () => FairTurns): void {
  turnsHere = turnsOfProcess;
}

/** Returns the pause between two slices of `work`, by default the work in hand. Projects take turns. */
export const sliceTurns =
  (work: Work = workInHand()): Pause =>
  async () => {
    await turnsHere().next(work.subject?.project ?? '');
    noteSlice(work.op, work.subject);
  };

export class Slice {
  #startedMs: number;
  #steps = 0;
  /** Made for the first pause: most work ends within its first slice. */
  #pause: Pause | undefined;

  /** `deadlineMs`: unix milliseconds; the work ends then. `work`: noted again when a slice begins. */
  constructor(
    private readonly clock: Clock,
    private readonly deadlineMs = Number.POSITIVE_INFINITY,
    private readonly work: Work = workInHand(),
  ) {
    this.#startedMs = clock.monotonicMs();
  }

  /** Whether the slice is used up, so that `next` must be called. */
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

  /** Begins a new slice for the rest of the work. */
  again(): Slice {
    return new Slice(this.clock, this.deadlineMs);
  }

  /** Yields, and begins another slice. Throws `unavailable` after the deadline. */
  async next(): Promise<void> {
    if (this.clock.nowMs() > this.deadlineMs) throw unavailable('the deadline passed during the work');
    this.#pause ??= sliceTurns(this.work);
    await this.#pause();
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

/** Runs the steps with a pause between them. Returns the result at once, without a promise, if the first step ends the work. */
export function soon<Result>(steps: Steps<Result>, pause: () => Promise<void>): Result | Promise<Result> {
  const step = steps.next();
  return step.done ? step.value : pause().then(() => inTurns(steps, pause));
}

/** Runs the steps with a pause between them. */
export async function inTurns<Result>(steps: Steps<Result>, pause: () => Promise<void>): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await pause();
  }
}

/** Runs the steps in slices. `afterRest` may cancel them by throwing; the steps then release their resources. */
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
