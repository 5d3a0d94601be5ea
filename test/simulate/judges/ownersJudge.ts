/**
 * Knows from the buckets which shard owns which collection, and until when it may answer. That is one lease long from its last
 * stored heartbeat. A new owner has begun once it has sent an answer or a frame. By then its predecessor no longer answers.
 */
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import type { Ownership } from '../../../shared/registry/owners.js';
import type { Findings } from './findings.js';

interface Owner {
  readonly shard: string;
  readonly epoch: number;
  /** The previous owner, if that has named this one itself. It must then answer nothing more. */
  readonly handedOverBy: string | undefined;
}

/** Share by which the clock of a shard may run slow. */
export const DRIFT_SHARE = 0.02;

const HEARTBEAT = new RegExp(`^\\$KV\\.${BUCKETS.shards}\\.(.+)$`);
const OWNER = new RegExp(`^\\$KV\\.${BUCKETS.owners}\\.(\\d+)$`);

export class OwnersJudge {
  /** Owner of each collection, by the newest entry. */
  readonly #owners = new Map<number, Owner>();
  /** Last owner of each collection that has begun. */
  readonly #begun = new Map<number, Omit<Owner, 'handedOverBy'>>();
  /** Time of the last stored heartbeat of each shard. */
  readonly #renewedMs = new Map<string, number>();

  constructor(
    private readonly findings: Findings,
    private readonly leaseMs: number,
  ) {}

  /** Receives each stored message. `by`: the process that wrote it; undefined for one outside of the service. */
  stored(subject: string, body: Buffer, by: string | undefined): void {
    const [, shard] = HEARTBEAT.exec(subject) ?? [];
    if (shard !== undefined) {
      // An empty message is a deletion: the shard has ended.
      if (body.length === 0) this.#renewedMs.delete(shard);
      else this.#renewedMs.set(shard, this.findings.world.nowMs);
    }
    const [, id] = OWNER.exec(subject) ?? [];
    if (id !== undefined && body.length > 0) this.#changed(Number(id), JSON.parse(body.toString()) as Ownership, by);
  }

  /** Notes that a shard has answered as the owner of an epoch; without `epoch`, that it has appended a frame as the newest owner. */
  begun(collectionId: number, shard: string, epoch?: number): void {
    const owner = this.#owners.get(collectionId);
    const since = epoch ?? (owner?.shard === shard ? owner.epoch : 0);
    if (since > (this.#begun.get(collectionId)?.epoch ?? 0)) this.#begun.set(collectionId, { shard, epoch: since });
  }

  /** Whether a later owner has begun. */
  isOver(collectionId: number, shard: string, epoch: number): boolean {
    const owner = this.#begun.get(collectionId);
    return owner !== undefined && owner.epoch > epoch && owner.shard !== shard;
  }

  /** Returns the time of the shard's last stored heartbeat if its lease must have ended; otherwise undefined. */
  endedLeaseOf(shard: string): number | undefined {
    const renewedMs = this.#renewedMs.get(shard);
    if (renewedMs === undefined) return undefined;
    return renewedMs + this.leaseMs * (1 + DRIFT_SHARE) < this.findings.world.nowMs ? renewedMs : undefined;
  }

  /** Whether the shard has handed the collection over, by the newest entry. */
  hasHandedOver(collectionId: number, shard: string): boolean {
    return this.#owners.get(collectionId)?.handedOverBy === shard;
  }

  /** Call it after servers have lost stored messages, when all processes have ended. */
  forget(): void {
    this.#owners.clear();
    this.#begun.clear();
    this.#renewedMs.clear();
  }

  #changed(id: number, { shard, epoch }: Ownership, by: string | undefined): void {
    const before = this.#owners.get(id);
    if (before?.shard === shard && before.epoch === epoch) return;
    const isOwn = before !== undefined && before.shard !== shard && by === before.shard;
    this.#owners.set(id, { shard, epoch, handedOverBy: isOwn ? by : undefined });
  }
}
