/**
 * One shard: owns and follows the collections that the owners bucket assigns to it. It answers for collections that it owns only
 * while its lease is valid, and for those that it follows without a lease.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Change, Watch } from '../../shared/bucket/bucket.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { LogLosses } from '../../shared/log/eventLog.js';
import type { Readings } from '../../shared/metrics/metrics.js';
import { INDEX_KINDS, type IndexKind } from '../../shared/model/indexKinds.js';
import { whenAvailable } from '../../shared/process/startUp.js';
import { packCalls } from '../../shared/protocol/wire.js';
import { type Heartbeat, ownershipOf } from '../../shared/registry/owners.js';
import { KeyedMutex } from '../../shared/scheduling/mutex.js';
import { shardSubject } from '../../shared/transport/subjects.js';
import type { Serving } from '../../shared/transport/transport.js';
import { NotServed } from '../../shared/transport/transportErrors.js';
import { CallRunner } from '../answering/callRunner.js';
import type { CollectionHandle } from '../collection/collectionHandle.js';
import type { Follower } from '../follow/follower.js';
import { Following } from '../follow/following.js';
import { ReadIndex } from '../follow/readIndex.js';
import type { VaultCalls } from '../vault/vaultCalls.js';
import { CollectionReplica, type ReplicaServices } from './collectionReplica.js';
import { drain } from './drain.js';
import { LogWatch } from './logWatch.js';
import { OwnershipTransfer } from './ownershipTransfer.js';
import { Rejoin } from './rejoin.js';
import { ShardRpc } from './shardRpc.js';

interface NodeOptions extends Omit<ReplicaServices, 'follow'> {
  /** BUCKETS.owners. */
  readonly owners: Bucket;
  readonly losses: LogLosses;
  readonly vaultCalls: VaultCalls;
  /** Greatest age of a follower's state for an eventual search; see `config.followers`. */
  readonly staleMs: number;
}

export class ShardNode {
  readonly following: Following;
  readonly #replicas = new Map<number, CollectionReplica>();
  /** Deleted collections that this shard has dropped. A late owner entry must not bring them back. */
  readonly #dropped = new Set<number>();
  /** One drop at a time, by collection id. */
  readonly #drops = new KeyedMutex<number>();
  readonly #services: ReplicaServices;
  readonly #rpc: ShardRpc;
  readonly #transfer: OwnershipTransfer;
  readonly #owners: Bucket;
  readonly #logWatch: LogWatch;
  readonly #watches: Watch[] = [];
  #ownersWatch: Watch | undefined;
  readonly #stopping = new AbortController();
  /** Undefined once it is decided which collections of its earlier process this shard still owns. */
  #rejoin: Rejoin | undefined;
  #serving: Serving | undefined;
  #isLeaving = false;

  constructor({ shard, owners, context, lease, losses, vaultCalls, staleMs, onServing }: NodeOptions) {
    const { metrics, clock, logger, admission, quota } = context;
    const runner = new CallRunner({ metrics, clock, logger }, admission, context.transport);
    const readIndex = new ReadIndex(context.transport, clock, metrics);
    const follow = { ...context, shard, all: new Set<Follower>(), runner, readIndex, staleMs };
    const services = { shard, context, lease, follow, onServing };
    const { signal } = this.#stopping;
    const adopt = (ids: readonly number[]): Promise<void> => this.#adopt(ids);
    const drop = (id: number): Promise<void> => this.#dropCollection(id);
    this.#services = services;
    this.#owners = owners;
    this.following = new Following(follow);
    this.#rejoin = new Rejoin(services, owners, signal);
    this.#transfer = new OwnershipTransfer(services, owners, signal);
    this.#rpc = new ShardRpc(services, {
      ...{ replicas: this.#replicas, transfer: this.#transfer },
      ...{ vaultCalls, adopt, drop },
    });
    this.#logWatch = new LogWatch(losses, () => this.collections(), lease, logger);
    quota.attach({ name: shard, collections: () => this.collections() });
  }

  async start(): Promise<void> {
    const { shard, lease, context } = this.#services;
    await this.#stopPredecessor();
    await lease.start();
    const watch = (): Promise<Watch> => this.#owners.watch((change) => void this.#ownerChanged(change));
    this.#ownersWatch = await whenAvailable('the owners', watch, context);
    this.#watches.push(this.#ownersWatch);
    await this.#rejoinCluster();
    // Answer calls before the collections are served: other shards that start may wait for this shard's answers.
    this.#serving = await context.transport.serve(shardSubject(shard), (message) =>
      this.#services.follow.runner.answer(message, this.#rpc),
    );
    await Promise.all([...this.#replicas.values()].map((replica) => replica.converged()));
    await context.indexes.store.sweep((id) => this.#replicas.has(id));
    await context.snapshots?.store.sweep((id) => this.#replicas.has(id));
    const { desired } = context.indexes;
    const watchSpecs = (): Promise<Watch> => desired.watch((id) => this.#replicas.get(id)?.applyDesiredIndex());
    this.#watches.push(await whenAvailable('the catalog', watchSpecs, context));
    this.following.start();
    this.#logWatch.start();
  }

  /**
   * Asks a process that still runs under this name to give up its lease: it must not answer once this one accepts writes. If it
   * does not reply, waits until its lease has expired.
   */
  async #stopPredecessor(): Promise<void> {
    const { shard, lease, context } = this.#services;
    const { transport, clock, logger } = context;
    const envelope = { requestId: 'succeed', deadlineMs: clock.nowMs() + lease.leaseMs };
    try {
      await transport.request(shardSubject(shard), packCalls([{ ...envelope, call: { op: 'yield' } }]), envelope);
    } catch (error) {
      if (error instanceof NotServed) return;
      logger.warn({ shard, error: messageOf(error) }, 'an earlier process with this name does not answer');
      await delay(Math.max(envelope.deadlineMs - clock.nowMs(), 0));
    }
  }

  /** Decides which collections of its earlier process this shard still owns; see `rejoin.ts`. */
  async #rejoinCluster(): Promise<void> {
    const rejoin = this.#rejoin as Rejoin;
    await rejoin.run((change) => void this.#receiveEntry(change));
    await whenAvailable('the owners', () => this.confirmOwned(), this.#services.context);
    this.#rejoin = undefined;
    for (const change of rejoin.remaining) void this.#receiveEntry(change);
  }

  /** Drains the shard; see `drain.ts`. `shards`: BUCKETS.shards. */
  async leave(shards: Bucket, drainTimeoutMs: number): Promise<void> {
    if (this.#isLeaving || this.#stopping.signal.aborted) return;
    this.#isLeaving = true;
    const { shard, lease, context } = this.#services;
    // Report the drain at once: otherwise placement may assign another collection to this shard.
    await lease.renew();
    try {
      await drain(this.#services, { replicas: this.#replicas, transfer: this.#transfer }, shards, drainTimeoutMs);
    } catch (error) {
      context.logger.warn({ shard, error: messageOf(error) }, 'the collections could not be moved away');
    }
  }

  /** Accepts no new call, answers those in flight, and closes everything. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#logWatch.stop();
    for (const watch of this.#watches) watch.stop();
    await this.#serving?.stop();
    await this.following.stop();
    await Promise.all([...this.#replicas.values()].map((replica) => replica.stop({ keep: true })));
    await this.#drops.allIdle();
    this.#replicas.clear();
    await this.#services.lease.stop();
  }

  /** Load that the heartbeat reports to the cluster. */
  get load(): Omit<Heartbeat, 'session'> {
    let records = 0;
    let collections = 0;
    for (const { ownedOrInTransfer: handle } of this.#replicas.values()) {
      if (handle === undefined) continue;
      collections++;
      records += handle.knownRecords;
    }
    const { damages, memoryGuard, storeGuard } = this.#services.context;
    const full = [...(memoryGuard.isFull ? ['memory' as const] : []), ...(storeGuard.isFull ? ['store' as const] : [])];
    return { collections, records, damages: damages.reported(), full, leaving: this.#isLeaving };
  }

  gauges(): Readings {
    const now = {
      ...{ vouch_collections: 0, vouch_collections_open: 0, vouch_collections_quarantined: 0, vouch_records: 0 },
      ...{ vouch_index_tail_rows: 0, vouch_index_bytes: 0, vouch_index_building: 0, vouch_index_build_progress: 1 },
      vouch_index_generations: Object.fromEntries(INDEX_KINDS.map((kind) => [kind, 0])) as Record<IndexKind, number>,
    };
    for (const { openCollection, quarantined, knownRecords } of this.collections()) {
      now.vouch_collections++;
      if (quarantined) now.vouch_collections_quarantined++;
      now.vouch_records += knownRecords;
      if (openCollection === undefined) continue;
      now.vouch_collections_open++;
      const { serving, tail, bytes, progress } = openCollection.index;
      if (serving !== 'brute') now.vouch_index_generations[serving]++;
      now.vouch_index_tail_rows += tail;
      now.vouch_index_bytes += bytes;
      if (progress === undefined) continue;
      now.vouch_index_building++;
      now.vouch_index_build_progress = Math.min(now.vouch_index_build_progress, progress);
    }
    return now;
  }

  /** Call it when the failures of the collection's openings have changed. */
  checkFailedOpenings(collectionId: number): void {
    this.#replicas.get(collectionId)?.checkFailedOpenings();
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Returns a collection that this shard owns, unless it is in transfer. */
  owned(collectionId: number): CollectionHandle | undefined {
    return this.#replicas.get(collectionId)?.owned;
  }

  /** Yields the collections that this shard owns, except those in transfer. */
  *collections(): Generator<CollectionHandle> {
    for (const { owned } of this.#replicas.values()) if (owned !== undefined) yield owned;
  }

  /** Resolves when this shard knows all owner entries as of this call. It then serves no collection that another shard owns. */
  async confirmOwned(): Promise<void> {
    await this.#ownersWatch?.caughtUp();
  }

  /** Resolves when this shard has the role that the current owner entry of each collection gives it. */
  async #adopt(collectionIds: readonly number[]): Promise<void> {
    await this.confirmOwned();
    await Promise.all(collectionIds.map((id) => this.#replicas.get(id)?.converged()));
  }

  async #ownerChanged(change: Change): Promise<void> {
    if (!this.#rejoin?.defers(change)) await this.#receiveEntry(change);
  }

  async #receiveEntry({ key, entry }: Change): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { shard, context } = this.#services;
    const id = Number(key);
    const ownership = entry && ownershipOf(entry);
    if (ownership === undefined) context.quota.ownerGone(id);
    else context.quota.ownerKnown(id, ownership.collection.project, ownership.shard);
    let replica = this.#replicas.get(id);
    if (replica === undefined) {
      const isHere = ownership?.shard === shard || ownership?.followers.includes(shard);
      if (!isHere || this.#dropped.has(id)) return;
      replica = new CollectionReplica(id, this.#services);
      this.#replicas.set(id, replica);
    }
    await replica.receiveEntry(ownership, entry?.revision ?? 0);
    if (replica.isEmpty && this.#replicas.get(id) === replica) this.#replicas.delete(id);
  }

  /** Stops serving a deleted collection at once, and removes its files, also those that an earlier drop could not remove. */
  #dropCollection(collectionId: number): Promise<void> {
    this.#dropped.add(collectionId);
    const stopped = this.#replicas.get(collectionId)?.stop({ keep: false });
    this.#replicas.delete(collectionId);
    stopped?.catch(() => undefined);
    return this.#drops.run(collectionId, async () => {
      if (stopped !== undefined) return stopped;
      const { indexes, snapshots } = this.#services.context;
      await indexes.store.removeAll(collectionId);
      await snapshots?.store.removeAll(collectionId);
    });
  }
}
