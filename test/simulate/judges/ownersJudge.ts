/**
 * Judges who owns what, and until when a shard may answer, according to the buckets: one lease long from its last
 * stored heartbeat. A newly named owner begins with its first answer or frame; by then, its predecessor has released
 * the collection.
 */
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import type { Ownership } from '../../../shared/registry/owners.js';
import type { Findings } from './findings.js';

interface Owner {
  readonly shard: string;
  readonly epoch: number;
  /** The previous owner that named it, and that answers nothing more from then on. */
  readonly handedOverBy: string | undefined;
}

/** Share by which the clock of a shard may run slow. */
export const DRIFT_SHARE = 0.02;

const HEARTBEAT = new RegExp(`^\\$KV\\.${BUCKETS.shards}\\.(.+)$`);
const OWNER = new RegExp(`^\\$KV\\.${BUCKETS.owners}\\.(\\d+)$`);

export class OwnersJudge {
  /** Keyed by collection. */
  readonly #owners = new Map<number, Owner>();
  /** Keyed by collection: the last owner that has begun. */
  readonly #begun = new Map<number, Omit<Owner, 'handedOverBy'>>();
  /** Shard → time of its last stored heartbeat. */
  readonly #renewedMs = new Map<string, number>();

  constructor(
    private readonly findings: Findings,
    private readonly leaseMs: number,
  ) {}

  /** `by`: the process that wrote it; undefined: not a process of the service. */
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

  /**
   * Notes that the shard has answered as the owner of that epoch. Without an epoch: it has written as the owner of its
   * newest.
   */
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

  /** Time of the shard's last stored heartbeat, if its lease must have ended. */
  endedLeaseOf(shard: string): number | undefined {
    const renewedMs = this.#renewedMs.get(shard);
    if (renewedMs === undefined) return undefined;
    return renewedMs + this.leaseMs * (1 + DRIFT_SHARE) < this.findings.world.nowMs ? renewedMs : undefined;
  }

  /** Whether the shard has named another owner and nothing has renamed it since. */
  hasHandedOver(collectionId: number, shard: string): boolean {
    return this.#owners.get(collectionId)?.handedOverBy === shard;
  }

  /** Called after the buckets have lost their ends and all processes have ended. */
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
