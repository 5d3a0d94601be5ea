/** Stored entries of the owners bucket, and heartbeats of shards. */
import type { BucketValue, Entry } from '../bucket/bucket.js';
import type { CollectionConfig } from '../model/collectionConfig.js';
import type { Damage } from '../model/damage.js';

/** Everything that a shard needs to serve a collection. Key: the collection's id. */
export interface Ownership {
  readonly shard: string;
  /** The number of owners that the collection has had. */
  readonly epoch: number;
  readonly collection: CollectionConfig;
  /**
   * Shards, besides the owner, that replay its log. They answer searches, and one of them becomes the next owner.
   */
  readonly followers: readonly string[];
  /**
   * Earlier owners that were considered lost. One may have come back before this entry was stored, and serves until it sees the
   * entry. So the owner begins when each has released the collection. Absent if the collection is new or was handed over.
   */
  readonly takenFrom?: readonly string[] | undefined;
  /** Present if an append of an earlier owner may still be in flight. */
  readonly mayGetAppends?: true | undefined;
}

export const ownershipOf = (entry: Entry): Ownership => entry.value as unknown as Ownership;
export const storedOwnership = (ownership: Ownership): BucketValue => ownership as unknown as BucketValue;

/** A shard's heartbeat, which expires unless the shard renews it. Key: the shard's name. */
export interface Heartbeat {
  /** The id of the process, by which it detects that another process has taken over its name. */
  readonly session: string;
  readonly collections: number;
  readonly records: number;
  readonly damages: readonly Damage[];
  /** Nearly full resources, for which the shard refuses writes; absent in heartbeats of earlier versions. */
  readonly full?: readonly ('memory' | 'store')[];
  /** Whether it transfers its collections and then ends: it gets no others. */
  readonly leaving: boolean;
  /** The shard's `PROTOCOL_VERSION`; absent in heartbeats of earlier versions. */
  readonly protocol?: number;
}

/** The shard of a heartbeat, in words. */
export const shardOf = (key: string): string => `shard ${key}`;

export const heartbeatOf = (entry: Entry): Heartbeat => entry.value as unknown as Heartbeat;
export const storedHeartbeat = (heartbeat: Heartbeat): BucketValue => heartbeat as unknown as BucketValue;
