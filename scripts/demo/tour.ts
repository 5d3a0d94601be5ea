/** The state and the helpers that the chapters of the demo share. */
import type { CallOptions, Vouch } from '../../client/index.js';
import type { DemoCluster } from './cluster.js';
import type { Deal } from './digits.js';
import type { Stored } from './nearest.js';

export const COLLECTIONS = ['even', 'odd'] as const;

/** The number of neighbours that fit beside one another. */
export const NEIGHBOURS = 5;

export interface Tour {
  readonly cluster: DemoCluster;
  readonly vouch: Vouch;
  /** Options of every call: a signal ends it. */
  readonly options: CallOptions;
  readonly deal: Deal;
}

export interface Loaded {
  readonly stored: readonly Stored[];
  readonly idOfEven: number;
  /** The shard of the collection `even`; `odd` is on another shard. */
  readonly shardOfEven: string;
}
