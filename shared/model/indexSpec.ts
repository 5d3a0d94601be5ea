/** The desired index of a collection, and the state of its current one. */

import type { IndexKind } from './indexKinds.js';
import type { WholeBetween } from './whole.js';

export { INDEX_KINDS, type IndexKind } from './indexKinds.js';

/** `brute`: exact search and no index. `auto`: exact search while the collection is small, then HNSW. */
export type DesiredKind = 'brute' | 'auto' | IndexKind;

type Count<From extends number, To extends number> = number & WholeBetween<From, To>;

/** The requested parameters. The index kind chooses absent ones, again as the collection grows. */
export interface IndexParameters {
  /** HNSW: neighbours per node. */
  readonly m?: Count<2, 128>;
  /** HNSW: candidates kept while a row is added. */
  readonly efConstruction?: Count<1, 4096>;
  /** HNSW: candidates kept while searching. */
  readonly efSearch?: Count<1, 4096>;
  /** IVF: centroids. */
  readonly nList?: Count<1, 65536>;
  /** IVF: lists that a search reads. */
  readonly nProbe?: Count<1, 65536>;
  /** BQ: rows that are measured exactly. */
  readonly candidates?: Count<1, 65536>;
}

export interface IndexSpec {
  readonly kind: DesiredKind;
  readonly parameters: IndexParameters;
}

/** The spec of exact search. */
export const BRUTE: IndexSpec = { kind: 'brute', parameters: {} };

/**
 * State `building`: the first generation is being built or loaded, or a requested one is built while another serves. State
 * `failed`: no generation serves, because the last build failed.
 */
export interface IndexState {
  /** `none`, as in the API, while every search is exact. */
  readonly activeKind: IndexKind | 'none';
  readonly status: 'none' | 'building' | 'active' | 'failed';
  readonly desiredKind: DesiredKind;
  readonly activeGeneration: number | null;
  /** Number of segments of the `hnsw` index that serves. */
  readonly segments: number | null;
  readonly buildingGeneration: number | null;
  /** Unix milliseconds. */
  readonly buildStartedAtMs: number | null;
  /** The share of the build that is done, 0 to 1. */
  readonly buildProgress: number | null;
  /** Committed events that the generation being built starts from. */
  readonly baseSequence: number | null;
  /** Why the last build failed. */
  readonly error: string | null;
}
