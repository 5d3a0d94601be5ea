/** The compare-and-swap of an owner entry, with an outcome that is known. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Entry } from '../../shared/bucket/bucket.js';
import { messageOf, unavailable } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { type Ownership, storedOwnership } from '../../shared/registry/owners.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';

/**
 * Replaces the owner entry of revision `revision` by `next`. Returns the entry after that: `next`, or what another process has
 * stored; undefined if it is deleted. An attempt without an answer may still take effect later. So attempts are repeated until
 * one is answered, or the entry has changed. Throws `unavailable` if `stopping` is aborted before: then this shard's lease
 * expires, and the leading coordinator decides.
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
      // A stale replica may answer with the entry to be replaced, or an older one.
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
