/** Makes a cluster's streams and buckets in JetStream, as its admin: coordinators and shards lack the permission. */
import { LEASE_MS } from '../../../coordinator/cluster/members/leadership.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { systemClock } from '../../../shared/clock.js';
import { messageOf, VouchError } from '../../../shared/errors/errors.js';
import type { ClusterPlatform } from '../../../shared/platform/natsPlatform.js';
import { poll, RETRY_MS } from '../../../shared/scheduling/retry.js';

const ELECTED_WITHIN_MS = 90_000;

/**
 * Makes every bucket and stream of the cluster, and resolves when each has a leader. The processes that start next then do not
 * wait for elections. Makes one stream at a time, since each begins with the election of a leader. Throws an Error if that takes too long.
 */
export async function prepareStore(platform: ClusterPlatform, heartbeatTtlMs: number): Promise<void> {
  const { connection } = platform;
  const { streams } = connection.jsm;
  const ttls: Readonly<Record<string, number>> = { [BUCKETS.shards]: heartbeatTtlMs, [BUCKETS.leases]: LEASE_MS };
  const deadlineMs = systemClock.monotonicMs() + ELECTED_WITHIN_MS;
  for (const name of Object.values(BUCKETS)) {
    const ttlMs = ttls[name];
    await untilDone(() => platform.bucket(name, ttlMs === undefined ? {} : { ttlMs }), deadlineMs);
  }
  await untilDone(() => platform.vault(), deadlineMs);
  await untilDone(() => platform.serviceLog(), deadlineMs);
  const names = await untilDone(() => connection.call(() => streams.names().next()), deadlineMs);
  // Only the leader of a stream answers for it.
  for (const name of names) await untilDone(() => connection.call(() => streams.info(name)), deadlineMs);
}

async function untilDone<T>(attempt: () => Promise<T>, deadlineMs: number): Promise<T> {
  let last: unknown;
  const tried = async (): Promise<{ readonly result: T } | undefined> => {
    try {
      return { result: await attempt() };
    } catch (error) {
      if (!(error instanceof VouchError && error.code === 'unavailable')) throw error;
      last = error;
      return undefined;
    }
  };
  const withinMs = deadlineMs - systemClock.monotonicMs();
  const done = await poll(tried, { everyMs: RETRY_MS.startUp, withinMs, clock: systemClock });
  if (done !== undefined) return done.result;
  throw new Error(`the NATS servers did not agree within ${ELECTED_WITHIN_MS / 1000} s: ${messageOf(last)}`);
}
