/** How far a build is: written by the worker, read by the owner, in memory that both see. */
const DONE = 0;
const TOTAL = 1;
const CANCELLED = 2;

/** The owner does not want the build any more. */
export class Cancelled extends Error {
  constructor() {
    super('the build was cancelled');
  }
}

export class Progress {
  readonly #state: Int32Array;

  /** `memory`: of another thread's `Progress`, to share it. */
  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(12)) {
    this.#state = new Int32Array(memory);
  }

  /** Units of work; what they are is the kind's affair. */
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
