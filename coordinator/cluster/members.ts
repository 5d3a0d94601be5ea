/** Which shards live and what each of them owns and follows, as the buckets tell it; and calls to a shard by name. */
import type { Bucket, Entry, Watch } from '../../shared/bucket/bucket.js';
import type { CollectionConfig, ShardCall, ShardResults } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import {
  type Heartbeat,
  heartbeatOf,
  isLater,
  type Ownership,
  ownershipOf,
  storedOwnership,
} from '../../shared/owners.js';
import { shardSubject } from '../../shared/subjects.js';
import type { Envelope, Transport } from '../../shared/transport/transport.js';
import { type Outcome, packCalls, unpackOutcomes, unwrap } from '../../shared/wire.js';

export interface Owned extends Ownership {
  readonly revision: number;
}

/** The process that serves a collection: another one knows nothing of what this one was asked, not even under its name. */
export interface Server {
  readonly shard: string;
  readonly session: string;
  readonly epoch: number;
}

export interface MembersListener {
  /** Another shard owns it, under another epoch, or nobody. */
  ownerChanged(collectionId: number): void;
  /** The process that lives under the shard's name now; undefined: none. */
  processChanged(shard: string, session: string | undefined): void;
}

interface Live {
  readonly heartbeat: Heartbeat;
  /** Of this process's life, as it is known here. */
  readonly sinceMs: number;
}

export class Members {
  readonly #shards = new Map<string, Live>();
  readonly #owned = new Map<number, Owned>();
  readonly #collectionsOf = new Map<string, number>();
  /** When a shard that owns collections was last known to live. */
  readonly #lastSeenMs = new Map<string, number>();
  readonly #listeners: MembersListener[] = [];
  readonly #rereading = new Map<number, Promise<void>>();
  readonly #watches: Watch[] = [];
  #startedMs = 0;
  #greatestId = 0;

  constructor(
    private readonly shards: Bucket,
    private readonly owners: Bucket,
    private readonly transport: Transport,
    private readonly clock: Clock,
    /** A heartbeat vanishes when it is this old. */
    private readonly leaseMs: number,
  ) {}

  /** May be called again where it has failed. */
  async start(): Promise<void> {
    this.stop();
    this.#startedMs = this.clock.monotonicMs();
    this.#watches.push(await this.shards.watch(({ key, entry }) => this.#heartbeatTold(key, entry)));
    this.#watches.push(await this.owners.watch(({ key, entry }) => this.#ownerTold(Number(key), entry)));
  }

  stop(): void {
    for (const watch of this.#watches) watch.stop();
    this.#watches.length = 0;
  }

  /** From now on. */
  listen(listener: MembersListener): void {
    this.#listeners.push(listener);
  }

  liveShards(): string[] {
    return [...this.#shards.keys()];
  }

  heartbeat(shard: string): Heartbeat | undefined {
    return this.#shards.get(shard)?.heartbeat;
  }

  /** How long the process that lives under this name has done so without a break, as far as is known here. */
  liveForMs(shard: string): number {
    const live = this.#shards.get(shard);
    return live === undefined ? 0 : this.clock.monotonicMs() - live.sinceMs;
  }

  owned(): ReadonlyMap<number, Owned> {
    return this.#owned;
  }

  /** Of the collections that ever had an owner, as far as is known here. */
  get greatestId(): number {
    return this.#greatestId;
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

  /** Undefined while its shard has no live heartbeat. */
  serverOf(collectionId: number): Server | undefined {
    const owned = this.#owned.get(collectionId);
    const live = owned && this.#shards.get(owned.shard);
    return live && { shard: owned.shard, session: live.heartbeat.session, epoch: owned.epoch };
  }

  /** Whether a shard that lives follows it. */
  hasFollowers(collectionId: number): boolean {
    const owned = this.#owned.get(collectionId);
    return owned?.followers.some((shard) => this.#shards.has(shard)) ?? false;
  }

  /** Asks the bucket itself who owns the collection now. */
  async reread(collectionId: number): Promise<void> {
    this.#ownerTold(collectionId, await this.owners.get(String(collectionId)));
  }

  /** The same once for all who ask at the same time: what they are told may be as old as the first of these questions. */
  rereadTogether(collectionId: number): Promise<void> {
    let reading = this.#rereading.get(collectionId);
    if (reading === undefined) {
      reading = this.reread(collectionId).finally(() => this.#rereading.delete(collectionId));
      this.#rereading.set(collectionId, reading);
    }
    return reading;
  }

  /** Of the live shards that stay. */
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
    // Counted from now on, so that the next one is not given to the same shard before this is written.
    this.#count(shard, 1);
    const isWritten = await this.#write(ownership, before?.revision).finally(() => this.#count(shard, -1));
    if (isWritten) return shard;
    await this.#rereadRefused(id);
    return this.#owned.get(id)?.shard ?? shard;
  }

  /** Who follows the collection from now on, under the same owner. False where the entry is another by now. */
  async setFollowers(collectionId: number, followers: readonly string[]): Promise<boolean> {
    const before = this.#owned.get(collectionId);
    if (before === undefined) return false;
    const { revision, ...ownership } = before;
    if (await this.#write({ ...ownership, followers }, revision)) return true;
    await this.#rereadRefused(collectionId);
    return false;
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

  /** The revision known here is not the present one, whatever its number: that of the same epoch that is read may be. */
  async #rereadRefused(collectionId: number): Promise<void> {
    const entry = await this.owners.get(String(collectionId));
    const known = this.#owned.get(collectionId);
    if (known !== undefined && entry !== undefined && ownershipOf(entry).epoch === known.epoch)
      this.#owned.set(collectionId, { ...known, revision: Math.min(known.revision, entry.revision) });
    this.#ownerTold(collectionId, entry);
  }

  async #write(ownership: Ownership, before: number | undefined): Promise<boolean> {
    const key = String(ownership.collection.id);
    const revision = await (before === undefined
      ? this.owners.create(key, storedOwnership(ownership))
      : this.owners.update(key, storedOwnership(ownership), before));
    if (revision !== undefined) this.#setOwned(ownership.collection.id, { ...ownership, revision });
    return revision !== undefined;
  }

  #heartbeatTold(shard: string, entry: Entry | undefined): void {
    const nowMs = this.clock.monotonicMs();
    const before = this.#shards.get(shard);
    if (entry === undefined) {
      this.#shards.delete(shard);
      // After an outage of the store this comes late: the shard could not renew, and gets the usual time to come back.
      // Early, where the store's leader has another clock: the shard's own lease counts from what was last heard of it.
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

  #ownerTold(collectionId: number, entry: Entry | undefined): void {
    this.#setOwned(collectionId, entry && { ...ownershipOf(entry), revision: entry.revision });
  }

  #setOwned(collectionId: number, owned: Owned | undefined): void {
    const before = this.#owned.get(collectionId);
    if (owned !== undefined && before !== undefined && isLater(before, owned)) return;
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
