/**
 * What a node stands on: messages, key-value buckets and event logs. The cluster and the standalone
 * platform implement the same interfaces and pass the same suites; no other code asks which one it has.
 */
import type { Bucket } from './bucket/bucket.js';
import type { EventLogs } from './log/eventLog.js';
import type { Transport } from './transport/transport.js';
import type { VaultStore } from './vault/vaultStore.js';

export interface Platform {
  readonly mode: 'cluster' | 'standalone';
  readonly transport: Transport;
  readonly logs: EventLogs;
  /**
   * Opens a bucket, making it where it does not exist.
   * `ttlMs`: entries vanish that long after their last write, and the bucket need not survive a restart.
   */
  bucket(name: BucketName, options?: { ttlMs?: number }): Promise<Bucket>;
  /** Opens the store of wrapped data keys; the same one at every call. */
  vault(): Promise<VaultStore>;
  /** Resolves when everything under way is finished and nothing is left open. */
  close(): Promise<void>;
}

export const BUCKETS = {
  /** `<project>.<collection name>` → the collection's fixed configuration and desired index. */
  catalog: 'vouch-catalog',
  /** Shard name → heartbeat. */
  shards: 'vouch-shards',
  /** Collection id → shard name and epoch. */
  owners: 'vouch-owners',
  /** BLAKE3 of an API key (hex) → project, scope, expiry. */
  keys: 'vouch-keys',
  /** Project → records reserved per collection. */
  quota: 'vouch-quota',
  /** Named leases and counters. */
  leases: 'vouch-leases',
  /** Collection id → how far its log has reached. */
  reached: 'vouch-reached',
  /** Public key of a node that signs (hex) → the shards that it signed for. */
  signers: 'vouch-signers',
  /** `<project>.<key id>` → since when the vault key is being shredded, or is not on every server. */
  shreds: 'vouch-shreds',
  /** Counters that must survive everything, such as the next collection id. */
  counters: 'vouch-counters',
} as const;

export type BucketName = (typeof BUCKETS)[keyof typeof BUCKETS];
