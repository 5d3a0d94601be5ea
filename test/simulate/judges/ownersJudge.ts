/**
 * Who owns what, and until when a shard may answer, as the buckets hold it: from its last heartbeat that was stored, for the time
 * of a lease. An owner that is named begins with its first answer or frame; the one before it has given the collection up then.
 */
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import type { Ownership } from '../../../shared/registry/owners.js';
import type { Findings } from './findings.js';

interface Owner {
  readonly shard: string;
  readonly epoch: number;
  /** It was named by the owner before it, which answers nothing more from then on. */
  readonly handedOverBy: string | undefined;
}

/** By how much the clock of a shard may run slow. */
export const DRIFT_SHARE = 0.02;

const HEARTBEAT = new RegExp(`^\\$KV\\.${BUCKETS.shards}\\.(.+)$`);
const OWNER = new RegExp(`^\\$KV\\.${BUCKETS.owners}\\.(\\d+)$`);

export class OwnersJudge {
  /** By collection. */
  readonly #owners = new Map<number, Owner>();
  /** By collection: the last owner that has begun. */
  readonly #begun = new Map<number, Omit<Owner, 'handedOverBy'>>();
  /** Shard → when its last heartbeat was stored. */
  readonly #renewedMs = new Map<string, number>();

  constructor(
    private readonly findings: Findings,
    private readonly leaseMs: number,
  ) {}

  /** `by`: the process that has written it; undefined: none of the service. */
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

  /** The shard has answered as the owner of that epoch; of the newest that it is, where that is left out: it has written. */
  begun(collectionId: number, shard: string, epoch?: number): void {
    const owner = this.#owners.get(collectionId);
    const since = epoch ?? (owner?.shard === shard ? owner.epoch : 0);
    if (since > (this.#begun.get(collectionId)?.epoch ?? 0)) this.#begun.set(collectionId, { shard, epoch: since });
  }

  /** Whether another owner has begun after that of the epoch. */
  isOver(collectionId: number, shard: string, epoch: number): boolean {
    const owner = this.#begun.get(collectionId);
    return owner !== undefined && owner.epoch > epoch && owner.shard !== shard;
  }

  /** When the shard's last heartbeat was stored, if its lease cannot run any more. */
  endedLeaseOf(shard: string): number | undefined {
    const renewedMs = this.#renewedMs.get(shard);
    if (renewedMs === undefined) return undefined;
    return renewedMs + this.leaseMs * (1 + DRIFT_SHARE) < this.findings.world.nowMs ? renewedMs : undefined;
  }

  /** Whether the shard has named another owner, and none has named it since. */
  hasHandedOver(collectionId: number, shard: string): boolean {
    return this.#owners.get(collectionId)?.handedOverBy === shard;
  }

  /** The buckets have lost their ends, and all processes have ended. */
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
