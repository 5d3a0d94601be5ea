/** The state of the cluster, for `/health` and the metrics: live shards, collections without an owner, followers. */

import type { Config } from '../../../config/config.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import type { Clock } from '../../../shared/clock.js';
import { counted } from '../../../shared/errors/counted.js';
import type { Readings } from '../../../shared/metrics/metrics.js';
import type { Damage } from '../../../shared/model/damage.js';
import type { Platform } from '../../../shared/platform/platform.js';
import { otherVersions } from '../../../shared/protocol/version.js';
import { isImporting } from '../../../shared/registry/catalogEntry.js';
import { shardOf } from '../../../shared/registry/owners.js';
import type { Catalog } from '../catalog/catalog.js';
import type { Collection } from '../catalog/collection.js';
import type { Members } from '../members/members.js';
import { followersWanted } from '../placement/plan/followers.js';
import { storeProbe } from './storeProbe.js';

/** Time for which a new collection may have no owner. */
const PLACED_WITHIN_MS = 5_000;
const CHECK_STORES_EVERY_MS = 2_000;

export interface Health {
  readonly shards: number;
  readonly collections: number;
  readonly records: number;
  /** Why the service cannot do its work; undefined if it can. */
  readonly problem: string | undefined;
  /** Parts that do not work at the moment, although the service continues. */
  readonly impairment: string | undefined;
  /** Damage that shards have found; the rest is served. */
  readonly damages: readonly Damage[];
}

interface Cluster {
  readonly catalog: Catalog;
  readonly members: Members;
  readonly followers: Config['followers'];
}

export class ClusterHealth {
  readonly #storeProblem: () => Promise<string | undefined>;
  /** Streams, buckets and folders that were removed while the service ran, by the last check. */
  #missingStores: readonly string[] = [];
  #checkedMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly platform: Pick<Platform, 'bucket' | 'missing'>,
    private readonly cluster: Cluster,
    private readonly clock: Clock,
  ) {
    this.#storeProblem = storeProbe(() => platform.bucket(BUCKETS.counters));
  }

  async health(): Promise<Health> {
    const shards = this.cluster.members.liveShards();
    const unserved = this.unserved();
    let records = 0;
    const damages: Damage[] = [];
    for (const shard of shards) {
      const heartbeat = this.cluster.members.heartbeat(shard);
      records += heartbeat?.records ?? 0;
      damages.push(...(heartbeat?.damages ?? []));
    }
    return {
      shards: shards.length,
      collections: this.cluster.catalog.size,
      records,
      problem: shards.length === 0 ? 'no shard answers' : await this.#storeProblem(),
      impairment:
        this.#otherVersions(shards) ??
        (unserved === 0
          ? (this.#storeLoss() ?? this.#fullness(shards))
          : `${unserved} of ${counted(this.cluster.catalog.size, 'collection')} ${unserved === 1 ? 'has' : 'have'} no live owner`),
      damages,
    };
  }

  /** The number of collections without a live owner. */
  unserved(): number {
    const nowMs = this.clock.nowMs();
    let unserved = 0;
    for (const collection of this.cluster.catalog.all())
      if (this.cluster.members.liveOwner(collection.id) === undefined && !this.#isBeingPlaced(collection, nowMs))
        unserved++;
    return unserved;
  }

  followerGauges(): Readings {
    const gauges = { vouch_followers_wanted: 0, vouch_followers_present: 0 };
    for (const collection of this.cluster.catalog.all()) {
      gauges.vouch_followers_wanted += followersWanted(this.cluster.followers, collection);
      const followers = this.cluster.members.owned().get(collection.id)?.followers ?? [];
      gauges.vouch_followers_present += followers.filter(
        (shard) => this.cluster.members.heartbeat(shard) !== undefined,
      ).length;
    }
    return gauges;
  }

  #isBeingPlaced(collection: Collection, nowMs: number): boolean {
    const isNew = nowMs - collection.createdAtMs < PLACED_WITHIN_MS || isImporting(collection);
    return isNew && !this.cluster.members.owned().has(collection.id);
  }

  /** Names shards of another protocol version, to which all calls fail. */
  #otherVersions(shards: readonly string[]): string | undefined {
    return otherVersions(shards.map((shard) => [shardOf(shard), this.cluster.members.heartbeat(shard) ?? {}]));
  }

  /** Resources that are nearly full, as reported by the shards. */
  #fullness(shards: readonly string[]): string | undefined {
    const full = (what: 'memory' | 'store'): string[] =>
      shards.filter((shard) => this.cluster.members.heartbeat(shard)?.full?.includes(what));
    const [shortOfMemory, shortOfStore] = [full('memory'), full('store')];
    if (shortOfStore.length > 0)
      return 'the store is nearly full or read-only: writes of the largest projects, or of all, are refused';
    if (shortOfMemory.length === 0) return undefined;
    return `writes are refused, as the memory is nearly full, by ${shortOfMemory.join(', ')}`;
  }

  /** The result of the last check. Starts a due check without waiting for it, since `/health` needs no key. */
  #storeLoss(): string | undefined {
    if (this.clock.monotonicMs() - this.#checkedMs >= CHECK_STORES_EVERY_MS) {
      this.#checkedMs = this.clock.monotonicMs();
      // A store that does not answer is reported by the probe.
      void this.platform.missing().then(
        (missing) => {
          this.#missingStores = missing;
        },
        () => undefined,
      );
    }
    if (this.#missingStores.length === 0) return undefined;
    return `${this.#missingStores.join(', ')}: removed from the store; put it back from a backup, and start the service again`;
  }
}
