/**
 * The start of a shard whose earlier process owned collections, and which has none of them in memory. Before it answers any call,
 * followers that have them in memory become their owners, as if the shard had died.
 *
 * A watch may begin with entries of a stale replica, while another shard has become the owner. The earlier process with this
 * shard's name has no lease any more, and the log refuses its late writes.
 *
 * ```text
 * entry that names this shard ──▶ deferred ──a follower has the collection in memory──▶ owned there, in the next epoch
 *                                    └──none has──▶ owned here, unless the entry changes
 * ```
 */
import type { Bucket, Change, Entry } from '../../shared/bucket/bucket.js';
import { type Ownership, ownershipOf, storedOwnership } from '../../shared/registry/owners.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { casOwner } from './casOwner.js';
import type { ReplicaServices } from './collectionReplica.js';
import { takeoverCandidates } from './takeoverCandidates.js';

const WRITES_AT_ONCE = 64;

export class Rejoin {
  /** Deferred entries by key. */
  readonly #deferred = new Map<string, Entry>();

  constructor(
    private readonly services: ReplicaServices,
    private readonly owners: Bucket,
    private readonly stopping: AbortSignal,
  ) {}

  /** Defers an entry that names this shard, and returns true; otherwise false. Deferred entries are in `remaining`. */
  defers({ key, entry }: Change): boolean {
    const ownership = entry && ownershipOf(entry);
    const isDeferred = ownership?.shard === this.services.shard;
    if (isDeferred) this.#deferred.set(key, entry as Entry);
    else this.#deferred.delete(key);
    return isDeferred;
  }

  /** Gives collections to followers that have them in memory. `changed` receives each entry that names another shard then. */
  async run(changed: (change: Change) => void): Promise<void> {
    const { shard, follow, context } = this.services;
    const found = [...this.#deferred.values()].filter((entry) => ownershipOf(entry).followers.length > 0);
    if (found.length === 0) return;
    const choose = await takeoverCandidates(
      found.flatMap((entry) => ownershipOf(entry).followers),
      follow,
    );
    let collections = 0;
    await mapConcurrent(found, WRITES_AT_ONCE, async ({ key, value, revision }) => {
      const before = ownershipOf({ key, value, revision });
      const to = choose(before.collection.id, before.followers);
      if (to === undefined) return;
      const followers = [...before.followers.filter((name) => name !== to), shard];
      const takenFrom = before.takenFrom?.filter((name) => name !== to);
      const next = { ...resumed(before), shard: to, epoch: before.epoch + 1, followers, takenFrom };
      const change = { key, entry: await casOwner(this.owners, { next, revision }, this.stopping, context.logger) };
      if (this.defers(change)) return;
      collections++;
      changed(change);
    });
    const kept = found.length - collections;
    context.logger.info({ shard, collections, kept }, 'followers that have collections in memory own them now');
  }

  /** Deferred entries that still name this shard. */
  get remaining(): readonly Change[] {
    return [...this.#deferred].map(([key, entry]) => {
      const value = storedOwnership(resumed(ownershipOf(entry)));
      return { key, entry: { ...entry, value } };
    });
  }
}

/** Returns the ownership with the note that an append of the ended process may still arrive. */
const resumed = (ownership: Ownership): Ownership => ({ ...ownership, mayGetAppends: true });
