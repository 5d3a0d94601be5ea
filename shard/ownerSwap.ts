/** A change of an owner entry, of which it must be known what became of it before anything else is done. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Entry } from '../shared/bucket/bucket.js';
import { messageOf, unavailable } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import { type Ownership, ownershipOf, storedOwnership } from '../shared/owners.js';

export interface OwnerSwapParts {
  readonly owners: Bucket;
  readonly logger: Logger;
  /** The shard is about to end: what cannot be learned now is left to its lease. */
  readonly isEnding: () => boolean;
}

const AGAIN_MS = 100;

/**
 * What the entry says once the change has been tried: it, or what another has made of it; undefined where it is gone.
 * `revision`: of the entry that it replaces, under the epoch before. An attempt that is not answered may take place later,
 * and is made again until one is, or the entry has gone on. Throws `unavailable` where the shard ends before that.
 */
export async function entryAfter(
  { owners, logger, isEnding }: OwnerSwapParts,
  next: Ownership,
  revision: number,
): Promise<Entry | undefined> {
  const key = String(next.collection.id);
  const value = storedOwnership(next);
  const collectionId = next.collection.id;
  let expected = revision;
  for (;;) {
    try {
      const changed = await owners.update(key, value, expected);
      if (changed !== undefined) return { key, value, revision: changed };
      const entry = await owners.get(key);
      if (entry === undefined || entry.revision > revision || ownershipOf(entry).epoch >= next.epoch) return entry;
      // A server that led until a moment ago may still show what was there before, or one that leads now number it
      // otherwise (see `isLater`): of these it takes a change only where it is the present one.
      if (entry.revision !== expected)
        logger.warn({ collectionId, expected, found: entry.revision }, 'an owner entry has an older revision');
      expected = entry.revision;
    } catch (error) {
      logger.warn({ collectionId, error: messageOf(error) }, 'whether a collection is handed over is not known yet');
    }
    if (isEnding()) throw unavailable('the shard ends, and it is not known whether the collection was handed over');
    await delay(AGAIN_MS);
  }
}
