/** A compare-and-swap of an owner entry. Its outcome must be known before the caller continues. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Entry } from '../../shared/bucket/bucket.js';
import { messageOf, unavailable } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { type Ownership, storedOwnership } from '../../shared/registry/owners.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';

/**
 * Replaces the entry with this `revision`, which has the previous epoch. Returns the entry after the attempt: the new
 * one or a later one; undefined if it is deleted. An unanswered attempt may still take effect later. So it is repeated
 * until one is answered or the entry has changed. Throws `unavailable` if `stopping` is aborted before that: then the
 * lease decides.
 */
export async function casOwner(
  owners: Bucket,
  { next, revision }: { readonly next: Ownership; readonly revision: number },
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
      // A stale replica may answer the entry that is to be replaced, or an older one.
      if (entry === undefined || entry.revision > revision) return entry;
    } catch (error) {
      logger.warn(
        { collectionId, error: messageOf(error) },
        'the outcome of a handover is not known yet; it is retried',
      );
    }
    if (stopping.aborted) throw unavailable('the shard is stopping; the outcome of the handover is not known');
    await delay(RETRY_MS.ownerEntry);
  }
}
