import type { IndexKind, IndexParameters } from '../../../shared/indexSpec.js';

/** Recall@10 that a kind must reach with the suite's parameters, on the suite's seeded data. */
export interface Floors {
  readonly clustered: number;
  readonly uniform: number;
  /** After rounds of removals and absorptions, or built on a base, without being trained anew. */
  readonly changed: number;
  /** Share of the absorbed rows that a search for exactly that row finds first. */
  readonly itself: number;
  /** Where a search is given eligible rows, and found as many as it was asked for. */
  readonly eligible: number;
  /** Share of the searches that answer the same from a payload written by an open index. */
  readonly samePersisted: number;
  dimension(dimension: number): number;
}

/** An index as the suite runs it. */
export interface IndexSubject {
  readonly kind: IndexKind | 'brute';
  parameters(rows: number): IndexParameters;
  readonly floors: Floors;
}

export interface KindSubject extends IndexSubject {
  readonly kind: IndexKind;
}
