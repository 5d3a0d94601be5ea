/** Which shards live and what each of them owns, as the buckets tell it; and calls to a shard by name. */
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import type { CollectionConfig, ShardCall, ShardResults } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { type Heartbeat, heartbeatOf, type Ownership, ownershipOf, storedOwnership } from '../../shared/owners.js';
import { shardSubject } from '../../shared/subjects.js';
import type { Envelope, Transport } from '../../shared/transport/transport.js';
import { type Outcome, packCalls, unpackOutcomes, unwrap } from '../../shared/wire.js';

export interface Owned extends Ownership {
  readonly revision: number;
}

export class Members {
  readonly #shards = new Map<string, Heartbeat>();
  readonly #owned = new Map<number, Owned>();
  readonly #collectionsOf = new Map<string, number>();
  /** When a shard that owns collections was last known to live. */
  readonly #lastSeenMs = new Map<string, number>();
  readonly #watches: Watch[] = [];
  #startedMs = 0;

  constructor(
    private readonly shards: Bucket,
    private readonly owners: Bucket,
    private readonly transport: Transport,
    private readonly clock: Clock,
    /** A heartbeat vanishes when it is this old. */
    private readonly leaseMs: number,
  ) {}

  async start(): Promise<void> {
    this.#startedMs = this.clock.monotonicMs();
    this.#watches.push(
      await this.shards.watch(({ key, entry }) => {
        const nowMs = this.clock.monotonicMs();
        if (entry === undefined) {
          this.#shards.delete(key);
          // After an outage of the store this comes late: the shard could not renew, and gets the usual time to come back.
          this.#lastSeenMs.set(key, nowMs - this.leaseMs);
          return;
        }
        this.#lastSeenMs.set(key, nowMs);
        this.#shards.set(key, heartbeatOf(entry));
      }),
      await this.owners.watch(({ key, entry }) => {
        this.#setOwned(Number(key), entry && { ...ownershipOf(entry), revision: entry.revision });
      }),
    );
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop();
  }

  liveShards(): ReadonlyMap<string, Heartbeat> {
    return this.#shards;
  }

  owned(): ReadonlyMap<number, Owned> {
    return this.#owned;
  }

  /** The shard that owns the collection and has a live heartbeat. */
  liveOwner(collectionId: number): string | undefined {
    const shard = this.#owned.get(collectionId)?.shard;
    return shard !== undefined && this.#shards.has(shard) ? shard : undefined;
  }

  /** Not heard of for `silenceMs`, counted from this process's start at the earliest. */
  isLost(shard: string, silenceMs: number): boolean {
    if (this.#shards.has(shard)) return false;
    return this.clock.monotonicMs() - (this.#lastSeenMs.get(shard) ?? this.#startedMs) >= silenceMs;
  }

  /** Of the ownership under which the collection is served now, as far as is known here. */
  epochOf(collectionId: number): number | undefined {
    return this.#owned.get(collectionId)?.epoch;
  }

  /**
   * Names the process that serves the collection; undefined while its shard has no live heartbeat. Another process knows
   * nothing of what this one was asked, not even where it has the same shard's name and epoch.
   */
  processOf(collectionId: number): string | undefined {
    const owned = this.#owned.get(collectionId);
    const heartbeat = owned && this.#shards.get(owned.shard);
    return heartbeat && `${owned.epoch} ${heartbeat.session}`;
  }

  /** Asks the bucket itself who owns the collection. */
  async reread(collectionId: number): Promise<void> {
    const entry = await this.owners.get(String(collectionId));
    this.#setOwned(collectionId, entry && { ...ownershipOf(entry), revision: entry.revision });
  }

  leastLoaded(): string | undefined {
    let best: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const shard of [...this.#shards.keys()].sort()) {
      const count = this.#collectionsOf.get(shard) ?? 0;
      if (count < fewest) {
        best = shard;
        fewest = count;
      }
    }
    return best;
  }

  /**
   * Gives a collection nobody owns to `shard`, or takes it from the owner this process knows of. Returns who owns it
   * afterwards: another coordinator may have been quicker.
   */
  async assign(collection: CollectionConfig, shard: string): Promise<string> {
    const before = this.#owned.get(collection.id);
    const { id, project, name, dimension, metric, createdAtMs, origin } = collection;
    const ownership: Ownership = {
      shard,
      epoch: (before?.epoch ?? 0) + 1,
      collection: {
        ...{ id, project, name, dimension, metric, createdAtMs },
        ...(origin === undefined ? {} : { origin }),
      },
      followers: (before?.followers ?? []).filter((follower) => follower !== shard),
    };
    const key = String(id);
    // Counted from now on, so that the next one is not given to the same shard before this is written.
    this.#count(shard, 1);
    const revision = await (before === undefined
      ? this.owners.create(key, storedOwnership(ownership))
      : this.owners.update(key, storedOwnership(ownership), before.revision)
    ).finally(() => this.#count(shard, -1));
    if (revision !== undefined) {
      this.#setOwned(id, { ...ownership, revision });
      return shard;
    }
    const entry = await this.owners.get(key);
    this.#setOwned(id, entry && { ...ownershipOf(entry), revision: entry.revision });
    return entry === undefined ? shard : ownershipOf(entry).shard;
  }

  async disown(collectionId: number): Promise<void> {
    await this.owners.delete(String(collectionId));
    this.#setOwned(collectionId, undefined);
  }

  async ask<C extends ShardCall>(shard: string, call: C, envelope: Envelope): Promise<ShardResults[C['op']]> {
    const { requestId, deadlineMs } = envelope;
    const answer = await this.transport.request(
      shardSubject(shard),
      packCalls([{ requestId, deadlineMs, call }]),
      envelope,
    );
    return unwrap(unpackOutcomes(answer)[0] as Outcome);
  }

  #setOwned(collectionId: number, owned: Owned | undefined): void {
    const before = this.#owned.get(collectionId);
    if (owned !== undefined && before !== undefined && before.revision > owned.revision) return;
    if (before !== undefined) this.#count(before.shard, -1);
    if (owned === undefined) {
      this.#owned.delete(collectionId);
      return;
    }
    this.#owned.set(collectionId, owned);
    this.#count(owned.shard, 1);
  }

  #count(shard: string, by: number): void {
    this.#collectionsOf.set(shard, (this.#collectionsOf.get(shard) ?? 0) + by);
  }
}
