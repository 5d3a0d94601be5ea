import type { IndexKind, IndexParameters } from '../../../shared/model/indexSpec.js';

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

/** A collection of so many records is searched through its index: a smaller one exactly, since that is cheaper. */
export const INDEXED_SEARCH_ROWS = 10_000;
/** Above the rows under which a generation has no index. */
export const ROWS_LEAST_INDEXED = 1_100;
export const INDEXED_SEARCH_DIMENSION = 128;

/** Narrow searches, so that so few rows suffice. */
export const NARROW: Readonly<Record<IndexKind | 'brute', IndexParameters>> = {
  hnsw: { m: 8, efConstruction: 80, efSearch: 40 },
  ivf: { nProbe: 8 },
  bq: { candidates: 150 },
  brute: {},
};

/** An index as the suite runs it. */
export interface IndexSubject {
  readonly kind: IndexKind | 'brute';
  readonly floors: Floors;
}

export interface KindSubject extends IndexSubject {
  readonly kind: IndexKind;
}
