/** Stored bytes that did not verify, as a shard tells it with its heartbeat and `/health` tells it to anybody. */

/**
 * `log`, `vault`: the collection answers nothing until its files are mended and its shard is started again.
 * `snapshot`, `index`: the file was set aside, and the collection is served from its log.
 * `follower`: this shard's copy is not what its owner has; it answers nothing, and the owner serves the collection.
 */
export const DAMAGED_PARTS = ['log', 'vault', 'snapshot', 'index', 'follower'] as const;
export type DamagedPart = (typeof DAMAGED_PARTS)[number];

export interface Damage {
  /** Null: of none by itself; the master key of a machine, which all encrypted records need. Part `vault`. */
  readonly collectionId: number | null;
  readonly part: DamagedPart;
  /** What does not verify and where; no name of a project, a collection or a folder. */
  readonly reason: string;
}

/** Told of one shard; how many there are beyond these, its metrics and its log say. */
export const DAMAGES_TOLD_MAX = 32;
