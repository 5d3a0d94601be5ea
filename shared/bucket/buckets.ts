/** The buckets of a cluster or a node. Deletions of `=` are marks in any of them, see `Watch.caughtUp`. */
export const BUCKETS = {
  /** `<project>.<collection name>` → the collection's fixed configuration and desired index. */
  catalog: 'vouch-catalog',
  /** Shard name → heartbeat. */
  shards: 'vouch-shards',
  /** Collection id → shard name and epoch. */
  owners: 'vouch-owners',
  /** BLAKE3 of an API key (hex) → project, scope, expiry. */
  keys: 'vouch-keys',
  /** Project → records reserved per collection; `<project>.bytes` → bytes reserved per collection. */
  quota: 'vouch-quota',
  /** Named leases and counters. */
  leases: 'vouch-leases',
  /** Collection id → the watermark of its log, and the bytes of its content. */
  watermarks: 'vouch-watermarks',
  /**
   * `by.<shard>` → the collections that the shard is opening; `of.<collection id>` → the failed openings of the collection;
   * `due.<collection id>` → when its owner opens it to remove expired records.
   */
  openings: 'vouch-openings',
  /** Public key of a node that signs (hex) → the shards that it signed for. */
  signers: 'vouch-signers',
  /** `<project>.<key id>` → when the shredding of the vault key began, while it is pending. */
  shreds: 'vouch-shreds',
  /** The identity of the service log, and its published checkpoints. */
  serviceLog: 'vouch-service-log',
  /** Permanent counts, and notes of deleted collections. */
  counters: 'vouch-counters',
  /** `collections` → the count of their ids, see `Bucket.next`. It is the only key, so that the ids are dense. */
  ids: 'vouch-ids',
} as const;

export type BucketName = (typeof BUCKETS)[keyof typeof BUCKETS];
