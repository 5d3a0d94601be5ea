/** Who serves what: the entries of the owners bucket and the heartbeats of the shards, as they are stored. */
import type { Entry, Json } from './bucket/bucket.js';
import type { CollectionConfig } from './calls.js';
import type { Damage } from './damage.js';

/** Key: the collection's id. The entry carries all that a shard needs to serve the collection. */
export interface Ownership {
  readonly shard: string;
  /** Counts the owners a collection has had. */
  readonly epoch: number;
  readonly collection: CollectionConfig;
  /**
   * Shards that replay its log beside the owner: they answer eventual searches, and the next owner is one of them where
   * one lives. Never the owner itself.
   */
  readonly followers: readonly string[];
}

export const ownershipOf = (entry: Entry): Ownership => entry.value as unknown as Ownership;
export const storedOwnership = (ownership: Ownership): Json => ownership as unknown as Json;

/** Where an entry stands among those that its key has had. */
export interface Standing {
  readonly epoch: number;
  readonly revision: number;
}

/**
 * The epoch decides: it is part of what is stored. A revision is the server's number of a message, and nats-servers before
 * 2.11 can, once they were killed, number the messages of a stream otherwise than the one that led it before.
 */
export const isLater = (a: Standing, b: Standing): boolean =>
  a.epoch > b.epoch || (a.epoch === b.epoch && a.revision > b.revision);

/** Key: the shard's name. Gone when the shard has not renewed it in time. */
export interface Heartbeat {
  /** One process's life: a second process of the same name takes over, and the first one notices. */
  readonly session: string;
  readonly collections: number;
  readonly records: number;
  readonly damages: readonly Damage[];
  /** It hands its collections over and then ends: it is given none. */
  readonly leaving: boolean;
}

export const heartbeatOf = (entry: Entry): Heartbeat => entry.value as unknown as Heartbeat;
export const storedHeartbeat = (heartbeat: Heartbeat): Json => heartbeat as unknown as Json;
