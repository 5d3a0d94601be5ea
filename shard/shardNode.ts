/** One shard: owns and follows the collections that the owners bucket gives it, as long as its lease holds. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Change, Watch } from '../shared/bucket/bucket.js';
import { areShardCalls } from '../shared/callShapes.js';
import { messageOf } from '../shared/errors.js';
import { type Heartbeat, type Ownership, ownershipOf } from '../shared/owners.js';
import { whenAvailable } from '../shared/startUp.js';
import { shardSubject } from '../shared/subjects.js';
import { NobodyServes } from '../shared/transport/nobodyServes.js';
import type { Serving } from '../shared/transport/transport.js';
import { packCalls } from '../shared/wire.js';
import { Answering } from './answering.js';
import type { CollectionContext } from './collection/collectionContext.js';
import { Comeback } from './comeback.js';
import { Following } from './follow/following.js';
import { followServices } from './follow/followServices.js';
import { HandOvers } from './handOver.js';
import { Heirs } from './heirs.js';
import type { HostedCollection } from './hostedCollection.js';
import type { IndexGauges } from './index/indexMetrics.js';
import type { Lease } from './lease.js';
import { type LeaveOptions, untilLeft } from './leaving.js';
import type { Gauges } from './metrics.js';
import { NamedCalls } from './namedCalls.js';
import { Place, type PlaceServices } from './place.js';

export interface ShardNodeParts {
  /** The shard's name. */
  readonly name: string;
  /** BUCKETS.owners. */
  readonly owners: Bucket;
  readonly context: CollectionContext;
  readonly lease: Lease;
  /** As `config.followers.staleMs`. */
  readonly staleMs: number;
  /** Called when a collection begins to be served. */
  readonly onServing: () => void;
}

export class ShardNode {
  readonly #places = new Map<number, Place>();
  /** Deleted while this shard served them: an owner entry that lingers must not bring them back. */
  readonly #dropped = new Set<number>();
  readonly #services: PlaceServices;
  readonly #following: Following;
  readonly #handOvers: HandOvers;
  readonly #named: NamedCalls;
  readonly #watches: Watch[] = [];
  /** Until it is settled what is still this shard's. */
  #comeback: Comeback | undefined;
  #serving: Serving | undefined;
  #isStopping = false;
  #isLeaving = false;

  constructor(private readonly parts: ShardNodeParts) {
    const { name: shard, owners, context, lease, staleMs, onServing } = parts;
    const { transport, damages, metrics, clock, logger, admission, openings, quota } = context;
    const answering = new Answering(lease, metrics, admission, clock, logger);
    const follow = followServices({
      ...{ transport, answering, admission, openings, damages, clock, logger, staleMs },
      metrics: metrics.follow,
    });
    this.#services = { shard, context, answering, follow, onServing };
    this.#following = new Following(follow);
    const isEnding = (): boolean => this.#isStopping;
    const handOvers = new HandOvers({ shard, owners, quota, metrics: metrics.moves, clock, logger, isEnding });
    this.#handOvers = handOvers;
    this.#comeback = new Comeback({ shard, owners, follow, logger, isEnding });
    const lookUp = (id: number): Promise<void> => this.#lookUp(id);
    const drop = (id: number): Promise<void> => this.#drop(id);
    this.#named = new NamedCalls({ places: this.#places, context, lease, handOvers, lookUp, drop });
    quota.attach({ name: shard, collections: () => this.collections() });
  }

  async start(): Promise<void> {
    const { name, owners, lease, context } = this.parts;
    await this.#succeed();
    await lease.start();
    const watch = (): Promise<Watch> => owners.watch((change) => void this.#ownerChanged(change));
    this.#watches.push(await whenAvailable('the owners', watch, context));
    await this.#comeBack();
    await Promise.all([...this.#places.values()].map((place) => place.settled()));
    await context.indexes.store.sweep((id) => this.#places.has(id));
    await context.snapshots?.store.sweep((id) => this.#places.has(id));
    this.#serving = await context.transport.serve(shardSubject(name), (message) =>
      this.#services.answering.answer(message, areShardCalls, ({ call, deadlineMs }) =>
        this.#named.run(call, deadlineMs),
      ),
    );
    const { desired } = context.indexes;
    const follow = (): Promise<Watch> => desired.watch((id) => this.#places.get(id)?.indexAsDesired());
    this.#watches.push(await whenAvailable('the catalog', follow, context));
    this.#following.start();
  }

  /**
   * A process that still runs under this name must not answer from what it knows once this one takes writes. It is asked
   * to stop; where it cannot even say that it did, its lease ends by itself meanwhile.
   */
  async #succeed(): Promise<void> {
    const { name, lease, context } = this.parts;
    const { transport, clock, logger } = context;
    const envelope = { requestId: 'succeed', deadlineMs: clock.nowMs() + lease.leaseMs };
    try {
      await transport.request(shardSubject(name), packCalls([{ ...envelope, call: { op: 'yield' } }]), envelope);
    } catch (error) {
      if (error instanceof NobodyServes) return;
      logger.warn({ shard: name, error: messageOf(error) }, 'an earlier process of this name does not answer');
      await delay(Math.max(envelope.deadlineMs - clock.nowMs(), 0));
    }
  }

  async #comeBack(): Promise<void> {
    const comeback = this.#comeback as Comeback;
    await comeback.passOn((change) => void this.#entryIs(change));
    this.#comeback = undefined;
    for (const change of comeback.left()) void this.#entryIs(change);
  }

  /** Has its collections moved to other shards. Resolves when it owns none, or none will move any more. */
  async leave(options: Pick<LeaveOptions, 'shards' | 'leaveMs'>): Promise<void> {
    if (this.#isLeaving || this.#isStopping) return;
    this.#isLeaving = true;
    const { name, lease, context } = this.parts;
    const { clock, logger } = context;
    // At once: every round that does not know of it may bring another collection.
    await lease.tell();
    const owned = (): number => this.load.collections;
    const isAwaited = (others: ReadonlySet<string>): boolean =>
      [...this.#owned()].some(({ owned, ownership }) => owned?.isHeld || isFollowedBy(ownership, others));
    const handOver = async (others: ReadonlySet<string>): Promise<void> => {
      const followers = [...this.#owned()].flatMap(({ ownership }) => ownership?.followers ?? []);
      const heirs = await Heirs.among(
        followers.filter((shard) => others.has(shard)),
        this.#services.follow,
      );
      await this.#handOvers.handOverTo(heirs, this.#owned());
    };
    const isLeaseValid = (): boolean => lease.valid;
    try {
      await untilLeft({ ...options, shard: name, owned, isAwaited, handOver, isLeaseValid, clock, logger });
    } catch (error) {
      logger.warn({ shard: name, error: messageOf(error) }, 'the collections could not be moved away');
    }
  }

  /** Takes no new call, answers those under way, and lets go of everything. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const watch of this.#watches) watch.stop();
    await this.#serving?.stop();
    await this.#following.stop();
    await Promise.all([...this.#places.values()].map((place) => place.stop({ keep: true })));
    this.#places.clear();
    await this.parts.lease.stop();
  }

  get load(): Omit<Heartbeat, 'session'> {
    let records = 0;
    let collections = 0;
    for (const { held } of this.#places.values()) {
      if (held === undefined) continue;
      collections++;
      records += held.knownRecords;
    }
    return { collections, records, damages: this.parts.context.damages.told(), leaving: this.#isLeaving };
  }

  gauges(vectorBytes: number): Gauges {
    const now = { collections: 0, openCollections: 0, quarantinedCollections: 0, records: 0, vectorBytes };
    for (const collection of this.collections()) {
      now.collections++;
      if (collection.isOpen) now.openCollections++;
      if (collection.quarantined) now.quarantinedCollections++;
      now.records += collection.knownRecords;
    }
    return now;
  }

  indexGauges(): IndexGauges {
    const now = { generations: { hnsw: 0, ivf: 0, bq: 0 }, tailRows: 0, bytes: 0, building: 0, progress: 1 };
    for (const { indexLoad, serving } of this.collections()) {
      if (indexLoad === undefined) continue;
      if (serving !== 'brute') now.generations[serving]++;
      now.tailRows += indexLoad.tail;
      now.bytes += indexLoad.bytes;
      if (indexLoad.progress === undefined) continue;
      now.building++;
      now.progress = Math.min(now.progress, indexLoad.progress);
    }
    return now;
  }

  get following(): Following {
    return this.#following;
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Those that it owns and is not handing over. */
  *collections(): Generator<HostedCollection> {
    for (const { owned } of this.#owned()) yield owned as HostedCollection;
  }

  *#owned(): Generator<Place> {
    for (const place of this.#places.values()) if (place.owned !== undefined) yield place;
  }

  /** Lets go of what has passed to other shards while this one was out of touch with the cluster. */
  async confirmOwned(): Promise<void> {
    const held = [...this.#places.values()].filter((place) => place.held !== undefined);
    await Promise.all(held.map(({ collectionId }) => this.#lookUp(collectionId)));
  }

  /** Does what the owners bucket says of the collection now. */
  async #lookUp(collectionId: number): Promise<void> {
    const key = String(collectionId);
    await this.#ownerChanged({ key, entry: await this.parts.owners.get(key) });
  }

  /** Resolves when this shard is to the collection what its entry says. */
  async #ownerChanged(change: Change): Promise<void> {
    if (!this.#comeback?.keeps(change)) await this.#entryIs(change);
  }

  async #entryIs({ key, entry }: Change): Promise<void> {
    if (this.#isStopping) return;
    const { name, context } = this.parts;
    const id = Number(key);
    const ownership = entry && ownershipOf(entry);
    if (ownership === undefined) context.quota.ownerGone(id);
    else context.quota.ownerKnown(id, ownership.collection.project, ownership.shard);
    let place = this.#places.get(id);
    if (place === undefined) {
      const isHere = ownership?.shard === name || ownership?.followers.includes(name);
      if (!isHere || this.#dropped.has(id)) return;
      place = new Place(id, this.#services);
      this.#places.set(id, place);
    }
    await place.entryIs(ownership, entry?.revision ?? 0);
    if (place.isEmpty && this.#places.get(id) === place) this.#places.delete(id);
  }

  async #drop(collectionId: number): Promise<void> {
    this.#dropped.add(collectionId);
    const place = this.#places.get(collectionId);
    this.#places.delete(collectionId);
    await place?.stop({ keep: false });
  }
}

const isFollowedBy = (ownership: Ownership | undefined, shards: ReadonlySet<string>): boolean =>
  ownership?.followers.some((shard) => shards.has(shard)) ?? false;
