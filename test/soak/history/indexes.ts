/** Calls about the index of a collection. */
import type { Asked } from './asked.js';

export type IndexKind = 'none' | 'hnsw' | 'ivf' | 'bq';

export interface IndexAnswer {
  readonly active: string;
  readonly desired: string;
  readonly status: string;
  /** Reason why the last build failed. */
  readonly error: string | null;
}

export interface ConfigureIndexCall extends Asked<'configureIndex', IndexAnswer> {
  readonly kind: IndexKind;
}

export interface IndexStateCall extends Asked<'indexState', IndexAnswer> {}

export type IndexCall = ConfigureIndexCall | IndexStateCall;
