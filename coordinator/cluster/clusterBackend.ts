/** Everything behind the HTTP edge, put together: catalog, members, placement, and the calls to the owners. */
import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.js';
import type { Call, ResultOf } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable, VouchError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { BUCKETS, type Platform } from '../../shared/platform.js';
import { Reservations } from '../../shared/reservations.js';
import { whenAvailable } from '../../shared/startUp.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { ShredMarks } from '../../shared/vault/shredMarks.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import type { Backend, Collection, Counted, Health, Imported, WantedCollection, WantedImport } from '../backend.js';
import { CallQueue } from './callQueue.js';
import { Catalog } from './catalog.js';
import { ClusterMetrics } from './clusterMetrics.js';
import { Condition } from './condition.js';
import { type Count, Counting } from './counting.js';
import { DeletionMarks } from './deletionMarks.js';
import { Deletions } from './deletions.js';
import { LEASE_MS, Leadership } from './leadership.js';
import { Members } from './members.js';
import { Moves } from './moves.js';
import { Placement } from './placement.js';
import { PlacementViews } from './placementView.js';
import { followersWanted } from './plan/followersWanted.js';

/** Room in a frame for its header, the genesis event and the end. */
const FRAME_OVERHEAD_BYTES = 4_096;
const METRICS_MS = 1_000;

interface Parts {
  readonly catalog: Catalog;
  readonly members: Members;
  readonly placement: Placement;
  readonly marks: DeletionMarks;
  readonly deletions: Deletions;
  readonly queue: CallQueue;
  readonly counting: Counting;
  readonly condition: Condition;
  readonly metrics: ClusterMetrics;
}

export class ClusterBackend implements Backend {
  readonly mode: Platform['mode'];
  readonly maxCommitBytes: number;

  readonly #catalog: Catalog;
  readonly #members: Members;
  readonly #placement: Placement;

  private constructor(
    private readonly platform: Platform,
    private readonly clock: Clock,
    private readonly parts: Parts,
    private readonly logger: Logger,
  ) {
    this.mode = platform.mode;
    this.maxCommitBytes = platform.transport.maxPayloadBytes - FRAME_OVERHEAD_BYTES;
    this.#catalog = parts.catalog;
    this.#members = parts.members;
    this.#placement = parts.placement;
  }

  /** `holder`: what this coordinator's leases are held by. */
  static async start(
    config: Config,
    platform: Platform,
    clock: Clock,
    logger: Logger,
    holder: string = randomUUID(),
  ): Promise<ClusterBackend> {
    const { leaseMs } = config.placement;
    const [catalogs, counters, shards, owners, quota, reached, leases] = await Promise.all([
      platform.bucket(BUCKETS.catalog),
      platform.bucket(BUCKETS.counters),
      platform.bucket(BUCKETS.shards, { ttlMs: leaseMs }),
      platform.bucket(BUCKETS.owners),
      platform.bucket(BUCKETS.quota),
      platform.bucket(BUCKETS.reached),
      platform.bucket(BUCKETS.leases, { ttlMs: LEASE_MS }),
    ]);
    const members = new Members(shards, owners, platform.transport, clock, leaseMs);
    const bound = config.limits.collectionsPerProject;
    const catalog = new Catalog(catalogs, counters, clock, bound, () => members.greatestId);
    const marks = new DeletionMarks(counters);
    const leadership = new Leadership(leases, 'placement', holder, LEASE_MS, clock);
    const reservations = new Reservations(quota, config.limits.maxRecords);
    const metrics = new ClusterMetrics();
    metrics.observeTransport(platform.transport);
    const placing = { catalog, members, leadership, metrics, clock, logger: logger.child({ part: 'placement' }) };
    const moves = new Moves({ ...placing, followersWanted: (one) => followersWanted(config.followers, one) });
    const views = new PlacementViews(catalog, members, moves, clock, config);
    const deletions = new Deletions({ ...placing, marks, logs: platform.logs, reservations, reached });
    const placement = new Placement({ ...placing, moves, views, deletions });
    const queue = new CallQueue(platform.transport, members, clock, metrics);
    const condition = new Condition(platform, catalog, members, config.followers, clock);
    const counting = new Counting(members, platform.logs, logger);
    metrics.observe(() => ({
      isLeader: leadership.held,
      liveShards: members.liveShards().length,
      unserved: condition.unserved(),
      unlisted: deletions.unlisted().length,
      ...condition.followerGauges(),
      movesUnderWay: moves.underWay.size,
      callsParked: queue.parked,
    }));
    await whenAvailable('the catalog', () => catalog.start(), { clock, logger });
    await whenAvailable('the members', () => members.start(), { clock, logger });
    await whenAvailable('the marks of deletions', () => marks.start(), { clock, logger });
    placement.start();
    const parts = { catalog, members, placement, marks, deletions, queue, counting, condition, metrics };
    return new ClusterBackend(platform, clock, parts, logger);
  }

  async stop(): Promise<void> {
    await this.#placement.stop();
    this.#catalog.stop();
    this.#members.stop();
    this.parts.marks.stop();
  }

  find(project: string, name: string): Promise<Collection> {
    return this.#catalog.find(project, name);
  }

  async findById(collectionId: number): Promise<Collection | undefined> {
    const known = this.#catalog.byId(collectionId);
    if (known !== undefined && known.imported?.finished !== false) return known;
    // It may be newer than what this process was told. Whoever has been inserted into has an owner.
    await this.#members.reread(collectionId);
    const owned = this.#members.owned().get(collectionId)?.collection;
    if (owned === undefined || !(await this.#catalog.isListed(owned))) return undefined;
    return this.#catalog.reread(owned.project, owned.name);
  }

  vault(): Promise<VaultStore> {
    return this.platform.vault();
  }

  async shredMarks(): Promise<ShredMarks> {
    return new ShredMarks(await this.platform.bucket(BUCKETS.shreds), this.clock);
  }

  async create(
    project: string,
    wanted: WantedCollection,
    envelope: Envelope,
  ): Promise<{ collection: Collection; created: boolean }> {
    return this.#placed(() => this.#catalog.create(project, wanted), envelope);
  }

  async beginImport(
    project: string,
    wanted: WantedImport,
    envelope: Envelope,
  ): Promise<{ collection: Imported; created: boolean }> {
    return this.#placed(() => this.#catalog.createImport(project, wanted), envelope);
  }

  findImport(project: string, name: string): Promise<Imported> {
    return this.#catalog.findImport(project, name);
  }

  finishImport(collection: Imported): Promise<void> {
    return this.#catalog.finishImport(collection);
  }

  async list(project: string, envelope: Envelope): Promise<Counted[]> {
    const collections = this.#catalog.list(project);
    const counts = await this.parts.counting.count(collections, envelope);
    return collections.map((collection, i) => ({ ...collection, ...(counts[i] as Count) }));
  }

  async remove(project: string, name: string, envelope: Envelope): Promise<void> {
    const collection = await this.#catalog.remove(project, name);
    try {
      await this.parts.deletions.erase(collection, envelope);
    } catch (error) {
      // By name it is gone for good; the placement leader erases what is left.
      this.logger.warn({ collectionId: collection.id, error: messageOf(error) }, 'erasing a collection takes longer');
    }
  }

  async call<C extends Call>(collection: Collection, call: C, envelope: Envelope): Promise<ResultOf<C>> {
    try {
      return (await this.parts.queue.send(collection.id, call, envelope)) as ResultOf<C>;
    } catch (error) {
      // Nobody serves what another coordinator has deleted: the catalog knows better than this process's copy.
      if (error instanceof NobodyServes) await this.#assertStillThere(collection);
      throw error;
    }
  }

  health(): Promise<Health> {
    return this.parts.condition.health();
  }

  metrics(): Promise<unknown> {
    return this.parts.metrics.json();
  }

  async shardMetrics(): Promise<{ shard: string; json: unknown }[]> {
    const envelope: Envelope = { requestId: 'metrics', deadlineMs: this.clock.nowMs() + METRICS_MS };
    const asked = this.#members.liveShards().map(async (shard) => {
      const { json } = await this.#members.ask(shard, { op: 'metrics' }, envelope);
      return { shard, json };
    });
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  }

  /** What is made is served when this resolves. */
  async #placed<C extends Collection>(
    make: () => Promise<{ collection: C; created: boolean }>,
    envelope: Envelope,
  ): Promise<{ collection: C; created: boolean }> {
    if (this.#members.leastLoaded() === undefined) throw unavailable('no shard is there to hold the collection');
    const made = await make();
    if (made.created) await this.#placement.place(made.collection, envelope);
    return made;
  }

  async #assertStillThere(collection: Collection): Promise<void> {
    const now = await this.#catalog.reread(collection.project, collection.name);
    if (now.id !== collection.id)
      throw new VouchError('collection_not_found', `collection ${JSON.stringify(collection.name)} was replaced; retry`);
  }
}
