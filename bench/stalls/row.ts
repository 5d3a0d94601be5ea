/** Rows of the table of worst inputs. */
import type { Attack, Stage } from './stage.js';

export interface WorstInput {
  /** The input, in a few words. */
  readonly input: string;
  /** Why it costs more than others. */
  readonly because: string;
  /** The expected statuses; by default only 200. */
  readonly statuses?: readonly number[];
  /** Set if the coordinator refuses it: both modes then run the same code. */
  readonly reaches?: 'coordinator';
  /** Prepares the attacked data, which is not measured. */
  readonly prepare: (stage: Stage) => Promise<Attack>;
}

/** An endpoint that no input can make expensive, and why. */
export interface Small {
  readonly small: string;
}

/** Keyed by endpoint: `GET /v1/records/{id}`. */
export type Rows = Readonly<Record<string, readonly WorstInput[] | Small>>;
