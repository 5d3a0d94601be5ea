/** The cluster as an administrator of one project may see it: from the buckets, the shards, and the NATS servers. */
import type { Bucket } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';
import type { Damage } from '../../../shared/model/damage.js';
import type { NatsServerState, Platform } from '../../../shared/platform/platform.js';
import type { ShardResults } from '../../../shared/protocol/calls.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import type { Catalog } from '../catalog/catalog.js';
import type { CountedCollection } from '../catalog/collection.js';
import type { Members } from '../members/members.js';
import { type LeaseHolders, leaseHolders } from '../members/presence.js';
import type { Moves } from '../placement/moves.js';
import type { CollectionStats } from './collectionStats.js';

/** A shard or a server that hangs must not make the answer wait. */
const ASK_MS = 1_000;

export interface ShardState {
  readonly name: string;
  readonly state: 'serving' | 'leaving' | 'away';
  readonly collections: number;
  readonly records: number;
  readonly full: readonly ('memory' | 'store')[];
  /** Undefined if the shard does not answer. */
  readonly status: ShardResults['status'] | undefined;
}

export interface PlacedState {
  readonly collection: CountedCollection;
  readonly owner: string | undefined;
  readonly followers: readonly string[];
  readonly epoch: number;
  readonly movingTo: string | undefined;
  readonly damages: readonly Damage[];
}

export interface ClusterState extends LeaseHolders {
  readonly shards: readonly ShardState[];
  readonly collections: readonly PlacedState[];
  readonly nats: readonly NatsServerState[];
}

export class ClusterView {
  constructor(
    private readonly platform: Pick<Platform, 'natsServers'>,
    private readonly catalog: Catalog,
    private readonly members: Members,
    private readonly moves: Moves,
    private readonly stats: CollectionStats,
    private readonly leases: Bucket,
    private readonly clock: Clock,
  ) {}

  async of(project: string, envelope: Envelope): Promise<ClusterState> {
    const [shards, collections, holders, nats] = await Promise.all([
      Promise.all(this.#shardNames().map((shard) => this.#shard(shard, envelope))),
      this.#collections(project, envelope),
      leaseHolders(this.leases, this.clock),
      this.platform.natsServers(ASK_MS),
    ]);
    return { shards, collections, nats, ...holders };
  }

  /** Live shards, and shards in owner entries. */
  #shardNames(): string[] {
    const names = new Set(this.members.liveShards());
    for (const { shard, followers } of this.members.owned().values())
      for (const name of [shard, ...followers]) names.add(name);
    return [...names].sort();
  }

  async #shard(name: string, { requestId }: Envelope): Promise<ShardState> {
    const heartbeat = this.members.heartbeat(name);
    if (heartbeat === undefined)
      return { name, state: 'away', collections: 0, records: 0, full: [], status: undefined };
    const deadlineMs = this.clock.nowMs() + ASK_MS;
    const status = await this.members.ask(name, { op: 'status' }, { requestId, deadlineMs }).catch(() => undefined);
    const { leaving, collections, records, full = [] } = heartbeat;
    return { name, state: leaving ? 'leaving' : 'serving', collections, records, full, status };
  }

  async #collections(project: string, envelope: Envelope): Promise<PlacedState[]> {
    const counted = await this.stats.count(this.catalog.list(project), envelope);
    const damages = this.members.liveShards().flatMap((shard) => this.members.heartbeat(shard)?.damages ?? []);
    return counted.map((collection) => {
      const owned = this.members.owned().get(collection.id);
      return {
        collection,
        owner: owned?.shard,
        followers: owned?.followers ?? [],
        epoch: owned?.epoch ?? 0,
        movingTo: this.moves.inFlight.get(collection.id),
        damages: damages.filter(({ collectionId }) => collectionId === collection.id),
      };
    });
  }
}
