/** A compare-and-swap of an owner entry whose outcome must be known before anything else is done. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Entry } from '../../shared/bucket/bucket.js';
import { messageOf, unavailable } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { type Ownership, storedOwnership } from '../../shared/registry/owners.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';

/**
 * Returns the entry after the attempt: the new one or a later one; undefined if it is deleted. `revision`: of the entry to
 * replace, which has the epoch before. An unanswered attempt may still take effect later, so it is repeated until one is
 * answered or the entry has changed. Throws `unavailable` if `stopping` is aborted before that: the lease then decides.
 */
export async function casOwner(
  owners: Bucket,
  next: Ownership,
  revision: number,
  stopping: AbortSignal,
  logger: Logger,
): Promise<Entry | undefined> {
  const collectionId = next.collection.id;
  const key = String(collectionId);
  const value = storedOwnership(next);
  for (;;) {
    try {
      const changed = await owners.update(key, value, revision);
      if (changed !== undefined) return { key, value, revision: changed };
      const entry = await owners.get(key);
      // A leader that was deposed a moment ago may answer the entry that is to be replaced, or an older one.
      if (entry === undefined || entry.revision > revision) return entry;
    } catch (error) {
      logger.warn({ collectionId, error: messageOf(error) }, 'whether a collection is handed over is not known yet');
    }
    if (stopping.aborted)
      throw unavailable('the shard ends, and it is not known whether the collection was handed over');
    await delay(RETRY_MS.ownerEntry);
  }
}
