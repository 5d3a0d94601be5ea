/** Made from coordinator/contract/cluster.ts by `npm run docs`. */
import type { Damage } from './service.js';

export interface ShardStatus {
  name: string;
  /** `leaving`: it moves its collections to others. `away`: it owns or follows collections, and gives no sign of life. */
  state: 'serving' | 'leaving' | 'away';
  /** Collections of all projects that it owns. */
  collections: number;
  /** Live records of the collections that were used since it started. */
  records: number;
  /** What is nearly full: writes are refused. Present if anything is. */
  full?: ('memory' | 'store')[];
  /** This and the next five are absent if the shard does not answer. */
  version?: string;
  /** The name of its machine. */
  host?: string;
  uptimeSecs?: number;
  memoryBytes?: number;
  /** The memory from which on it would refuse writes is a part of this. */
  memoryLimitBytes?: number;
  /** Calls in flight. */
  calls?: number;
}

export interface PlacedCollection {
  name: string;
  id: number;
  /** The shard that owns it; null: none yet. */
  owner: string | null;
  followers: string[];
  /** The number of owners that it has had. */
  epoch: number;
  /** The number of committed events. */
  sequence: number;
  records: number;
  /** The shard that it is being moved to. Told by the coordinator that places collections, and by no other. */
  moving?: string;
  /** Present if any part is damaged. */
  damaged?: Damage[];
}

export interface ClusterLease {
  /** `placement`: places collections. `limits`: counts requests against the rate limits. */
  name: string;
  /** The name of a coordinator, and a number of its process. */
  holder: string;
}

export interface CoordinatorStatus {
  name: string;
  url: string;
  version: string;
  uptimeSecs: number;
}

export interface NatsServer {
  /** Null if it does not answer. */
  name: string | null;
  /** Host and port. */
  url: string;
  /** Null if it does not answer. */
  version: string | null;
  /** Whether the coordinator that answers is connected to it. */
  connected: boolean;
}

export interface ClusterResponse {
  mode: 'cluster' | 'standalone';
  shards: ShardStatus[];
  /** The collections of the caller's project, by name. */
  collections: PlacedCollection[];
  leases: ClusterLease[];
  coordinators: CoordinatorStatus[];
  /** Empty for a standalone node. */
  nats: NatsServer[];
}
