import type { SeededRandom } from '../support/model/random.js';

/** What comes of an input: `refused` with a proper error, or `taken` where it happens to be a proper one. */
export type Outcome = 'refused' | 'taken';

/** Something that is given bytes from outside. */
export interface FuzzTarget {
  readonly name: string;
  open(random: SeededRandom): Promise<OpenTarget>;
}

export interface OpenTarget {
  /** What is fit, and is bent out of shape. */
  readonly samples: readonly Uint8Array[];
  /** Throws where the input has done what no input may do: a crash, a wrong answer, an acceptance that is not its due. */
  tryOne(input: Uint8Array): Promise<Outcome> | Outcome;
  /** Throws where what was tried has left traces. */
  close(): Promise<void>;
}
