/** What placement is decided from: the shards and collections as one coordinator knows them at one moment. Pure data. */

export interface ShardView {
  readonly name: string;
  /** It hands its collections over and ends: it is given nothing. */
  readonly leaving: boolean;
  /** Has lived for long enough to be given what others hold: one that comes and goes must not make collections do so too. */
  readonly settled: boolean;
}

export interface PlacedCollection {
  readonly id: number;
  /** Undefined: it was never given to a shard. */
  readonly owner: string | undefined;
  readonly followers: readonly string[];
  /** How many followers it should have. */
  readonly followersWanted: number;
  /** Better left where it is, unless its shard leaves: it is being imported, or would not move a moment ago. */
  readonly resting: boolean;
}

export interface PlacementView {
  /** By name; in the order of their names. */
  readonly live: ReadonlyMap<string, ShardView>;
  readonly collections: readonly PlacedCollection[];
  /** Collection → where it is being moved to: nobody else decides about it. */
  readonly moving: ReadonlyMap<number, string>;
  /** Not heard of for so long that what it owns is given to others. */
  isLost(shard: string): boolean;
  /** Not heard of for so long that somebody else is to follow in its place. */
  isGone(shard: string): boolean;
  /** Its copy of the collection was found to be wrong. */
  isMistrusted(shard: string, collectionId: number): boolean;
}

/** Live, and not about to end. */
export const stayingShards = ({ live }: PlacementView): ShardView[] => [...live.values()].filter((one) => !one.leaving);
