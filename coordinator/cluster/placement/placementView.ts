/** Builds the input of the planning functions from this coordinator's copies of the buckets. */
import type { Config } from '../../../config/config.js';
import { isImporting } from '../../../shared/registry/catalogEntry.js';
import type { PlacementContext } from './context.js';
import type { Moves } from './moves.js';
import { followersWanted } from './plan/followers.js';
import type { PlacedCollection, PlacementView, ShardView } from './plan/view.js';

/** Long enough for a process that fails at start to have failed. */
const SETTLED_MS = 3_000;
/** Multiple of the failover time after which a lost follower is replaced: later than an owner, since the new one must replay the log. */
const GONE_AFTER_FAILOVERS = 4;
/** A shard whose copy of a collection was damaged gets no other copy of it for so long. */
const MISTRUST_MS = 600_000;
const MISTRUSTED_PARTS: readonly string[] = ['log', 'vault', 'follower'];

export class PlacementViews {
  /** `collection shard` → end of the mistrust. */
  readonly #mistrusted = new Map<string, number>();

  constructor(
    private readonly context: Pick<PlacementContext, 'catalog' | 'members' | 'clock'>,
    private readonly moves: Moves,
    private readonly config: Pick<Config, 'placement' | 'followers'>,
  ) {}

  view(): PlacementView {
    this.#learnMistrust();
    const { members } = this.context;
    const { failoverMs } = this.config.placement;
    return {
      live: this.#live(),
      collections: this.#collections(),
      moving: this.moves.inFlight,
      isLost: (shard) => members.isLost(shard, failoverMs),
      isGone: (shard) => members.isLost(shard, GONE_AFTER_FAILOVERS * failoverMs),
      isMistrusted: (shard, collectionId) => this.#mistrusted.has(`${collectionId} ${shard}`),
    };
  }

  #live(): Map<string, ShardView> {
    const { members } = this.context;
    const settledMs = Math.min(SETTLED_MS, this.config.placement.failoverMs);
    const live = new Map<string, ShardView>();
    for (const name of members.liveShards().sort()) {
      const leaving = members.heartbeat(name)?.leaving ?? false;
      live.set(name, { name, leaving, settled: members.liveForMs(name) >= settledMs });
    }
    return live;
  }

  #collections(): PlacedCollection[] {
    const { catalog, members } = this.context;
    const placed: PlacedCollection[] = [];
    for (const collection of catalog.all()) {
      const { id } = collection;
      const entry = members.owned().get(id);
      placed.push({
        id,
        owner: entry?.shard,
        followers: entry?.followers ?? [],
        followersWanted: followersWanted(this.config.followers, collection),
        resting: isImporting(collection) || this.moves.isBackingOff(id),
      });
    }
    return placed;
  }

  #learnMistrust(): void {
    const { members, clock } = this.context;
    const nowMs = clock.monotonicMs();
    for (const [key, untilMs] of this.#mistrusted) if (untilMs < nowMs) this.#mistrusted.delete(key);
    for (const shard of members.liveShards())
      for (const { collectionId, part } of members.heartbeat(shard)?.damages ?? [])
        if (MISTRUSTED_PARTS.includes(part)) this.#mistrusted.set(`${collectionId} ${shard}`, nowMs + MISTRUST_MS);
  }
}
