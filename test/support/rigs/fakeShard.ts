/**
 * A shard that only takes part in placement: a heartbeat and answers to calls by name, over buckets and a transport in
 * memory. It has no collection; its updates of owner entries are real.
 */
import type { Bucket } from '../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { VouchError } from '../../../shared/errors/errors.js';
import type { Damage } from '../../../shared/model/damage.js';
import { areShardCalls } from '../../../shared/protocol/callShapes.js';
import type { ShardCall } from '../../../shared/protocol/calls.js';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.js';
import { failure, packOutcomes, unpackCalls } from '../../../shared/protocol/wire.js';
import { ownershipOf, storedHeartbeat, storedOwnership } from '../../../shared/registry/owners.js';
import { PeriodicTask } from '../../../shared/scheduling/periodicTask.js';
import { shardSubject } from '../../../shared/transport/subjects.js';
import type { Serving } from '../../../shared/transport/transport.js';
import { type MemoryCluster, TIMES } from './memoryCluster.js';

type HandOver = Extract<ShardCall, { op: 'handOver' }>;

export class FakeShard {
  /** Collections that it reports as open. */
  readonly open = new Set<number>();
  /** Collections whose writes it reports as on hold. */
  readonly held = new Set<number>();
  /** Every call except counts, as `op id`, in order. */
  readonly asked: string[] = [];
  leaving = false;
  damages: Damage[] = [];
  /** Number of times that `warm` is not ready yet, by collection. */
  readonly cold = new Map<number, number>();
  /** Replaces the hand-over. */
  handOver: (call: HandOver) => Promise<void> = (call) => this.handOverNow(call);
  readonly #beats = new PeriodicTask(() => this.#beat(), TIMES.heartbeatMs);
  readonly #shards: Bucket;
  readonly #owners: Bucket;
  #serving: Serving | undefined;

  private constructor(
    cluster: MemoryCluster,
    readonly name: string,
    private readonly session: string,
  ) {
    this.#shards = cluster.bucket(BUCKETS.shards, TIMES.leaseMs);
    this.#owners = cluster.bucket(BUCKETS.owners);
  }

  static async join(cluster: MemoryCluster, name: string, session = `${name} one`): Promise<FakeShard> {
    const shard = new FakeShard(cluster, name, session);
    await shard.#beat();
    shard.#beats.start();
    shard.#serving = await cluster.transport.serve(shardSubject(name), async (message) => {
      const calls = unpackCalls(message.body, areShardCalls, message.shiftMs);
      return packOutcomes(
        await Promise.all(calls.map(({ call }) => shard.#answer(call).then((ok) => ({ ok }), failure))),
      );
    });
    return shard;
  }

  /** Stops its heartbeat and answers. */
  async die(): Promise<void> {
    await this.#beats.stop();
    await this.#serving?.stop();
    this.#serving = undefined;
  }

  async handOverNow({ collectionId, epoch, to, followers }: HandOver): Promise<void> {
    const entry = await this.#owners.get(String(collectionId));
    const ownership = entry && ownershipOf(entry);
    if (entry === undefined || ownership?.shard !== this.name || ownership.epoch !== epoch)
      throw new VouchError('conflict', 'not its owner under that epoch');
    const next = storedOwnership({ ...ownership, shard: to, epoch: epoch + 1, followers });
    if ((await this.#owners.update(entry.key, next, entry.revision)) === undefined)
      throw new VouchError('conflict', 'the entry has changed');
  }

  async #beat(): Promise<void> {
    const { session, leaving, damages } = this;
    await this.#shards.put(
      this.name,
      storedHeartbeat({ session, collections: 0, records: 0, damages, leaving, protocol: PROTOCOL_VERSION }),
    );
  }

  async #answer(call: ShardCall): Promise<unknown> {
    switch (call.op) {
      case 'openIds':
        return { open: [...this.open], held: [...this.held], following: [] };
      case 'adopt':
        this.asked.push(...call.collectionIds.map((id) => `adopt ${id}`));
        return null;
      case 'warm': {
        this.asked.push(`warm ${call.collectionId}`);
        const left = this.cold.get(call.collectionId) ?? 0;
        this.cold.set(call.collectionId, left - 1);
        return { ready: left <= 0 };
      }
      case 'handOver':
        this.asked.push(`handOver ${call.collectionId} to ${call.to}`);
        await this.handOver(call);
        return null;
      case 'silence':
        return null;
      case 'drop':
        this.asked.push(`drop ${call.collectionId}`);
        return null;
      case 'metrics':
        return { texts: [] };
      default:
        throw new VouchError('not_implemented', call.op);
    }
  }
}
