import type { IndexKind, IndexParameters } from '../../../shared/model/indexSpec.js';

/** Recall@10 that a kind must reach with the suite's parameters, on the suite's seeded data. */
export interface Floors {
  readonly clustered: number;
  readonly uniform: number;
  /** After rounds of removals and absorptions, or built on a base, without new training. */
  readonly changed: number;
  /** Share of the absorbed rows that are the first hit of a search for exactly that row. */
  readonly itself: number;
  /** Among eligible rows, for searches that found as many as requested. */
  readonly eligible: number;
  /** Share of the searches with equal answers from a payload written by an open index. */
  readonly samePersisted: number;
  dimension(dimension: number): number;
}

/** A collection of this many records is searched through its index; an exact search of a smaller one is cheaper. */
export const INDEXED_SEARCH_ROWS = 10_000;
/** More than the rows below which a generation has no index. */
export const ROWS_LEAST_INDEXED = 1_100;
export const INDEXED_SEARCH_DIMENSION = 128;

/** Narrow searches, for which these few rows suffice. */
export const NARROW: Readonly<Record<IndexKind | 'brute', IndexParameters>> = {
  hnsw: { m: 8, efConstruction: 80, efSearch: 40 },
  ivf: { nProbe: 8 },
  bq: { candidates: 150 },
  brute: {},
};

/** An index under test. */
export interface IndexSubject {
  readonly kind: IndexKind | 'brute';
  readonly floors: Floors;
  /** Search threads of the collections; 0 by default. */
  readonly threads?: number;
  /** Size of the largest graph, so low that a collection needs several; see `BuildOrder`. */
  readonly graphBytesMax?: number;
  /** Dimensions of its collections, so many that a search reads the index. */
  readonly dimension?: number;
}

export interface KindSubject extends IndexSubject {
  readonly kind: IndexKind;
}

/** Powers of two by which vectors are multiplied, so that full blocks have each form of rows. */
export const SCALES = {
  'residuals of 8 bits': 2 ** -3,
  'residuals of 16 bits': 1,
  'plain components': 2 ** 8,
} as const;
