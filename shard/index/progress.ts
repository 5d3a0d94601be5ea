import { outcomesOf } from '../../shared/process/workerThread.js';
import { DamagedGeneration, UnknownGeneration } from './store/manifest.js';

/** The owner does not want the build any more. */
export class Cancelled extends Error {
  constructor() {
    super('the build was cancelled');
  }
}

/** Passes the outcomes of builds from their thread to the owner's. */
export const buildOutcomes = outcomesOf({ Cancelled, DamagedGeneration, UnknownGeneration });

const DONE = 0;
const TOTAL = 1;
const CANCELLED = 2;

/** The progress of a build, in memory that both threads see: written by the worker, read and cancelled by the owner. */
export class BuildProgress {
  readonly #state: Int32Array;

  /** `memory`: of the other thread's `Progress`, to share it. */
  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(12)) {
    this.#state = new Int32Array(memory);
  }

  /** Units of work done; each kind of index has a unit of its own. */
  get done(): number {
    return Atomics.load(this.#state, DONE);
  }

  /** 0 until it is known. */
  get total(): number {
    return Atomics.load(this.#state, TOTAL);
  }

  expect(total: number): void {
    Atomics.store(this.#state, TOTAL, total);
  }

  /** Throws Cancelled. */
  advance(by: number): void {
    Atomics.add(this.#state, DONE, by);
    this.assertWanted();
  }

  /** Throws Cancelled. */
  assertWanted(): void {
    if (Atomics.load(this.#state, CANCELLED) === 1) throw new Cancelled();
  }

  cancel(): void {
    Atomics.store(this.#state, CANCELLED, 1);
  }
}
