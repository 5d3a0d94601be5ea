/** Live shards, owners and followers of collections, from the watched buckets; and calls to a shard by name. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Entry, Watch } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';
import { unavailable } from '../../../shared/errors/errors.js';
import type { CollectionConfig } from '../../../shared/model/collectionConfig.js';
import type { ShardCall, ShardResults } from '../../../shared/protocol/calls.js';
import { ask } from '../../../shared/protocol/wire.js';
import {
  type Heartbeat,
  heartbeatOf,
  type Ownership,
  ownershipOf,
  storedOwnership,
} from '../../../shared/registry/owners.js';
import { shardSubject } from '../../../shared/transport/subjects.js';
import type { Envelope, Transport } from '../../../shared/transport/transport.js';
import { NotServed } from '../../../shared/transport/transportErrors.js';

export interface Owned extends Ownership {
  readonly revision: number;
}

/** The process that serves a collection. A later process of the same shard has another session and knows none of its calls. */
export interface Server {
  readonly shard: string;
  readonly session: string;
  readonly epoch: number;
}

export interface MembersListener {
  /** Another epoch has begun, or no shard owns the collection. */
  ownerChanged(collectionId: number): void;
  /** `session`: of the shard's live process; undefined without one. */
  processChanged(shard: string, session: string | undefined): void;
}

interface Live {
  readonly heartbeat: Heartbeat;
  /** Since when this session is known here. */
  readonly sinceMs: number;
}

const NONE: readonly string[] = [];

export class Members {
  readonly #shards = new Map<string, Live>();
  readonly #owned = new Map<number, Owned>();
  readonly #collectionsOf = new Map<string, number>();
  /** When each shard was last known to live. */
  readonly #lastSeenMs = new Map<string, number>();
  readonly #listeners: MembersListener[] = [];
  readonly #watches: Watch[] = [];
  #shardsWatch: Watch | undefined;
  #ownersWatch: Watch | undefined;
  #startedMs = 0;
  #greatestId = 0;

  constructor(
    private readonly buckets: { readonly shards: Bucket; readonly owners: Bucket },
    private readonly transport: Transport,
    private readonly clock: Clock,
    /** A heartbeat expires at this age. */
    private readonly leaseMs: number,
  ) {}

  /** May be called again after a failure. */
  async start(): Promise<void> {
    this.stop();
    this.#startedMs = this.clock.monotonicMs();
    this.#shardsWatch = await this.buckets.shards.watch(({ key, entry }) => this.#onHeartbeat(key, entry));
    this.#watches.push(this.#shardsWatch);
    this.#ownersWatch = await this.buckets.owners.watch(({ key, entry }) => this.#onOwner(Number(key), entry));
    this.#watches.push(this.#ownersWatch);
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop();
    this.#watches.length = 0;
  }

  listen(listener: MembersListener): void {
    this.#listeners.push(listener);
  }

  liveShards(): string[] {
    return [...this.#shards.keys()];
  }

  heartbeat(shard: string): Heartbeat | undefined {
    return this.#shards.get(shard)?.heartbeat;
  }

  /** Resolves when this process has received every heartbeat stored before the call. Throws `unavailable`. */
  async shardsCaughtUp(): Promise<void> {
    await this.#shardsWatch?.caughtUp();
  }

  /** How long this process has seen the shard's process live, without a break. */
  liveForMs(shard: string): number {
    const live = this.#shards.get(shard);
    return live === undefined ? 0 : this.clock.monotonicMs() - live.sinceMs;
  }

  owned(): ReadonlyMap<number, Owned> {
    return this.#owned;
  }

  /** The greatest id of a collection that ever had an owner, as last received here. */
  get greatestId(): number {
    return this.#greatestId;
  }

  /** The owner of the collection, if it has a live heartbeat. */
  liveOwner(collectionId: number): string | undefined {
    const shard = this.#owned.get(collectionId)?.shard;
    return shard !== undefined && this.#shards.has(shard) ? shard : undefined;
  }

  /** Whether the shard has had no heartbeat for `absentMs`, counted from this process's start at the earliest. */
  isLost(shard: string, absentMs: number): boolean {
    if (this.#shards.has(shard)) return false;
    return this.clock.monotonicMs() - (this.#lastSeenMs.get(shard) ?? this.#startedMs) >= absentMs;
  }

  /** Shards that are not lost. After a start it first waits for `absentMs`, in which every live shard sends a heartbeat. */
  async notLost(absentMs: number): Promise<string[]> {
    await delay(Math.max(this.#startedMs + absentMs - this.clock.monotonicMs(), 0));
    return [...this.#lastSeenMs.keys()].filter((shard) => !this.isLost(shard, absentMs));
  }

  /** `isLost` with certainty: a stale replica cannot make a live shard look lost. Throws `unavailable`. */
  async isCertainlyLost(shard: string, absentMs: number): Promise<boolean> {
    if (!this.isLost(shard, absentMs)) return false;
    await this.shardsCaughtUp();
    return this.isLost(shard, absentMs);
  }

  /** The current epoch, as last received here; undefined without an owner. */
  epochOf(collectionId: number): number | undefined {
    return this.#owned.get(collectionId)?.epoch;
  }

  /** The process that serves the collection; undefined while the owner has no live heartbeat. */
  serverOf(collectionId: number): Server | undefined {
    const owned = this.#owned.get(collectionId);
    const live = owned && this.#shards.get(owned.shard);
    return live && { shard: owned.shard, session: live.heartbeat.session, epoch: owned.epoch };
  }

  /** The live shards that follow the collection. */
  liveFollowers(collectionId: number): readonly string[] {
    const followers = this.#owned.get(collectionId)?.followers ?? NONE;
    return followers.every((shard) => this.#shards.has(shard))
      ? followers
      : followers.filter((shard) => this.#shards.has(shard));
  }

  /** Resolves when this process has received every owner entry written before the call. Throws `unavailable`. */
  async ownersCaughtUp(): Promise<void> {
    await this.#ownersWatch?.caughtUp();
  }

  /** The least loaded live shard that is not leaving. */
  leastLoaded(): string | undefined {
    let best: string | undefined;
    let fewest = Number.POSITIVE_INFINITY;
    for (const shard of this.liveShards().sort()) {
      const count = this.#collectionsOf.get(shard) ?? 0;
      if (count >= fewest || this.heartbeat(shard)?.leaving) continue;
      best = shard;
      fewest = count;
    }
    return best;
  }

  /**
   * Makes `shard` the owner of a collection, in place of the owner known here. Returns the owner afterwards: another
   * coordinator may have been first. Before a collection gets its first owner, `isListed` must be true: a deleted collection
   * gets no owner, see `disown`.
   */
  async assign(
    collection: CollectionConfig,
    shard: string,
    isListed: () => Promise<boolean>,
  ): Promise<string | undefined> {
    const before = this.#owned.get(collection.id);
    const { id, project, name, dimension, metric, normalise, text, erasable } = collection;
    const { createdAtMs, createdBy, origin } = collection;
    const ownership: Ownership = {
      shard,
      epoch: (before?.epoch ?? 0) + 1,
      collection: {
        ...{ id, project, name, dimension, metric, createdAtMs },
        ...(createdBy && { createdBy }),
        ...(normalise && { normalise }),
        ...(text && { text }),
        ...(erasable && { erasable }),
        ...(origin === undefined ? {} : { origin }),
      },
      followers: (before?.followers ?? []).filter((follower) => follower !== shard),
      takenFrom: before && formerOwners(before).filter((former) => former !== shard),
      mayGetAppends: before && true,
    };
    // Counted at once, so that the next collection does not go to the same shard before this is written.
    this.#count(shard, 1);
    const isWritten = await this.#write(ownership, before?.revision, isListed).finally(() => this.#count(shard, -1));
    if (isWritten) return shard;
    await this.ownersCaughtUp();
    return this.#owned.get(id)?.shard;
  }

  /** Sets the followers under the same owner. False if the entry has changed meanwhile. */
  async setFollowers(collectionId: number, followers: readonly string[]): Promise<boolean> {
    const before = this.#owned.get(collectionId);
    if (before === undefined) return false;
    const { revision, ...ownership } = before;
    if (await this.#write({ ...ownership, followers }, revision)) return true;
    await this.ownersCaughtUp();
    return false;
  }

  /**
   * Takes the collection from its owner. A coordinator that is assigning it fails. Returns the shards that may serve it; undefined
   * if there was no owner entry to read them from.
   */
  async disown(collectionId: number): Promise<readonly string[] | undefined> {
    const entry = await this.buckets.owners.clear(String(collectionId));
    this.#setOwned(collectionId, undefined);
    return entry && holdersOf(ownershipOf(entry));
  }

  ask<C extends ShardCall>(shard: string, call: C, envelope: Envelope): Promise<ShardResults[C['op']]> {
    return ask(this.transport, shardSubject(shard), call, envelope);
  }

  /**
   * Asks one live shard, and the next one if that has ended. `first`: live shards that are known to answer. Throws `unavailable`
   * without a live shard.
   */
  async askAny<C extends ShardCall>(
    call: C,
    envelope: Envelope,
    first: readonly string[] = NONE,
  ): Promise<ShardResults[C['op']]> {
    for (const shard of new Set([...first, ...this.liveShards()]))
      try {
        return await this.ask(shard, call, envelope);
      } catch (error) {
        if (!(error instanceof NotServed)) throw error;
      }
    throw unavailable('no shard answers at the moment; retry shortly');
  }

  async #write(ownership: Ownership, before: number | undefined, isListed?: () => Promise<boolean>): Promise<boolean> {
    const key = String(ownership.collection.id);
    const revision = await (before === undefined
      ? this.buckets.owners.create(key, storedOwnership(ownership), isListed)
      : this.buckets.owners.update(key, storedOwnership(ownership), before));
    if (revision !== undefined) this.#setOwned(ownership.collection.id, { ...ownership, revision });
    return revision !== undefined;
  }

  #onHeartbeat(shard: string, entry: Entry | undefined): void {
    const nowMs = this.clock.monotonicMs();
    const before = this.#shards.get(shard);
    if (entry === undefined) {
      // The deletion may arrive twice.
      if (before === undefined) return;
      this.#shards.delete(shard);
      // The entry expires late after an outage of the store. The shard could not renew, and gets the usual time to come back.
      // It expires early if the clock of the store's leader is ahead. Then count from the last heartbeat, as the shard's lease does.
      this.#lastSeenMs.set(shard, Math.max(this.#lastSeenMs.get(shard) ?? 0, nowMs - this.leaseMs));
    } else {
      const heartbeat = heartbeatOf(entry);
      const isSame = before?.heartbeat.session === heartbeat.session;
      this.#lastSeenMs.set(shard, nowMs);
      this.#shards.set(shard, { heartbeat, sinceMs: isSame && before !== undefined ? before.sinceMs : nowMs });
    }
    const session = entry && heartbeatOf(entry).session;
    if (session === before?.heartbeat.session) return;
    for (const listener of this.#listeners) listener.processChanged(shard, session);
  }

  #onOwner(collectionId: number, entry: Entry | undefined): void {
    this.#setOwned(collectionId, entry && { ...ownershipOf(entry), revision: entry.revision });
  }

  #setOwned(collectionId: number, owned: Owned | undefined): void {
    const before = this.#owned.get(collectionId);
    if (owned !== undefined && before !== undefined && before.revision > owned.revision) return;
    if (before !== undefined) this.#count(before.shard, -1);
    if (owned === undefined) this.#owned.delete(collectionId);
    else {
      this.#owned.set(collectionId, owned);
      this.#greatestId = Math.max(this.#greatestId, collectionId);
      this.#count(owned.shard, 1);
    }
    if (before?.epoch === owned?.epoch) return;
    for (const listener of this.#listeners) listener.ownerChanged(collectionId);
  }

  #count(shard: string, by: number): void {
    this.#collectionsOf.set(shard, (this.#collectionsOf.get(shard) ?? 0) + by);
  }
}

/** Shards that may serve the collection, or have it in memory. */
const holdersOf = (ownership: Ownership): string[] => [...formerOwners(ownership), ...ownership.followers];

/** Shards that may serve the collection: the owner, and earlier owners whose end it may still wait for. */
const formerOwners = ({ shard, takenFrom = [] }: Ownership): string[] => [...new Set([...takenFrom, shard])];
