/** Stored bytes that did not verify or cannot be opened. A shard reports them with its heartbeat, and `/health` lists them. */

/**
 * Damage of `log` or `vault`: the collection answers no call until its files are mended and its shard is restarted.
 * Of `opening`: opening the collection has stopped shards. It answers no call until an operator releases it.
 * Of `snapshot` or `index`: the file was set aside, and the collection is served from its log.
 * Of `follower`: this shard's copy differs from its owner's. The copy answers no call, and the owner serves the collection.
 */
export type DamagedPart = 'log' | 'vault' | 'opening' | 'snapshot' | 'index' | 'follower';

export interface Damage {
  /** Null: the master key of a machine, which all encrypted records need; part `vault`. */
  readonly collectionId: number | null;
  readonly part: DamagedPart;
  /** Describes the bytes that do not verify, without names of projects, collections or folders. */
  readonly reason: string;
}

/** Largest number of damages in a heartbeat; metrics and log have all. */
export const DAMAGES_REPORTED_MAX = 32;
