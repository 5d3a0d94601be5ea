import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../../../shared/bucket/bucket.js';

/** How long a load balancer waits. A frozen server would keep it waiting ten times as long. */
const ANSWER_WITHIN_MS = 1_000;
const PROBLEM = 'the store of the cluster state does not answer';

/**
 * Returns a probe of the store of the cluster state, which resolves to its problem, if it has one, within a second. A bucket
 * that cannot be read means that there is no quorum, and then nothing can be committed. One read runs at a time for all
 * callers: `/health` is open to everybody.
 */
export function storeProbe(bucket: () => Promise<Pick<Bucket, 'get'>>): () => Promise<string | undefined> {
  let reading: Promise<string | undefined> | undefined;
  const read = async (): Promise<undefined> => void (await (await bucket()).get('health'));
  return () => {
    reading ??= read()
      .catch(() => PROBLEM)
      .finally(() => {
        reading = undefined;
      });
    return Promise.race([reading, delay(ANSWER_WITHIN_MS, PROBLEM, { ref: false })]);
  };
}
