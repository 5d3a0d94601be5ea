/** What this coordinator knows at the moment, as the planning functions take it. */
import type { Config } from '../../config/config.js';
import type { Clock } from '../../shared/clock.js';
import type { Catalog } from './catalog.js';
import type { Members } from './members.js';
import type { Moves } from './moves.js';
import { followersWanted } from './plan/followersWanted.js';
import type { PlacedCollection, PlacementView, ShardView } from './plan/view.js';

/** Long enough for a process that fails at start to have failed. */
const SETTLED_MS = 3_000;
/** A follower's place is kept for longer than an owner's: nothing waits for it, and another one would replay the log. */
const GONE_AFTER_REASSIGNS = 4;
/** A copy that was wrong once is let go of, and made anew by another shard: this one is not asked for so long. */
const MISTRUST_MS = 600_000;
const MISTRUSTED_PARTS: readonly string[] = ['log', 'vault', 'follower'];

export class PlacementViews {
  /** `collection shard` → until when. */
  readonly #mistrusted = new Map<string, number>();

  constructor(
    private readonly catalog: Catalog,
    private readonly members: Members,
    private readonly moves: Moves,
    private readonly clock: Clock,
    private readonly config: Pick<Config, 'placement' | 'followers'>,
  ) {}

  view(): PlacementView {
    this.#learnMistrust();
    const { reassignMs } = this.config.placement;
    return {
      live: this.#live(),
      collections: this.#collections(),
      moving: this.moves.underWay,
      isLost: (shard) => this.members.isLost(shard, reassignMs),
      isGone: (shard) => this.members.isLost(shard, GONE_AFTER_REASSIGNS * reassignMs),
      isMistrusted: (shard, collectionId) => this.#mistrusted.has(`${collectionId} ${shard}`),
    };
  }

  #live(): Map<string, ShardView> {
    const settledMs = Math.min(SETTLED_MS, this.config.placement.reassignMs);
    return new Map(
      this.members
        .liveShards()
        .sort()
        .map((name) => {
          const leaving = this.members.heartbeat(name)?.leaving ?? false;
          return [name, { name, leaving, settled: this.members.liveForMs(name) >= settledMs }];
        }),
    );
  }

  #collections(): PlacedCollection[] {
    const owned = this.members.owned();
    const placed: PlacedCollection[] = [];
    for (const collection of this.catalog.all()) {
      const { id, imported } = collection;
      const entry = owned.get(id);
      placed.push({
        id,
        owner: entry?.shard,
        followers: entry?.followers ?? [],
        followersWanted: followersWanted(this.config.followers, collection),
        resting: imported?.finished === false || this.moves.isResting(id),
      });
    }
    return placed;
  }

  #learnMistrust(): void {
    const nowMs = this.clock.monotonicMs();
    for (const [key, untilMs] of this.#mistrusted) if (untilMs < nowMs) this.#mistrusted.delete(key);
    for (const shard of this.members.liveShards())
      for (const { collectionId, part } of this.members.heartbeat(shard)?.damages ?? [])
        if (MISTRUSTED_PARTS.includes(part)) this.#mistrusted.set(`${collectionId} ${shard}`, nowMs + MISTRUST_MS);
  }
}
