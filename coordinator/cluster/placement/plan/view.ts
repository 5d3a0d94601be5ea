/** The input of planning: shards and collections as one coordinator knows them at one moment. */

export interface ShardView {
  readonly name: string;
  /** Whether it transfers its collections and ends: it gets no others. */
  readonly leaving: boolean;
  /** Whether it has lived long enough to get collections of other shards: a shard that restarts repeatedly gets none. */
  readonly settled: boolean;
}

export interface PlacedCollection {
  readonly id: number;
  /** Undefined before its first owner. */
  readonly owner: string | undefined;
  readonly followers: readonly string[];
  /** The configured number of followers. */
  readonly followersWanted: number;
  /** Whether it moves only if its shard leaves: it is being imported, or its last move failed a moment ago. */
  readonly resting: boolean;
}

export interface PlacementView {
  /** Live shards by name, in the order of names. */
  readonly live: ReadonlyMap<string, ShardView>;
  readonly collections: readonly PlacedCollection[];
  /** Collection → its new owner, while a move is in flight. */
  readonly moving: ReadonlyMap<number, string>;
  /** Whether the shard was away long enough for its collections to get other owners. */
  isLost(shard: string): boolean;
  /** Whether the shard was away long enough for other shards to follow in its place. */
  isGone(shard: string): boolean;
  /** Whether the shard's copy of the collection was damaged a short time ago. */
  isMistrusted(shard: string, collectionId: number): boolean;
}

/** Live shards that are not leaving. */
export const stayingShards = ({ live }: PlacementView): ShardView[] => [...live.values()].filter((one) => !one.leaving);
