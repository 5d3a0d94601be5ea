/** The cluster behind the HTTP edge: catalog, members, placement, and the calls to the owners. */

import type { Config } from '../../config/config.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { type Clock, systemId } from '../../shared/clock.js';
import { isCollectionNotFound, isUnavailable, messageOf, unavailable } from '../../shared/errors/errors.js';
import type { Scale } from '../../shared/fixedPoint.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { MetricText } from '../../shared/metrics/metricsText.js';
import type { HeldBytes } from '../../shared/model/quotas.js';
import type { AccessChange, AccessSettings } from '../../shared/model/readAudit.js';
import type { Platform } from '../../shared/platform/platform.js';
import { whenAvailable } from '../../shared/process/startUp.js';
import type { Call, ResultOf } from '../../shared/protocol/calls.js';
import type { Alias } from '../../shared/registry/aliasEntry.js';
import { isImporting } from '../../shared/registry/catalogEntry.js';
import { Reservations } from '../../shared/registry/reservations.js';
import { noteWork } from '../../shared/scheduling/currentWork.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { NotServed } from '../../shared/transport/transportErrors.js';
import { ShredNotes } from '../../shared/vault/shredNotes.js';
import { CallQueue } from './calls/callQueue.js';
import { AccessChanges } from './catalog/accessChanges.js';
import { Catalog } from './catalog/catalog.js';
import type {
  Collection,
  CountedCollection,
  Created,
  ImportedCollection,
  WantedCollection,
  WantedImport,
} from './catalog/collection.js';
import { afterCreation, CollectionReplaced } from './catalog/deleted.js';
import { Deletions } from './deletion/deletions.js';
import { KeyEntries } from './deletion/keyEntries.js';
import { countUnknownKey } from './deletion/unknownKeys.js';
import { LEASE_MS, Leadership } from './members/leadership.js';
import { Members } from './members/members.js';
import { Moves } from './placement/moves.js';
import { Placement } from './placement/placement.js';
import { PlacementViews } from './placement/placementView.js';
import type { Health } from './reports/clusterHealth.js';
import { ClusterHealth } from './reports/clusterHealth.js';
import { type ClusterState, ClusterView } from './reports/clusterView.js';
import { CollectionStats } from './reports/collectionStats.js';
import { LogSources } from './reports/logSources.js';

/** The header of a frame, the genesis event and the end. */
const FRAME_OVERHEAD_BYTES = 4_096;
const METRICS_MS = 1_000;

type Buckets = Awaited<ReturnType<typeof openBuckets>>;

async function openBuckets(platform: Platform, leaseMs: number) {
  const [catalog, counters, ids, shards, owners, quota, watermarks, openings, leases] = await Promise.all([
    platform.bucket(BUCKETS.catalog),
    platform.bucket(BUCKETS.counters),
    platform.bucket(BUCKETS.ids),
    platform.bucket(BUCKETS.shards, { ttlMs: leaseMs }),
    platform.bucket(BUCKETS.owners),
    platform.bucket(BUCKETS.quota),
    platform.bucket(BUCKETS.watermarks),
    platform.bucket(BUCKETS.openings),
    platform.bucket(BUCKETS.leases, { ttlMs: LEASE_MS }),
  ]);
  return { catalog, counters, ids, shards, owners, quota, watermarks, openings, leases };
}

/** The cluster as the HTTP edge sees it: no shard, no bucket and no log. */
export type Backend = Omit<ClusterBackend, 'stop' | 'logSources'>;

export interface BackendServices {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The name under which this coordinator holds leases; drawn by default. */
  readonly holder?: string;
}

export class ClusterBackend {
  readonly mode: Platform['mode'];
  /** The largest set of vectors and attachments that fits one commit frame. */
  readonly maxCommitBytes: number;
  readonly keyEntries: KeyEntries;
  readonly logSources: LogSources;
  readonly #catalog: Catalog;
  readonly #access: AccessChanges;
  readonly #members: Members;
  readonly #deletions: Deletions;
  readonly #placement: Placement;
  readonly #queue: CallQueue;
  readonly #health: ClusterHealth;
  readonly #stats: CollectionStats;
  readonly #view: ClusterView;

  private constructor(
    private readonly platform: Platform,
    buckets: Buckets,
    private readonly config: Config,
    private readonly services: BackendServices,
  ) {
    const { metrics, clock, logger, holder = systemId() } = services;
    const { transport } = platform;
    const { limits, followers } = config;
    this.mode = platform.mode;
    this.maxCommitBytes = transport.maxPayloadBytes - FRAME_OVERHEAD_BYTES;
    const members = new Members(buckets, transport, clock, config.placement.leaseMs);
    const catalog = new Catalog(buckets, clock, limits, () => members.greatestId);
    const leadership = new Leadership(buckets.leases, { name: 'placement', holder: holder, ttlMs: LEASE_MS }, clock);
    const context = { catalog, members, leadership, metrics, clock, logger: logger.child({ part: 'placement' }) };
    const moves = new Moves(context, followers);
    const reservations = new Reservations(buckets.quota, limits);
    const times = { lateMs: platform.logs.lateMs, lostMs: config.placement.failoverMs };
    this.#deletions = new Deletions(context, buckets, reservations, times);
    this.#placement = new Placement(context, moves, new PlacementViews(context, moves, config));
    this.#queue = new CallQueue(transport, members, clock, metrics);
    this.#health = new ClusterHealth(platform, { catalog, members, followers }, clock);
    this.#stats = new CollectionStats(members, buckets.watermarks, clock);
    this.#view = new ClusterView(platform, context, { moves, stats: this.#stats, leases: buckets.leases });
    this.keyEntries = new KeyEntries(members);
    this.logSources = new LogSources(context, this.#deletions, this.#queue);
    this.#catalog = catalog;
    this.#access = new AccessChanges(
      catalog,
      (collection, change, envelope) => this.call(collection, { op: 'auditReads', ...change }, envelope),
      clock,
    );
    this.#members = members;
    metrics.gauges(() => ({
      vouch_placement_leader: Number(leadership.leads),
      vouch_shards: members.liveShards().length,
      vouch_owners_without_live_shard: this.#health.unserved(),
      vouch_collections_unlisted: this.#deletions.unlisted().length,
      ...this.#health.followerGauges(),
      vouch_placement_moves_in_flight: moves.inFlight.size,
      vouch_calls_awaiting_retry: this.#queue.waiting,
    }));
  }

  static async start(config: Config, platform: Platform, services: BackendServices): Promise<ClusterBackend> {
    const { clock, logger } = services;
    const buckets = await openBuckets(platform, config.placement.leaseMs);
    const backend = new ClusterBackend(platform, buckets, config, services);
    await whenAvailable('the catalog', () => backend.#catalog.start(), { clock, logger });
    await whenAvailable('the members', () => backend.#members.start(), { clock, logger });
    await whenAvailable('the marks of deletions', () => backend.#deletions.start(), { clock, logger });
    backend.#placement.start();
    return backend;
  }

  async stop(): Promise<void> {
    await this.#deletions.stop();
    await this.#placement.stop();
    this.#catalog.stop();
    this.#members.stop();
  }

  /** The collection of this name or alias. Throws `collection_not_found`, and `conflict` while the collection is being imported. */
  find(project: string, name: string): Promise<Collection> {
    return this.#catalog.find(project, name);
  }

  /** `unit` if one of the collections normalises; see `Catalog.scaleFor`. */
  scaleFor(project: string, names: readonly string[]): Scale | Promise<Scale> {
    return this.#catalog.scaleFor(project, names);
  }

  /** A collection in any state, by the id in a vault entry; undefined if it was deleted. */
  async findById(collectionId: number): Promise<Collection | undefined> {
    const known = this.#catalog.byId(collectionId);
    if (known !== undefined && !isImporting(known)) return known;
    // The collection may be newer than this process's copy of the catalog. A collection with writes has an owner.
    await this.#members.ownersCaughtUp();
    const owned = this.#members.owned().get(collectionId)?.collection;
    return owned && this.#catalog.rereadById(owned);
  }

  async shredNotes(): Promise<ShredNotes> {
    return new ShredNotes(await this.platform.bucket(BUCKETS.shreds), this.services.clock);
  }

  async countUnknownKey(project: string): Promise<void> {
    const counters = await this.platform.bucket(BUCKETS.counters);
    return countUnknownKey(counters, this.config.limits.unknownShreds, project);
  }

  /** Creates the collection or finds the identical one. Throws `conflict` if dimension or `normalise` differ, `capacity_exceeded`. */
  async create(project: string, wanted: WantedCollection, envelope: Envelope): Promise<Created> {
    this.#assertHasShard();
    const made = await this.#place(await this.#catalog.create(project, wanted, envelope.actor), envelope);
    // Repeat this for a collection that exists: its creation may have been interrupted at this step.
    const { audit, retentionDays } = wanted;
    if ((audit ?? 'off') === 'off' && retentionDays === undefined) return made;
    const change = { ...(audit && { audit }), ...(retentionDays && { retentionDays }) };
    try {
      await this.#access.complete(made.collection, change, envelope);
    } catch (error) {
      throw afterCreation(error, wanted);
    }
    return made;
  }

  /**
   * Creates the collection that an export will be sent to, or finds the import of the same export. Throws `conflict` if the
   * name belongs to another collection, `capacity_exceeded`.
   */
  async beginImport(project: string, wanted: WantedImport, envelope: Envelope): Promise<Created<ImportedCollection>> {
    this.#assertHasShard();
    return this.#place(await this.#catalog.createImport(project, wanted, envelope.actor), envelope);
  }

  /** Throws `collection_not_found`, `conflict` if the collection was not imported. */
  findImport(project: string, name: string): Promise<ImportedCollection> {
    return this.#catalog.findImport(project, name);
  }

  /** Opens the collection for use. May be repeated. */
  async finishImport(collection: ImportedCollection, access: AccessSettings): Promise<void> {
    await this.#catalog.finishImport(collection, access);
  }

  /** All collections, by name, also those that are being imported. */
  list(project: string, envelope: Envelope): Promise<CountedCollection[]> {
    return this.#counted(this.#catalog.list(project), envelope);
  }

  /** The collection as of this call, also while it is being imported. Throws `collection_not_found`. */
  async listed(project: string, name: string, envelope: Envelope): Promise<CountedCollection> {
    const [counted] = await this.#counted([await this.#catalog.reread(project, name)], envelope);
    return counted!;
  }

  async #counted(collections: readonly Collection[], envelope: Envelope): Promise<CountedCollection[]> {
    const counted = await this.#stats.count(collections, envelope);
    this.#access.settle(collections, counted);
    return counted;
  }

  /** Whether reads of a collection of the project are audited, as last received by this process. */
  hasAudited(project: string): boolean {
    return this.#catalog.hasAudited(project);
  }

  /**
   * Switches the access log of a collection, or sets how long its entries are kept. Resolves to the changed collection. Throws
   * `collection_not_found` if it was deleted, also if another one has its name.
   */
  async changeAccess(collection: Collection, change: AccessChange, envelope: Envelope): Promise<CountedCollection> {
    const [counted] = await this.#stats.count([await this.#access.change(collection, change, envelope)], envelope);
    return counted!;
  }

  /** The aliases of a project as of this call, by name. */
  aliases(project: string): Promise<Alias[]> {
    return this.#catalog.aliases.list(project);
  }

  /** Creates or moves an alias: once this resolves, no coordinator uses its former collection. Throws as `Aliases.put` does. */
  async putAlias(project: string, name: string, collection: string, envelope: Envelope): Promise<Alias> {
    const alias = await this.#catalog.aliases.put(project, name, collection);
    // Another coordinator may have a deleted collection of that name in its copy.
    await this.#deletions.silenceEarlier(project, name, envelope);
    return alias;
  }

  /** Throws `not_found`. */
  removeAlias(project: string, name: string): Promise<void> {
    return this.#catalog.aliases.remove(project, name);
  }

  /** The content of the project's collections, without their logs. Throws `unavailable`. */
  heldBytes(project: string, envelope: Envelope): Promise<HeldBytes> {
    return this.#stats.held(this.#catalog.list(project), envelope);
  }

  /**
   * Deletes the collection. Resolves once no shard answers for it and its erasure has been tried; if that failed, the leader repeats
   * it. Throws `collection_not_found`, `conflict` while an alias names it, and `unavailable` while a shard may still serve a
   * collection whose deletion under that name has begun. Deletes nothing if `assertMay` throws for the collection.
   */
  async remove(
    project: string,
    name: string,
    envelope: Envelope,
    assertMay?: (collection: Collection) => void,
  ): Promise<void> {
    const collection = await this.#unlist(project, name, envelope, assertMay);
    const holders = await this.#silence(collection, envelope);
    try {
      await this.#deletions.eraseContent(collection, holders, envelope);
    } catch (error) {
      // The placement leader erases the rest.
      this.services.logger.warn(
        { collectionId: collection.id, error: messageOf(error) },
        'erasing a collection takes longer',
      );
    }
  }

  /**
   * Asks the collection's owner, or a follower where the call may go to one. Throws the owner's error, and `unavailable` without an
   * answer in time.
   */
  async call<C extends Call>(collection: Collection, call: C, envelope: Envelope): Promise<ResultOf<C>> {
    try {
      const result = (await this.#queue.send(collection.id, call, envelope, collection.erasable)) as ResultOf<C>;
      // The caller writes the response from the result in this turn of the event loop.
      noteWork(call.op, collection);
      return result;
    } catch (error) {
      // Another coordinator may have deleted it: the catalog itself knows.
      if (error instanceof NotServed) await this.#assertListed(collection);
      throw error;
    }
  }

  /** The cluster, with the collections of this project only. */
  cluster(project: string, envelope: Envelope): Promise<ClusterState> {
    return this.#view.of(project, envelope);
  }

  health(): Promise<Health> {
    return this.#health.health();
  }

  /** The metrics of each shard that answers: one list a shard. */
  async shardMetrics(): Promise<(readonly MetricText[])[]> {
    const envelope: Envelope = { requestId: 'metrics', deadlineMs: this.services.clock.nowMs() + METRICS_MS };
    const shards = this.#members.liveShards().map(async (shard) => {
      const { texts } = await this.#members.ask(shard, { op: 'metrics' }, envelope);
      return texts;
    });
    const answers = await Promise.allSettled(shards);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  async #unlist(
    project: string,
    name: string,
    envelope: Envelope,
    assertMay?: (collection: Collection) => void,
  ): Promise<Collection> {
    try {
      return await this.#catalog.remove(project, name, assertMay);
    } catch (error) {
      if (isCollectionNotFound(error)) await this.#deletions.silenceEarlier(project, name, envelope);
      throw error;
    }
  }

  /** Silences the collection and earlier ones of its name. Resolves to the shards that may have a part of the collection. */
  async #silence(collection: Collection, envelope: Envelope): Promise<ReadonlySet<string>> {
    const { id, project, name } = collection;
    try {
      const [holders] = await Promise.all([
        this.#deletions.silence(collection, envelope),
        this.#deletions.silenceEarlier(project, name, envelope, id),
      ]);
      return holders;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      throw unavailable(
        `the collection is deleted and its name is free, but a shard may still show it for a while: ${error.message}`,
      );
    }
  }

  #assertHasShard(): void {
    if (this.#members.leastLoaded() === undefined) throw unavailable('the service has no shard for the collection');
  }

  /** Resolves when the collection is served. */
  async #place<C extends Collection>(made: Created<C>, envelope: Envelope): Promise<Created<C>> {
    if (made.created) await this.#placement.place(made.collection, envelope);
    return made;
  }

  async #assertListed({ id, project, name }: Collection): Promise<void> {
    const now = await this.#catalog.reread(project, name);
    if (now.id !== id) throw new CollectionReplaced({ name });
  }
}
