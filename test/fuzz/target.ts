import type { SeededRandom } from '../support/model/random.js';

/** Outcome of an input: `refused` with a proper error, or `taken` if it happens to be valid. */
export type Outcome = 'refused' | 'taken';

/** A function that receives bytes from outside. */
export interface FuzzTarget {
  readonly name: string;
  open(random: SeededRandom): Promise<OpenTarget>;
}

export interface OpenTarget {
  /** Valid inputs, which are mutated. */
  readonly samples: readonly Uint8Array[];
  /** Throws an Error if the input has caused a crash, a wrong answer or a false acceptance. */
  tryOne(input: Uint8Array): Promise<Outcome> | Outcome;
  /** Throws an Error if the inputs have left traces. */
  close(): Promise<void>;
}
