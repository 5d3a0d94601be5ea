/** Projects of a simulated service, and the keys of its clients. */
import type { Bucket } from '../../../shared/bucket/bucket.js';
import { systemClock, systemEntropy } from '../../../shared/clock.js';
import { createKey } from '../../../shared/registry/keys.js';

export const PROJECT = 'simulated';
/** Project whose collections come and go. */
export const CHURN_PROJECT = 'churn';

/** Creates a key for each project that does everything in it. Returns project → key. `bucket`: BUCKETS.keys. */
export async function createKeys(bucket: Bucket, projects: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  for (const project of projects) {
    const wanted = { project, scope: 'admin' } as const;
    keys.set(project, (await createKey(bucket, wanted, systemClock, systemEntropy)).key);
  }
  return keys;
}
