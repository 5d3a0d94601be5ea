import { outcomesOf } from '../../shared/process/workerThread.js';
import { DamagedGeneration, UnknownGeneration } from './store/manifest.js';

/** Thrown in a build that its owner no longer wants. */
export class Cancelled extends Error {
  constructor() {
    super('the build was cancelled');
  }
}

/** Carries the outcomes of builds from their thread to the owner's. */
export const buildOutcomes = outcomesOf({ Cancelled, DamagedGeneration, UnknownGeneration });

const DONE = 0;
const TOTAL = 1;
const COMMAND = 2;

/** Values of COMMAND. */
const RUN = 0;
const CANCEL = 1;
const PAUSE = 2;

/**
 * The progress of a build, in memory that its threads and the owner share. The threads write it. The owner reads it,
 * and pauses, resumes or cancels the build. Each thread obeys at its next step; a paused one sleeps there.
 */
export class BuildProgress {
  readonly #state: Int32Array<SharedArrayBuffer>;

  /** `memory`: the memory of the other thread's `BuildProgress`. */
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

  expect(total: number): void {
    Atomics.store(this.#state, TOTAL, total);
  }

  /** Counts work, and ends a step like `assertWanted`. */
  advance(by: number): void {
    Atomics.add(this.#state, DONE, by);
    this.assertWanted();
  }

  /** Ends a step of a build thread: sleeps while the build is paused. Throws Cancelled. */
  assertWanted(): void {
    while (Atomics.load(this.#state, COMMAND) === PAUSE) Atomics.wait(this.#state, COMMAND, PAUSE);
    this.assertNotCancelled();
  }

  /** Checks in the owner's thread, which must not sleep. Throws Cancelled. */
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
