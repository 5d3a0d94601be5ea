/** The answer of `GET /v1/cluster`. It names the collections of the caller's project alone. */
import type { Damage } from './service.js';
import type { Whole } from './values.js';

export interface ShardStatus {
  name: string;
  /** `leaving`: it moves its collections to others. `away`: it owns or follows collections, and gives no sign of life. */
  state: 'serving' | 'leaving' | 'away';
  /** Collections of all projects that it owns. */
  collections: Whole;
  /** Live records of the collections that were used since it started. */
  records: Whole;
  /** What is nearly full: writes are refused. Present if anything is. */
  full?: ('memory' | 'store')[];
  /** This and the next five are absent if the shard does not answer. */
  version?: string;
  /** The name of its machine. */
  host?: string;
  uptime_secs?: Whole;
  memory_bytes?: Whole;
  /** The memory from which on it would refuse writes is a part of this. */
  memory_limit_bytes?: Whole;
  /** Calls in flight. */
  calls?: Whole;
}

export interface PlacedCollection {
  name: string;
  id: Whole;
  /** The shard that owns it; null: none yet. */
  owner: string | null;
  followers: string[];
  /** The number of owners that it has had. */
  epoch: Whole;
  /** The number of committed events. */
  sequence: Whole;
  records: Whole;
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
  uptime_secs: Whole;
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
