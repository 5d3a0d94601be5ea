import { outcomesOf } from '../../shared/process/workerThread.js';
import { DamagedGeneration, UnknownGeneration } from './store/manifest.js';

/** Thrown in a build that was cancelled. */
export class Cancelled extends Error {
  constructor() {
    super('the build was cancelled');
  }
}

/** Carries the outcomes of builds from the build thread to the event loop of the shard. */
export const buildOutcomes = outcomesOf({ Cancelled, DamagedGeneration, UnknownGeneration });

/** Places in the shared memory. */
const DONE = 0;
const TOTAL = 1;
const COMMAND = 2;

/** Values at the place COMMAND. */
const RUN = 0;
const CANCEL = 1;
const PAUSE = 2;

/**
 * The progress of a build, in memory that the build threads share with the shard's event loop. The build threads write
 * the progress. The event loop reads it, and pauses, resumes or cancels the build. A build thread obeys at its next
 * `advance` or `obey`.
 */
export class BuildProgress {
  readonly #state: Int32Array<SharedArrayBuffer>;

  /** `memory`: that of the `BuildProgress` of another thread; by default new. */
  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(12)) {
    this.#state = new Int32Array(memory);
  }

  /** Units of work done. Each kind of index has its own unit. */
  get done(): number {
    return Atomics.load(this.#state, DONE);
  }

  /** Units of all work; 0 until it is known. */
  get total(): number {
    return Atomics.load(this.#state, TOTAL);
  }

  /** Sets the units of all work. */
  setTotal(units: number): void {
    Atomics.store(this.#state, TOTAL, units);
  }

  /** Adds finished units, then does what `obey` does. */
  advance(units: number): void {
    Atomics.add(this.#state, DONE, units);
    this.obey();
  }

  /** Sleeps while the build is paused. Throws Cancelled. Only for build threads. */
  obey(): void {
    while (Atomics.load(this.#state, COMMAND) === PAUSE) Atomics.wait(this.#state, COMMAND, PAUSE);
    this.assertNotCancelled();
  }

  /** Throws Cancelled after a cancellation. Never sleeps, so any thread may call it. */
  assertNotCancelled(): void {
    if (Atomics.load(this.#state, COMMAND) === CANCEL) throw new Cancelled();
  }

  /** Pauses the build, unless it is cancelled. */
  pause(): void {
    Atomics.compareExchange(this.#state, COMMAND, RUN, PAUSE);
  }

  resume(): void {
    Atomics.compareExchange(this.#state, COMMAND, PAUSE, RUN);
    Atomics.notify(this.#state, COMMAND);
  }

  /** Cancels the build, and wakes paused threads. */
  cancel(): void {
    Atomics.store(this.#state, COMMAND, CANCEL);
    Atomics.notify(this.#state, COMMAND);
  }
}
