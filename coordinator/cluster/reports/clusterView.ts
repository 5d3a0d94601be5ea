/** The cluster as an administrator of one project may see it: from the buckets, the shards, and the NATS servers. */
import type { Bucket } from '../../../shared/bucket/bucket.js';
import type { Damage } from '../../../shared/model/damage.js';
import type { NatsServerState, Platform } from '../../../shared/platform/platform.js';
import type { ShardResults } from '../../../shared/protocol/calls.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import type { CountedCollection } from '../catalog/collection.js';
import { type LeaseHolders, leaseHolders } from '../members/presence.js';
import type { PlacementContext } from '../placement/context.js';
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
    private readonly context: Pick<PlacementContext, 'catalog' | 'members' | 'clock'>,
    private readonly sources: { readonly moves: Moves; readonly stats: CollectionStats; readonly leases: Bucket },
  ) {}

  async of(project: string, envelope: Envelope): Promise<ClusterState> {
    const [shards, collections, holders, nats] = await Promise.all([
      Promise.all(this.#shardNames().map((shard) => this.#shard(shard, envelope))),
      this.#collections(project, envelope),
      leaseHolders(this.sources.leases, this.context.clock),
      this.platform.natsServers(ASK_MS),
    ]);
    return { shards, collections, nats, ...holders };
  }

  /** Live shards, and shards in owner entries. */
  #shardNames(): string[] {
    const names = new Set(this.context.members.liveShards());
    for (const { shard, followers } of this.context.members.owned().values())
      for (const name of [shard, ...followers]) names.add(name);
    return [...names].sort();
  }

  async #shard(name: string, { requestId }: Envelope): Promise<ShardState> {
    const heartbeat = this.context.members.heartbeat(name);
    if (heartbeat === undefined)
      return { name, state: 'away', collections: 0, records: 0, full: [], status: undefined };
    const deadlineMs = this.context.clock.nowMs() + ASK_MS;
    const status = await this.context.members
      .ask(name, { op: 'status' }, { requestId, deadlineMs })
      .catch(() => undefined);
    const { leaving, collections, records, full = [] } = heartbeat;
    return { name, state: leaving ? 'leaving' : 'serving', collections, records, full, status };
  }

  async #collections(project: string, envelope: Envelope): Promise<PlacedState[]> {
    const counted = await this.sources.stats.count(this.context.catalog.list(project), envelope);
    const damages = this.context.members
      .liveShards()
      .flatMap((shard) => this.context.members.heartbeat(shard)?.damages ?? []);
    return counted.map((collection) => {
      const owned = this.context.members.owned().get(collection.id);
      return {
        collection,
        owner: owned?.shard,
        followers: owned?.followers ?? [],
        epoch: owned?.epoch ?? 0,
        movingTo: this.sources.moves.inFlight.get(collection.id),
        damages: damages.filter(({ collectionId }) => collectionId === collection.id),
      };
    });
  }
}
