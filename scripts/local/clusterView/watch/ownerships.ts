/** The owner and the followers of every collection, from the owners bucket, and the moving collections. */
import type { Config } from '../../../../config/config.js';
import type { Ownership } from '../../../../shared/registry/owners.js';

export class Ownerships {
  readonly #ownerships = new Map<number, Ownership>();
  readonly #owned = new Map<string, number>();
  readonly #followed = new Map<string, number>();
  /** Collections that are being copied, with more followers than configured → start of the copy. */
  readonly #copiedSinceMs = new Map<number, number>();
  /** Collections by old and new owner. */
  readonly #moved = new Map<string, number>();

  constructor(private readonly followers: Config['followers']) {}

  /** `now` undefined: the collection was deleted. */
  set(collectionId: number, now: Ownership | undefined, nowMs: number): void {
    const before = this.#ownerships.get(collectionId);
    if (before !== undefined) this.#count(before, -1);
    if (now === undefined) {
      this.#ownerships.delete(collectionId);
      this.#copiedSinceMs.delete(collectionId);
      return;
    }
    this.#count(now, 1);
    this.#ownerships.set(collectionId, now);
    if (before !== undefined && before.shard !== now.shard) add(this.#moved, `${before.shard} ${now.shard}`, 1);
    const { count, projects, collections } = this.followers;
    const { project, name } = now.collection;
    const wanted = collections?.[`${project}/${name}`] ?? projects?.[project] ?? count;
    if (now.followers.length <= wanted) this.#copiedSinceMs.delete(collectionId);
    else if (!this.#copiedSinceMs.has(collectionId)) this.#copiedSinceMs.set(collectionId, nowMs);
  }

  owned(shard: string): number {
    return this.#owned.get(shard) ?? 0;
  }

  followed(shard: string): number {
    return this.#followed.get(shard) ?? 0;
  }

  /** Copies of collections to their new owners or followers, the longest running first. */
  moves(nowMs: number) {
    return [...this.#copiedSinceMs].map(([collectionId, sinceMs]) => {
      const { shard, followers, collection } = this.#ownerships.get(collectionId)!;
      return { collectionId, name: collection.name, from: shard, to: followers.at(-1)!, sinceMs: nowMs - sinceMs };
    });
  }

  /** Returns the changes of owners since the last call. */
  takeMoved() {
    const moved = [...this.#moved].map(([key, collections]) => {
      const [from = '', to = ''] = key.split(' ');
      return { from, to, collections };
    });
    this.#moved.clear();
    return moved;
  }

  #count({ shard, followers }: Ownership, by: 1 | -1): void {
    add(this.#owned, shard, by);
    for (const follower of followers) add(this.#followed, follower, by);
  }
}

const add = (counts: Map<string, number>, key: string, by: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + by);
};
