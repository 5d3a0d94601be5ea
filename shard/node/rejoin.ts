/**
 * The return of a shard that owned collections when it ended, and has none of them in memory. Before it answers anything,
 * followers that have them in memory become their owners, as after a death:
 *
 *   own entry ──▶ deferred ──a follower has it in memory──▶ that one's, under the next epoch; followed here
 *                        └──none has──▶ owned and served here, if the entry still says so once all owners are told
 *
 * A watch may begin with entries of a server that lags, or that led before: another owner may have begun before this shard had a
 * heartbeat.
 *
 * An earlier process of the shard's name has no lease any more, and the log refuses what it may still write.
 */
import type { Bucket, Change, Entry } from '../../shared/bucket/bucket.js';
import { type Ownership, ownershipOf, storedOwnership } from '../../shared/registry/owners.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { casOwner } from './casOwner.js';
import type { ReplicaServices } from './collectionReplica.js';
import { takeoverCandidates } from './takeoverCandidates.js';

const WRITES_AT_ONCE = 64;

export class Rejoin {
  /** By key. */
  readonly #deferred = new Map<string, Entry>();

  constructor(
    private readonly services: ReplicaServices,
    private readonly owners: Bucket,
    private readonly stopping: AbortSignal,
  ) {}

  /** Whether the entry must not be acted upon yet. It comes with `remaining` in the end, unless it changes. */
  defers({ key, entry }: Change): boolean {
    const ownership = entry && ownershipOf(entry);
    const isDeferred = ownership?.shard === this.services.shard;
    if (isDeferred) this.#deferred.set(key, entry as Entry);
    else this.#deferred.delete(key);
    return isDeferred;
  }

  /** Gives collections to followers that have them in memory. `changed` gets every entry that names another shard now. */
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
      const change = { key, entry: await casOwner(this.owners, next, revision, this.stopping, context.logger) };
      if (this.defers(change)) return;
      collections++;
      changed(change);
    });
    const kept = found.length - collections;
    context.logger.info({ shard, collections, kept }, 'followers that have collections in memory own them now');
  }

  /** The entries that still name this shard. */
  get remaining(): readonly Change[] {
    return [...this.#deferred].map(([key, entry]) => {
      const value = storedOwnership(resumed(ownershipOf(entry)));
      return { key, entry: { ...entry, value } };
    });
  }
}

/** An append of the process that has ended may be on its way. */
const resumed = (ownership: Ownership): Ownership => ({ ...ownership, mayGetAppends: true });
