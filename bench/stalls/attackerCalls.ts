/** Messages between a bench and the process that attacks for it. */

export type AttackerCall =
  | { readonly op: 'target'; readonly url: string; readonly key: string }
  /** `place`: in the endpoint's row of the table. */
  | { readonly op: 'prepare'; readonly endpoint: string; readonly place: number }
  | { readonly op: 'begin' | 'end' | 'clean' };

/** `attacked`: how many attacks have ended, as an answer to `end`. */
export type AttackerAnswer = { readonly attacked: number } | { readonly failure: string };
