/**
 * Counts each project's shreds of keys that the vault never knew. Such a key keeps an entry in the vault for ever, so that
 * no insert can create it later. Any writer can request any number of shreds, so a project has a bound.
 */
import type { Bucket } from '../../../shared/bucket/bucket.js';
import { refusal } from '../../../shared/errors/errors.js';

/**
 * Counts one more key before its entry is made: the bound holds over all coordinators, and an interrupted shred counts too.
 * `bucket`: BUCKETS.counters. Throws `capacity_exceeded`.
 */
export async function countUnknownKey(bucket: Bucket, bound: number, project: string): Promise<void> {
  const key = `unknown-shreds.${project}`;
  for (;;) {
    const entry = await bucket.get(key);
    const counted = (entry?.value as number | undefined) ?? 0;
    if (counted >= bound) throw refusal('capacity_exceeded', 'unknownShreds', { count: counted });
    const written =
      entry === undefined ? await bucket.create(key, 1) : await bucket.update(key, counted + 1, entry.revision);
    if (written !== undefined) return;
  }
}
