/** The entries of the owners bucket and the heartbeats of the shards, as they are stored. */
import type { BucketValue, Entry } from '../bucket/bucket.js';
import type { CollectionConfig } from '../model/collectionConfig.js';
import type { Damage } from '../model/damage.js';

/** All that a shard needs to serve a collection. Key: the collection's id. */
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
   * Shards that owned it before and were taken for lost. One may have come back before this entry was stored, and serves until it
   * sees it: the owner begins when each has given it up. Absent: it was handed over, or is new.
   */
  readonly takenFrom?: readonly string[] | undefined;
  /** Whether an append of an owner before may be on its way to the log. Absent: none is. */
  readonly mayGetAppends?: true | undefined;
}

export const ownershipOf = (entry: Entry): Ownership => entry.value as unknown as Ownership;
export const storedOwnership = (ownership: Ownership): BucketValue => ownership as unknown as BucketValue;

/** A shard's heartbeat, which expires if the shard does not renew it. Key: the shard's name. */
export interface Heartbeat {
  /** The id of the process: by it a process notices that another one of its name has taken over. */
  readonly session: string;
  readonly collections: number;
  readonly records: number;
  readonly damages: readonly Damage[];
  /** The resources that are nearly full, so that the shard refuses writes; missing in heartbeats of earlier versions. */
  readonly full?: readonly ('memory' | 'store')[];
  /** Whether it transfers its collections and then ends: it is given none. */
  readonly leaving: boolean;
  /** The shard's `PROTOCOL_VERSION`; missing in those of earlier versions. */
  readonly protocol?: number;
}

/** The shard of a heartbeat, in words. */
export const shardOf = (key: string): string => `shard ${key}`;

export const heartbeatOf = (entry: Entry): Heartbeat => entry.value as unknown as Heartbeat;
export const storedHeartbeat = (heartbeat: Heartbeat): BucketValue => heartbeat as unknown as BucketValue;
