/** What goes from chapter to chapter. */
import type { DemoClient } from './client.js';
import type { DemoCluster } from './cluster.js';
import type { Deal } from './digits.js';
import type { Stored } from './nearest.js';

export const COLLECTIONS = ['even', 'odd'] as const;

/** As many neighbours as fit beside one another. */
export const K = 5;

export interface Tour {
  readonly cluster: DemoCluster;
  readonly client: DemoClient;
  readonly deal: Deal;
}

/** What has been loaded, and who serves it. */
export interface Loaded {
  readonly stored: readonly Stored[];
  /** The shard of the collection `even`; the other one is elsewhere. */
  readonly shardOfEven: string;
}
