/** Calls about the index of a collection. */
import type { INDEX_KINDS } from '../../../shared/model/indexKinds.js';
import type { Asked } from './asked.js';

export type IndexKind = 'none' | (typeof INDEX_KINDS)[number];

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
