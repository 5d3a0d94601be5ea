/** NATS servers that have just found each other: everything that the cluster keeps in them is made, and has a leader. */
import { setTimeout as delay } from 'node:timers/promises';
import { LEASE_MS } from '../../coordinator/cluster/leadership.js';
import { type Clock, systemClock } from '../../shared/clock.js';
import { messageOf, VouchError } from '../../shared/errors.js';
import type { ClusterPlatform } from '../../shared/natsPlatform.js';
import { BUCKETS, type BucketName } from '../../shared/platform.js';
import { StartError } from './startError.js';

const WITHIN_MS = 90_000;
const BETWEEN_MS = 200;

/** Entries of these buckets vanish, after as long as its users say at every start. */
const lifetimes = (heartbeatsMs: number): Partial<Record<BucketName, number>> => ({
  [BUCKETS.shards]: heartbeatsMs,
  [BUCKETS.leases]: LEASE_MS,
});

/**
 * Resolves when all of it answers: processes that start then need not wait for elections, each for itself. One after the
 * other, since every stream is an election too. Throws StartError where that takes too long.
 */
export async function settle(
  platform: ClusterPlatform,
  heartbeatsMs: number,
  clock: Clock = systemClock,
): Promise<void> {
  const giveUpMs = clock.monotonicMs() + WITHIN_MS;
  const ttlOf = lifetimes(heartbeatsMs);
  for (const name of Object.values(BUCKETS)) {
    const ttlMs = ttlOf[name];
    await untilDone(() => platform.bucket(name, ttlMs === undefined ? {} : { ttlMs }), giveUpMs, clock);
  }
  await untilDone(() => platform.vault(), giveUpMs, clock);
  const { streams } = platform.connection.jsm;
  const names = await untilDone(() => platform.connection.call(() => streams.names().next()), giveUpMs, clock);
  // Only its leader answers for a stream.
  for (const name of names) await untilDone(() => platform.connection.call(() => streams.info(name)), giveUpMs, clock);
}

async function untilDone<T>(attempt: () => Promise<T>, giveUpMs: number, clock: Clock): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof VouchError && error.code === 'unavailable')) throw error;
      if (clock.monotonicMs() >= giveUpMs)
        throw new StartError(`the NATS servers did not agree within ${WITHIN_MS / 1000} s: ${messageOf(error)}`);
      await delay(BETWEEN_MS);
    }
  }
}
