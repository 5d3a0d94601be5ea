import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../../../shared/bucket/bucket.js';

/** The patience of a load balancer. A frozen server would keep it waiting ten times as long. */
const ANSWER_WITHIN_MS = 1_000;
const PROBLEM = 'the store of the cluster state does not answer';

/**
 * Returns a probe of the store of the cluster state. It resolves within a second: to the store's problem, if there is one. A
 * bucket that cannot be read means that a quorum is missing, so no write can commit. All callers share one read at a time:
 * `/health` needs no key.
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
