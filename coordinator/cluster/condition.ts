/** How the cluster is, for `/health` and the metrics: who lives, what nobody serves, who follows. */
import type { Config } from '../../config/config.js';
import type { Clock } from '../../shared/clock.js';
import type { Damage } from '../../shared/damage.js';
import { BUCKETS, type Platform } from '../../shared/platform.js';
import type { Collection, Health } from '../backend.js';
import type { Catalog } from './catalog.js';
import type { ClusterGauges } from './clusterMetrics.js';
import type { Members } from './members.js';
import { followersWanted } from './plan/followersWanted.js';
import { StoreProbe } from './storeProbe.js';

/** A collection that is made this moment has no owner yet. */
const PLACED_WITHIN_MS = 5_000;

export class Condition {
  readonly #store: StoreProbe;

  constructor(
    platform: Pick<Platform, 'bucket'>,
    private readonly catalog: Catalog,
    private readonly members: Members,
    private readonly followers: Config['followers'],
    private readonly clock: Clock,
  ) {
    this.#store = new StoreProbe(() => platform.bucket(BUCKETS.counters));
  }

  async health(): Promise<Health> {
    const shards = this.members.liveShards();
    const unserved = this.unserved();
    let records = 0;
    const damages: Damage[] = [];
    for (const shard of shards) {
      const heartbeat = this.members.heartbeat(shard);
      records += heartbeat?.records ?? 0;
      damages.push(...(heartbeat?.damages ?? []));
    }
    return {
      shards: shards.length,
      collections: this.catalog.size,
      records,
      problem: shards.length === 0 ? 'no shard answers' : await this.#store.problem(),
      impairment: unserved === 0 ? undefined : `${unserved} of ${this.catalog.size} collections have no live owner`,
      damages,
    };
  }

  /** Collections whose owner does not live. */
  unserved(): number {
    const nowMs = this.clock.nowMs();
    let unserved = 0;
    for (const collection of this.catalog.all())
      if (this.members.liveOwner(collection.id) === undefined && !this.#isBeingPlaced(collection, nowMs)) unserved++;
    return unserved;
  }

  followerGauges(): Pick<ClusterGauges, 'followersWanted' | 'followersPresent'> {
    const gauges = { followersWanted: 0, followersPresent: 0 };
    for (const collection of this.catalog.all()) {
      gauges.followersWanted += followersWanted(this.followers, collection);
      const followers = this.members.owned().get(collection.id)?.followers ?? [];
      gauges.followersPresent += followers.filter((shard) => this.members.heartbeat(shard) !== undefined).length;
    }
    return gauges;
  }

  #isBeingPlaced({ id, createdAtMs, imported }: Collection, nowMs: number): boolean {
    const isNew = nowMs - createdAtMs < PLACED_WITHIN_MS || imported?.finished === false;
    return isNew && !this.members.owned().has(id);
  }
}
