/**
 * The return of a shard that owned collections when it ended, and has none of them in memory. Before it answers any
 * call, followers that have them in memory become their owners, as after a death.
 *
 * ```text
 * Own entry ──▶ deferred ──a follower has it in memory──▶ owned there, in the next epoch.
 *                      └──none has it──▶ owned here, unless the entry changes.
 * ```
 *
 * A watch may begin with entries of a stale replica: another owner may have begun before this shard had a heartbeat.
 *
 * An earlier process with the shard's name has no lease any more, and the log refuses its late writes.
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

  /** Whether the entry must wait. It is in `remaining` at the end, unless it changes. */
  defers({ key, entry }: Change): boolean {
    const ownership = entry && ownershipOf(entry);
    const isDeferred = ownership?.shard === this.services.shard;
    if (isDeferred) this.#deferred.set(key, entry as Entry);
    else this.#deferred.delete(key);
    return isDeferred;
  }

  /**
   * Gives collections to followers that have them in memory. `changed` receives every entry that now names another
   * shard.
   */
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

  /** Entries that still name this shard. */
  get remaining(): readonly Change[] {
    return [...this.#deferred].map(([key, entry]) => {
      const value = storedOwnership(resumed(ownershipOf(entry)));
      return { key, entry: { ...entry, value } };
    });
  }
}

/** Marks that an append of the ended process may still arrive. */
const resumed = (ownership: Ownership): Ownership => ({ ...ownership, mayGetAppends: true });
