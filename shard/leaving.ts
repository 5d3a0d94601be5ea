/** Waiting, at the end of a shard, for its collections to be moved to others. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../shared/bucket/bucket.js';
import type { Clock } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import { heartbeatOf } from '../shared/owners.js';

/** Nobody moves anything: there is no leader, or nothing that can be moved now. */
const IDLE_MS = 5_000;
const LOOK_EVERY_MS = 50;

export interface LeaveOptions {
  readonly shard: string;
  /** BUCKETS.shards. */
  readonly shards: Bucket;
  /** The longest that it takes. */
  readonly leaveMs: number;
  /** Collections that are left. */
  readonly owned: () => number;
  /**
   * Whether one of them may move later: it is followed by one of these shards, and perhaps being warmed there, or its
   * writes are held, which ends.
   */
  readonly isAwaited: (shards: ReadonlySet<string>) => boolean;
  /** Hands over what one of these shards has in memory already, where nobody else does. */
  readonly handOver: (shards: ReadonlySet<string>) => Promise<void>;
  /** Without its lease it can hand nothing over. */
  readonly isLeaseValid: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Resolves when no collection is left, no other shard stays, nothing has moved for a while, or the time is up. */
export async function untilLeft(options: LeaveOptions): Promise<void> {
  const { shard, shards, leaveMs, owned, isAwaited, handOver, isLeaseValid, clock, logger } = options;
  /** Others that live and do not leave. */
  const staying = new Set<string>();
  const watch = await shards.watch(({ key, entry }) => {
    if (key !== shard && entry !== undefined && !heartbeatOf(entry).leaving) staying.add(key);
    else staying.delete(key);
  });
  try {
    const startedMs = clock.monotonicMs();
    let left = owned();
    let movedMs = startedMs;
    logger.info({ shard, collections: left, others: staying.size }, 'leaving: the collections move to other shards');
    while (left > 0 && staying.size > 0 && isLeaseValid()) {
      const nowMs = clock.monotonicMs();
      if (nowMs - startedMs >= leaveMs) break;
      if (nowMs - movedMs >= IDLE_MS) {
        if (!isAwaited(staying)) break;
        await handOver(staying);
        movedMs = clock.monotonicMs();
      }
      await delay(LOOK_EVERY_MS);
      if (owned() !== left) movedMs = clock.monotonicMs();
      left = owned();
    }
    const seconds = (clock.monotonicMs() - startedMs) / 1000;
    logger.info({ shard, seconds, collections: left }, left === 0 ? 'all collections have moved' : 'some stay behind');
  } finally {
    watch.stop();
  }
}
