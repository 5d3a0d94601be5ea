/** Stored bytes that did not verify or cannot be opened. A shard reports them with its heartbeat, and `/health` lists them. */

/**
 * `log`, `vault`: the collection answers nothing until its files are mended and its shard is started again.
 * `opening`: opening the collection has stopped shards. It answers nothing until an operator releases it.
 * `snapshot`, `index`: the file was set aside, and the collection is served from its log.
 * `follower`: this shard's copy is not what its owner has; it answers nothing, and the owner serves the collection.
 */
export type DamagedPart = 'log' | 'vault' | 'opening' | 'snapshot' | 'index' | 'follower';

export interface Damage {
  /** Null: the master key of a machine, which all encrypted records need; part `vault`. */
  readonly collectionId: number | null;
  readonly part: DamagedPart;
  /** What does not verify, without names of projects, collections or folders. */
  readonly reason: string;
}

/** The most damages in a heartbeat; metrics and log have all. */
export const DAMAGES_TOLD_MAX = 32;
