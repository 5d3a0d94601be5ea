/** The answer of `GET /v1/cluster`. It names only collections of the caller's project. */
import type { Damage } from './service.js';
import type { Whole } from './values.js';

export interface ShardStatus {
  name: string;
  /** `leaving`: it moves its collections to others. `away`: it owns or follows collections, and has no heartbeat. */
  state: 'serving' | 'leaving' | 'away';
  /** Collections of all projects that it owns. */
  collections: Whole;
  /** Live records of the collections that were used since it started. */
  records: Whole;
  /** The nearly full resources; writes are refused meanwhile. Present if any is nearly full. */
  full?: ('memory' | 'store')[];
  /** This and the next five are absent if the shard does not answer. */
  version?: string;
  /** The name of its machine. */
  host?: string;
  uptime_secs?: Whole;
  memory_bytes?: Whole;
  /** The limit of its memory; it refuses writes when a part of this is used. */
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
  /** The number of its owners so far. */
  epoch: Whole;
  /** The number of committed events. */
  sequence: Whole;
  records: Whole;
  /** The shard that it is being moved to. Only the placement leader reports this. */
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
