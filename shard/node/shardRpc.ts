/** Answers the calls that coordinators and other shards make to this shard by its name, while its lease is valid. */
import { hostname } from 'node:os';
import { messageOf, refusal, unavailable, unreachable } from '../../shared/errors/errors.js';
import { LogDamaged } from '../../shared/log/eventLog.js';
import { countInLog, type LogCount, NOTHING_COUNTED } from '../../shared/log/logCount.js';
import { accessLogId } from '../../shared/model/logId.js';
import type { AccessSettings } from '../../shared/model/readAudit.js';
import type { CollectionAccessHead } from '../../shared/protocol/access.js';
import { areShardCalls } from '../../shared/protocol/callShapes.js';
import type { ShardCall, ShardResults, ShownState } from '../../shared/protocol/calls.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { version } from '../../shared/version.js';
import type { CallHandler } from '../answering/callRunner.js';
import type { CollectionHandle } from '../collection/collectionHandle.js';
import type { VaultCalls } from '../vault/vaultCalls.js';
import type { CollectionReplica, ReplicaServices } from './collectionReplica.js';
import type { OwnershipTransfer } from './ownershipTransfer.js';

/** Collections that are asked, or whose logs are read, at a time. */
const READS_AT_ONCE = 16;

/** Parts of the shard that the calls use. */
interface CalledShard {
  readonly replicas: ReadonlyMap<number, CollectionReplica>;
  readonly transfer: OwnershipTransfer;
  readonly vaultCalls: VaultCalls;
  /** Resolves when this shard has the role that the current owner entry of each collection gives it. */
  readonly adopt: (collectionIds: readonly number[]) => Promise<void>;
  readonly drop: (collectionId: number) => Promise<void>;
}

export class ShardRpc implements CallHandler<ShardCall> {
  readonly areCalls = areShardCalls;
  readonly isUrgent = true;
  readonly #startedMs: number;

  constructor(
    private readonly services: ReplicaServices,
    private readonly shard: CalledShard,
  ) {
    this.#startedMs = services.context.clock.monotonicMs();
  }

  assertMayRun(): void {
    this.services.lease.assertValid();
  }

  assertMayAnswer(): void {
    this.services.lease.assertValid();
  }

  async run(call: ShardCall, { deadlineMs }: Envelope): Promise<ShardResults[ShardCall['op']]> {
    const { context, lease } = this.services;
    switch (call.op) {
      case 'adopt':
        await this.shard.adopt(call.collectionIds);
        return null;
      case 'silence':
        void this.#dropLater(call.collectionId);
        return null;
      case 'drop':
        await this.shard.drop(call.collectionId);
        return null;
      case 'count':
        return this.#count(call.collectionIds);
      case 'heldBytes':
        return { held: await mapConcurrent(call.collectionIds, READS_AT_ONCE, (id) => this.#handleOf(id).heldBytes()) };
      case 'openIds':
        return this.#openIds();
      case 'openSequences':
        return this.#openSequences();
      case 'accessHeads':
        return { heads: await this.#accessHeads() };
      case 'warm':
        return this.#warm(call.collectionId);
      case 'handOver':
        await this.shard.transfer.run(this.shard.replicas.get(call.collectionId), call, deadlineMs);
        return null;
      case 'heads':
        return { sequences: await mapConcurrent(call.collectionIds, READS_AT_ONCE, (id) => this.#head(id)) };
      case 'readIndex':
        // Like a search here, this is answered only by the owner, and only under the lease.
        return { shown: await Promise.all(call.collectionIds.map((id) => this.#shown(id))) };
      case 'stateHashAt':
        return { stateHash: await this.#stateHashAt(call.collectionId, call.sequence, deadlineMs) };
      case 'erased':
        return { isDone: (await this.shard.replicas.get(call.collectionId)?.follower?.erased(call.sequence)) ?? true };
      case 'countInLogs':
        return { counts: await mapConcurrent(call.collectionIds, READS_AT_ONCE, (id) => this.#countInLog(id)) };
      case 'eraseLog':
        await context.logs.remove(call.collectionId);
        await context.logs.remove(accessLogId(call.collectionId));
        return null;
      case 'keyEntry':
      case 'destroyKey':
      case 'strikeOff':
      case 'settleKey':
      case 'certifyErasure':
        return this.shard.vaultCalls.run(call);
      case 'trim':
        await context.quota.trim(call.project);
        return null;
      case 'yield':
        lease.yield();
        return null;
      case 'status':
        return this.#status();
      case 'metrics':
        return { texts: await context.metrics.texts() };
      default:
        return unreachable(call);
    }
  }

  /** The state for a search at a follower, without expired records. */
  async #shown(collectionId: number): Promise<ShownState | null> {
    const owned = this.shard.replicas.get(collectionId)?.owned;
    if (this.#isDue(owned)) await owned?.expire().catch(() => undefined);
    const { shown = null } = this.shard.replicas.get(collectionId)?.owned ?? {};
    return this.#isDue(owned) ? null : shown;
  }

  /** Whether an open collection has expired records that are not removed yet. */
  #isDue(owned: CollectionHandle | undefined): boolean {
    return owned?.openCollection?.state.expiries.isDue(this.services.context.clock.nowMs()) ?? false;
  }

  /** Stops serving a deleted collection at once, and removes its files in the background. */
  async #dropLater(collectionId: number): Promise<void> {
    try {
      await this.shard.drop(collectionId);
    } catch (error) {
      const failure = { collectionId, error: messageOf(error) };
      this.services.context.logger.warn(failure, 'a deleted collection could not be closed');
    }
  }

  /** Counts collections that this shard owns, open or not. */
  async #count(collectionIds: readonly number[]): Promise<ShardResults['count']> {
    const { snapshots, removals } = this.services.context;
    const store = snapshots?.store;
    await removals.removeDue(collectionIds);
    // The callback is async: if it threw, the rejections of earlier counts would not be handled.
    const counts = await Promise.all(collectionIds.map(async (id) => this.#handleOf(id).count()));
    return {
      records: counts.map(({ records }) => records),
      sequences: counts.map(({ sequence }) => sequence),
      logBytes: counts.map(({ logBytes }) => logBytes),
      snapshotBytes: collectionIds.map((id) => store?.bytesOf(id) ?? 0),
      serving: collectionIds.map((id) => this.shard.replicas.get(id)?.ownedOrInTransfer?.serving ?? 'brute'),
      access: collectionIds.map((id) => this.#accessOf(id)),
    };
  }

  #status(): ShardResults['status'] {
    const { memoryGuard, admission, clock } = this.services.context;
    return {
      version,
      host: hostname(),
      uptimeSecs: Math.floor((clock.monotonicMs() - this.#startedMs) / 1000),
      memoryBytes: memoryGuard.usedBytes,
      memoryLimitBytes: memoryGuard.limitBytes,
      calls: admission.calls,
    };
  }

  /** Returns the settings of a collection's access log; null if the collection is not open here. */
  #accessOf(collectionId: number): AccessSettings | null {
    const state = this.shard.replicas.get(collectionId)?.ownedOrInTransfer?.openCollection?.state;
    return state ? { audit: state.readAudit, retentionDays: state.accessRetentionDays } : null;
  }

  /** Returns a collection that this shard owns. Throws `unavailable`. */
  #handleOf(collectionId: number): CollectionHandle {
    const handle = this.shard.replicas.get(collectionId)?.ownedOrInTransfer;
    if (handle === undefined) throw unavailable(`this shard does not serve collection ${collectionId}`);
    return handle;
  }

  /** Counts records in a log. A damaged log counts as empty, so that the other collections are counted. */
  async #countInLog(collectionId: number): Promise<LogCount> {
    const { logs, logger } = this.services.context;
    try {
      return await countInLog(logs, collectionId);
    } catch (error) {
      if (!(error instanceof LogDamaged)) throw error;
      logger.error({ collectionId, error: error.message }, 'a collection cannot be counted');
      return NOTHING_COUNTED;
    }
  }

  #openIds(): ShardResults['openIds'] {
    const [open, held, following]: [number[], number[], number[]] = [[], [], []];
    for (const [id, { owned, follower }] of this.shard.replicas) {
      if (owned?.openCollection !== undefined) open.push(id);
      if (owned?.isHeld) held.push(id);
      if (follower?.collection !== undefined) following.push(id);
    }
    return { open, held, following };
  }

  #openSequences(): ShardResults['openSequences'] {
    const open = [...this.shard.replicas].flatMap(([id, { owned }]) =>
      owned?.openCollection === undefined ? [] : [[id, owned.openCollection.count().sequence] as const],
    );
    return { ids: open.map(([id]) => id), sequences: open.map(([, sequence]) => sequence) };
  }

  async #accessHeads(): Promise<CollectionAccessHead[]> {
    const open = [...this.shard.replicas.values()].flatMap(({ owned }) => owned?.openCollection ?? []);
    const heads = await Promise.all(open.map((collection) => collection.access.head()));
    return heads.filter((head) => head !== undefined);
  }

  async #warm(collectionId: number): Promise<ShardResults['warm']> {
    if (this.shard.replicas.get(collectionId)?.follower === undefined) await this.shard.adopt([collectionId]);
    const follower = this.shard.replicas.get(collectionId)?.follower;
    if (follower === undefined || follower.isOfNoUse) throw refusal('conflict', 'notFollowed', { id: collectionId });
    return { ready: await follower.warm() };
  }

  /**
   * Returns the last event that searches see here; null unless this shard owns the collection before and after it is read. Null
   * while expired records are not removed, since a follower with them must not count as fresh.
   */
  async #head(collectionId: number): Promise<number | null> {
    const replica = this.shard.replicas.get(collectionId);
    const handle = replica?.owned;
    if (handle === undefined || handle.quarantined) return null;
    const unopened = handle.openCollection === undefined ? await handle.sequence() : undefined;
    if (replica?.owned !== handle || handle.quarantined) return null;
    // In one turn: in the middle of a removal, no record is due any more.
    if (handle.openCollection !== undefined)
      return this.#isDue(handle) ? null : handle.openCollection.journal.seenSequence;
    return this.services.context.removals.isDue(collectionId) ? null : (unopened ?? null);
  }

  async #stateHashAt(collectionId: number, sequence: number, deadlineMs: number): Promise<string | null> {
    const replica = this.shard.replicas.get(collectionId);
    const hash = await replica?.owned?.openCollection?.stateHashAt(sequence, deadlineMs);
    return replica?.owned === undefined ? null : (hash ?? null);
  }
}
