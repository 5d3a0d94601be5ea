/**
 * Bounds the length of a step by counted work. A clock would cost more than many pieces of work. The unit is about a
 * nanosecond. Each byte, term and slot that a step reads costs a fixed amount (`WORK`), so no step takes long, whatever
 * the records and the filter. At the end of a step, a `Slice` decides whether the event loop needs a turn.
 */

/** Work of one step: about a quarter of a millisecond. */
export const STEP_WORK = 250_000;

export const WORK = {
  /** A record that is read from its metadata. */
  record: 1_000,
  /** A byte of metadata that is parsed and visited. */
  byte: 25,
  /** A byte of metadata in which a text is sought: a value has four bytes or more. */
  soughtByte: 20,
  /** A byte of metadata for a text that values may begin with: each value is compared with few of them. */
  begunByte: 1,
  /** The search of a term among all terms of a path. */
  find: 2_000,
  /** A term that is compared with a text; each character costs as a term in a range. */
  sought: 100,
  /** A character of a text whose words are compared. */
  wordChar: 30,
  /** A character of a text whose stems are compared. */
  stemmedChar: 1_000,
  /** A term in a range, or a slot in a list. */
  term: 10,
  /** 32 slots of a set. */
  word: 1,
  /** 32 slots of a column of numbers that are compared with a range. */
  scannedWord: 40,
  /** A slot of a column that is compared with many numbers. */
  sieved: 4,
  /** A number outside of the column. */
  beside: 30,
  /** A value that is collected for a slot. */
  collected: 200,
  /** A test of a filter, or an operator around tests, that is evaluated for one record. */
  evaluated: 30,
} as const;

export class Effort {
  #left: number;
  /** Work of the steps that have ended. */
  #ended = 0;

  constructor(private readonly stepWork = STEP_WORK) {
    this.#left = stepWork;
  }

  spend(work: number): void {
    this.#left -= work;
  }

  /** Work of all steps. */
  get spent(): number {
    return this.#ended + this.stepWork - this.#left;
  }

  /** Whether the step has done its work. */
  get isSpent(): boolean {
    return this.#left <= 0;
  }

  /** Returns whether the step has done its work and must yield; the next step then starts. */
  endsStep(): boolean {
    if (this.#left > 0) return false;
    this.#ended += this.stepWork - this.#left;
    this.#left = this.stepWork;
    return true;
  }
}
