/** The drain of a shard: it waits until its collections have moved to other shards, and transfers the last ones itself. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../../shared/bucket/bucket.js';
import { messageOf } from '../../shared/errors/errors.js';
import { heartbeatOf } from '../../shared/registry/owners.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import type { CollectionReplica, ReplicaServices } from './collectionReplica.js';
import type { OwnershipTransfer } from './ownershipTransfer.js';
import { takeoverCandidates } from './takeoverCandidates.js';

/** Time without a move after which the shard transfers collections itself: perhaps no coordinator leads. */
const IDLE_MS = 5_000;
const LOOK_EVERY_MS = 50;
/** Transfers at a time, as many as the leading coordinator makes. */
const TRANSFERS_AT_ONCE = 4;
/** Longest duration of a transfer. */
const TRANSFER_MS = 5_000;

type Replicas = ReadonlyMap<number, CollectionReplica>;

/** Resolves when no collection is left, no other shard remains, nothing can move, the lease is lost, or the time is up. */
export async function drain(
  services: ReplicaServices,
  { replicas, transfer }: { readonly replicas: Replicas; readonly transfer: OwnershipTransfer },
  shards: Bucket,
  timeoutMs: number,
): Promise<void> {
  const { shard, lease, context } = services;
  const { clock, logger } = context;
  /** Other live shards that are not being drained. */
  const staying = new Set<string>();
  const watch = await shards.watch(({ key, entry }) => {
    if (key !== shard && entry !== undefined && !heartbeatOf(entry).leaving) staying.add(key);
    else staying.delete(key);
  });
  const countOwned = (): number =>
    [...replicas.values()].filter(({ ownedOrInTransfer }) => ownedOrInTransfer !== undefined).length;
  try {
    const startedMs = clock.monotonicMs();
    let left = countOwned();
    let movedMs = startedMs;
    logger.info({ shard, collections: left, others: staying.size }, 'leaving: the collections move to other shards');
    // Without its lease the shard cannot transfer anything.
    while (left > 0 && staying.size > 0 && lease.valid) {
      const nowMs = clock.monotonicMs();
      if (nowMs - startedMs >= timeoutMs) break;
      if (nowMs - movedMs >= IDLE_MS) {
        if (!mayMove(ownedOf(replicas), staying)) break;
        await transferTo(staying, services, replicas, transfer);
        movedMs = clock.monotonicMs();
      }
      await delay(LOOK_EVERY_MS);
      const now = countOwned();
      if (now !== left) movedMs = clock.monotonicMs();
      left = now;
    }
    const seconds = (clock.monotonicMs() - startedMs) / 1000;
    logger.info(
      { shard, seconds, collections: left },
      left === 0 ? 'all collections have moved' : 'some collections have not moved',
    );
  } finally {
    watch.stop();
  }
}

const ownedOf = (replicas: Replicas): CollectionReplica[] =>
  [...replicas.values()].filter(({ owned }) => owned !== undefined);

/** Whether a collection may still move: it has a follower that may be warming, or a hold of its writes will end. */
const mayMove = (replicas: readonly CollectionReplica[], staying: ReadonlySet<string>): boolean =>
  replicas.some(({ owned, ownership }) => owned?.isHeld || ownership?.followers.some((shard) => staying.has(shard)));

/** Transfers collections to those of the shards that have them in memory. After a failure this shard continues to serve. */
async function transferTo(
  staying: ReadonlySet<string>,
  { follow, context }: ReplicaServices,
  replicas: Replicas,
  transfer: OwnershipTransfer,
): Promise<void> {
  const { clock, logger } = context;
  const followers = ownedOf(replicas).flatMap(({ ownership }) => ownership?.followers ?? []);
  const choose = await takeoverCandidates(
    followers.filter((shard) => staying.has(shard)),
    follow,
  );
  await mapConcurrent(ownedOf(replicas), TRANSFERS_AT_ONCE, async (replica) => {
    const { collectionId, epoch, ownership } = replica;
    const to = ownership && choose(collectionId, ownership.followers);
    if (to === undefined || epoch === undefined) return;
    const call = { op: 'handOver', collectionId, epoch, to, followers: ownership!.followers } as const;
    try {
      await transfer.run(replica, call, clock.nowMs() + TRANSFER_MS);
    } catch (error) {
      logger.warn({ collectionId, to, error: messageOf(error) }, 'a collection could not be handed over');
    }
  });
}
