/** Everything behind the HTTP edge, put together: catalog, members, placement, and the calls to the owners. */
import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.js';
import type { Call, ResultOf } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import type { Damage } from '../../shared/damage.js';
import { messageOf, unavailable, VouchError } from '../../shared/errors.js';
import { INDEX_KINDS } from '../../shared/indexSpec.js';
import { LogDamaged } from '../../shared/log/eventLog.js';
import { countInLog, NOTHING_COUNTED } from '../../shared/log/logCount.js';
import type { Logger } from '../../shared/logger.js';
import { BUCKETS, type Platform } from '../../shared/platform.js';
import { Reservations } from '../../shared/reservations.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { ShredMarks } from '../../shared/vault/shredMarks.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import type { Backend, Collection, Counted, Health, Imported, WantedCollection, WantedImport } from '../backend.js';
import { CallQueue } from './callQueue.js';
import { Catalog } from './catalog.js';
import { LEASE_MS, Leadership } from './leadership.js';
import { Members } from './members.js';
import { Placement } from './placement.js';

/** Room in a frame for its header, the genesis event and the end. */
const FRAME_OVERHEAD_BYTES = 4_096;
const COUNTS_PER_CALL = 512;
const METRICS_MS = 1_000;

/** What a listing says of a collection beyond its configuration. */
type Count = Pick<Counted, 'records' | 'logBytes' | 'snapshotBytes' | 'serving'>;

export class ClusterBackend implements Backend {
  readonly mode: Platform['mode'];
  readonly maxCommitBytes: number;

  private constructor(
    private readonly platform: Platform,
    private readonly clock: Clock,
    private readonly catalog: Catalog,
    private readonly members: Members,
    private readonly placement: Placement,
    private readonly queue: CallQueue,
    private readonly logger: Logger,
  ) {
    this.mode = platform.mode;
    this.maxCommitBytes = platform.transport.maxPayloadBytes - FRAME_OVERHEAD_BYTES;
  }

  static async start(config: Config, platform: Platform, clock: Clock, logger: Logger): Promise<ClusterBackend> {
    const { reassignMs } = config.placement;
    const [catalogs, counters, shards, owners, quota, leases] = await Promise.all([
      platform.bucket(BUCKETS.catalog),
      platform.bucket(BUCKETS.counters),
      platform.bucket(BUCKETS.shards, { ttlMs: config.placement.leaseMs }),
      platform.bucket(BUCKETS.owners),
      platform.bucket(BUCKETS.quota),
      platform.bucket(BUCKETS.leases, { ttlMs: LEASE_MS }),
    ]);
    const catalog = new Catalog(catalogs, counters, clock, config.limits.collectionsPerProject);
    const members = new Members(shards, owners, platform.transport, clock, config.placement.leaseMs);
    const leadership = new Leadership(leases, 'placement', randomUUID(), LEASE_MS, clock);
    const reservations = new Reservations(quota, config.limits.maxRecords);
    const placement = new Placement(
      catalog,
      members,
      platform.logs,
      reservations,
      leadership,
      clock,
      reassignMs,
      logger.child({ part: 'placement' }),
    );
    await Promise.all([catalog.start(), members.start()]);
    placement.start();
    return new ClusterBackend(
      platform,
      clock,
      catalog,
      members,
      placement,
      new CallQueue(platform.transport, members),
      logger,
    );
  }

  async stop(): Promise<void> {
    await this.placement.stop();
    this.catalog.stop();
    this.members.stop();
  }

  find(project: string, name: string): Promise<Collection> {
    return this.catalog.find(project, name);
  }

  async findById(collectionId: number): Promise<Collection | undefined> {
    const known = this.catalog.byId(collectionId);
    if (known !== undefined && known.imported?.finished !== false) return known;
    // It may be newer than what this process was told. Whoever has been inserted into has an owner.
    await this.members.reread(collectionId);
    const owned = this.members.owned().get(collectionId)?.collection;
    if (owned === undefined || !(await this.catalog.isListed(owned))) return undefined;
    return this.catalog.reread(owned.project, owned.name);
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
    return this.#placed(() => this.catalog.create(project, wanted), envelope);
  }

  async beginImport(
    project: string,
    wanted: WantedImport,
    envelope: Envelope,
  ): Promise<{ collection: Imported; created: boolean }> {
    return this.#placed(() => this.catalog.createImport(project, wanted), envelope);
  }

  findImport(project: string, name: string): Promise<Imported> {
    return this.catalog.findImport(project, name);
  }

  finishImport(collection: Imported): Promise<void> {
    return this.catalog.finishImport(collection);
  }

  async list(project: string, envelope: Envelope): Promise<Counted[]> {
    const collections = this.catalog.list(project);
    const counts = await this.#count(collections, envelope);
    return collections.map((collection, i) => ({ ...collection, ...(counts[i] as Count) }));
  }

  async remove(project: string, name: string, envelope: Envelope): Promise<void> {
    const collection = await this.catalog.remove(project, name);
    try {
      await this.placement.erase(collection, envelope);
    } catch (error) {
      // By name it is gone for good; the placement leader erases what is left.
      this.logger.warn({ collectionId: collection.id, error: messageOf(error) }, 'erasing a collection takes longer');
    }
  }

  async call<C extends Call>(collection: Collection, call: C, envelope: Envelope): Promise<ResultOf<C>> {
    try {
      return (await this.queue.send(collection.id, call, envelope)) as ResultOf<C>;
    } catch (error) {
      // Nobody serves what another coordinator has deleted: the catalog knows better than this process's copy.
      if (error instanceof NobodyServes) await this.#assertStillThere(collection);
      throw error;
    }
  }

  async health(): Promise<Health> {
    const shards = this.members.liveShards();
    let records = 0;
    const damages: Damage[] = [];
    for (const heartbeat of shards.values()) {
      records += heartbeat.records;
      damages.push(...heartbeat.damages);
    }
    return {
      shards: shards.size,
      collections: this.catalog.size,
      records,
      problem: shards.size === 0 ? 'no shard answers' : await this.#platformProblem(),
      damages,
    };
  }

  async shardMetrics(): Promise<{ shard: string; json: unknown }[]> {
    const envelope: Envelope = { requestId: 'metrics', deadlineMs: this.clock.nowMs() + METRICS_MS };
    const asked = [...this.members.liveShards().keys()].map(async (shard) => {
      const { json } = await this.members.ask(shard, { op: 'metrics' }, envelope);
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
    if (this.members.liveShards().size === 0) throw unavailable('no shard is there to hold the collection');
    const made = await make();
    if (made.created) await this.placement.place(made.collection, envelope);
    return made;
  }

  /** A bucket that cannot be read means no quorum, and then nothing can be committed either. */
  async #platformProblem(): Promise<string | undefined> {
    try {
      await (await this.platform.bucket(BUCKETS.counters)).get('health');
      return undefined;
    } catch {
      return 'the store of the cluster state does not answer';
    }
  }

  async #assertStillThere(collection: Collection): Promise<void> {
    const now = await this.catalog.reread(collection.project, collection.name);
    if (now.id !== collection.id)
      throw new VouchError('collection_not_found', `collection ${JSON.stringify(collection.name)} was replaced; retry`);
  }

  async #count(collections: readonly Collection[], envelope: Envelope): Promise<Count[]> {
    const counts = new Array<Count>(collections.length);
    const byShard = new Map<string | undefined, number[]>();
    collections.forEach((collection, i) => {
      const shard = this.members.liveOwner(collection.id);
      const places = byShard.get(shard);
      if (places === undefined) byShard.set(shard, [i]);
      else places.push(i);
    });
    await Promise.all(
      [...byShard].map(async ([shard, places]) => {
        for (let from = 0; from < places.length; from += COUNTS_PER_CALL) {
          const part = places.slice(from, from + COUNTS_PER_CALL);
          const asked = part.map((place) => collections[place] as Collection);
          const answer = await this.#countAt(shard, asked, envelope);
          part.forEach((place, i) => {
            counts[place] = answer[i] as Count;
          });
        }
      }),
    );
    return counts;
  }

  async #countAt(shard: string | undefined, collections: readonly Collection[], envelope: Envelope): Promise<Count[]> {
    if (shard !== undefined) {
      try {
        const collectionIds = collections.map(({ id }) => id);
        const counted = await this.members.ask(shard, { op: 'count', collectionIds }, envelope);
        const { records, logBytes, snapshotBytes, serving } = counted;
        return collectionIds.map((_, i) => ({
          records: records[i]!,
          logBytes: logBytes[i]!,
          snapshotBytes: snapshotBytes[i]!,
          serving: serving[i]!,
        }));
      } catch {
        // The shard died under the question: the logs and the catalog still know.
      }
    }
    return Promise.all(collections.map((collection) => this.#countInLog(collection)));
  }

  /** One damaged log must not hide the others. */
  async #countInLog({ id, index }: Collection): Promise<Count> {
    // Whether `auto` has become an index already, only its shard knows.
    const serving = INDEX_KINDS.find((kind) => kind === index) ?? 'brute';
    try {
      return { ...(await countInLog(this.platform.logs, id)), snapshotBytes: 0, serving };
    } catch (error) {
      if (!(error instanceof LogDamaged)) throw error;
      this.logger.error({ collectionId: id, error: error.message }, 'a collection cannot be counted');
      return { ...NOTHING_COUNTED, snapshotBytes: 0, serving };
    }
  }
}
