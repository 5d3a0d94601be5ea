/**
 * The transfer of a collection in use to another shard. Every write that was answered here is in the log before the owner entry
 * changes. From before the change until its outcome is known, this shard answers no call of the collection. A hold of writes
 * exists only at its owner, so a collection on hold is not transferred.
 *
 * ```text
 * serves ──▶ finishes the running commit ──▶ stops answering ──▶ changes the owner entry ──▶ has the role of the entry
 *                      └── takes too long: continues to serve           └── unknown outcome: repeats the change
 * ```
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../../shared/bucket/bucket.js';
import { refusal, unavailable, type VouchError } from '../../shared/errors/errors.js';
import type { ShardCall } from '../../shared/protocol/calls.js';
import { type Ownership, ownershipOf } from '../../shared/registry/owners.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';
import { casOwner } from './casOwner.js';
import type { CollectionReplica, ReplicaServices } from './collectionReplica.js';

type HandOverCall = ShardCall & { readonly op: 'handOver' };

/** Part of the caller's time that is reserved for the change of the entry. */
const SWAP_MS = 500;

export class OwnershipTransfer {
  /** Collections with a transfer in progress. */
  readonly #running = new Set<number>();

  /** `stopping`: is aborted when the shard ends. */
  constructor(
    private readonly services: ReplicaServices,
    private readonly owners: Bucket,
    private readonly stopping: AbortSignal,
  ) {}

  /**
   * Resolves when the other shard is the owner. Throws `conflict` if the call is not about the current ownership or the entry has
   * changed otherwise, and `unavailable` if this shard continues to serve.
   */
  async run(replica: CollectionReplica | undefined, call: HandOverCall, deadlineMs: number): Promise<void> {
    const { collectionId } = call;
    if (replica === undefined || replica.epoch !== call.epoch || call.to === this.services.shard) throw notOwned(call);
    if (this.#running.has(collectionId)) throw refusal('conflict', 'handedOver', { id: collectionId });
    this.#running.add(collectionId);
    try {
      await this.#transfer(replica, call, deadlineMs);
    } finally {
      this.#running.delete(collectionId);
    }
  }

  async #transfer(replica: CollectionReplica, call: HandOverCall, deadlineMs: number): Promise<void> {
    const { clock, logger, metrics, quota } = this.services.context;
    const { collectionId, to, epoch } = call;
    const entry = await this.owners.get(String(collectionId));
    if (entry !== undefined) void replica.receiveEntry(ownershipOf(entry), entry.revision);
    const handle = replica.owned;
    if (entry === undefined || handle === undefined || replica.epoch !== epoch) throw notOwned(call);
    const leftMs = (): number => Math.max(deadlineMs - clock.nowMs() - SWAP_MS, 0);
    // Check often: a client that rebuilds one index after another leaves little time between two holds.
    while (handle.isHeld && leftMs() > 0) await delay(RETRY_MS.heldCollection);
    if (handle.isHeld) throw onHold(call);
    const pausedMs = clock.monotonicMs();
    if (!(await handle.pause(leftMs()))) {
      handle.resume();
      throw unavailable(`a commit of collection ${collectionId} takes long; the collection is not handed over now`);
    }
    if (replica.epoch !== epoch || handle.isHeld) {
      handle.resume();
      throw handle.isHeld ? onHold(call) : notOwned(call);
    }
    await replica.beginTransfer();
    // Wait for reservations of capacity in progress: what they give back later would be taken from the next owner.
    await quota.idle();
    const isDone = await this.#swap(replica, call);
    const waitedMs = clock.monotonicMs() - pausedMs;
    metrics.observe('vouch_ownership_transfer_seconds', { outcome: isDone ? 'done' : 'refused' }, waitedMs / 1000);
    if (!isDone) throw refusal('conflict', 'ownerChanged', { id: collectionId });
    logger.info({ collectionId, to, waitedMs: Math.round(waitedMs) }, 'a collection is handed over');
  }

  /** Changes the owner entry, and lets the replica follow it. Returns whether the other shard is the owner now. */
  async #swap(replica: CollectionReplica, { to, followers, epoch }: HandOverCall): Promise<boolean> {
    const before = replica.ownership as Ownership;
    const followersThen = followers.filter((shard) => shard !== to);
    // This shard serves, so every earlier owner has ended: nothing is taken from one.
    const mayGetAppends = replica.ownedOrInTransfer?.mayGetAppends || undefined;
    const own = { shard: to, epoch: epoch + 1, followers: followersThen };
    const next = { ...before, ...own, takenFrom: undefined, mayGetAppends };
    const { logger } = this.services.context;
    const entry = await casOwner(this.owners, { next, revision: replica.revision }, this.stopping, logger);
    const ownership = entry && ownershipOf(entry);
    void replica.receiveEntry(ownership, entry?.revision ?? 0);
    await replica.endTransfer();
    return ownership?.shard === to && ownership.epoch === epoch + 1;
  }
}

/** Refusal during a hold: the next owner would not know of the hold, and would accept writes. */
const onHold = ({ collectionId }: HandOverCall): VouchError =>
  unavailable(
    `writes of collection ${collectionId} are on hold while indexes are rebuilt; it is handed over afterwards`,
  );
const notOwned = ({ collectionId, epoch }: HandOverCall): VouchError =>
  refusal('conflict', 'notOwned', { id: collectionId, epoch });
