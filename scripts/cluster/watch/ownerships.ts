/** Who owns and follows what, as the owners bucket tells it, and what moves. */
import type { Config } from '../../../config/config.js';
import type { Ownership } from '../../../shared/owners.js';
import type { Move } from '../snapshot.js';

export interface Moved {
  readonly from: string;
  readonly to: string;
  readonly collections: number;
}

interface Held {
  owned: number;
  followed: number;
}

export class Ownerships {
  readonly #followers: Config['followers'];
  readonly #ownerships = new Map<number, Ownership>();
  readonly #held = new Map<string, Held>();
  /** Collections with more followers than they are to have: since when. */
  readonly #copiedSinceMs = new Map<number, number>();
  #moved = new Map<string, number>();

  constructor(followers: Config['followers']) {
    this.#followers = followers;
  }

  get size(): number {
    return this.#ownerships.size;
  }

  /** `now` undefined: the collection is gone. */
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
    if (before !== undefined && before.shard !== now.shard) {
      const key = `${before.shard} ${now.shard}`;
      this.#moved.set(key, (this.#moved.get(key) ?? 0) + 1);
    }
    if (now.followers.length <= this.#wantedFollowers(now)) this.#copiedSinceMs.delete(collectionId);
    else if (!this.#copiedSinceMs.has(collectionId)) this.#copiedSinceMs.set(collectionId, nowMs);
  }

  owned(shard: string): number {
    return this.#held.get(shard)?.owned ?? 0;
  }

  followed(shard: string): number {
    return this.#held.get(shard)?.followed ?? 0;
  }

  /** Those that have been under way for longest come first. */
  moves(nowMs: number): Move[] {
    return [...this.#copiedSinceMs].map(([collectionId, sinceMs]) => {
      const { shard, followers, collection } = this.#ownerships.get(collectionId)!;
      return { collectionId, name: collection.name, from: shard, to: followers.at(-1)!, sinceMs: nowMs - sinceMs };
    });
  }

  /** What has changed its owner since this was asked before. */
  takeMoved(): Moved[] {
    const moved = [...this.#moved].map(([key, collections]) => {
      const [from = '', to = ''] = key.split(' ');
      return { from, to, collections };
    });
    this.#moved = new Map();
    return moved;
  }

  #count({ shard, followers }: Ownership, by: 1 | -1): void {
    this.#heldBy(shard).owned += by;
    for (const follower of followers) this.#heldBy(follower).followed += by;
  }

  #heldBy(shard: string): Held {
    let held = this.#held.get(shard);
    if (held === undefined) {
      held = { owned: 0, followed: 0 };
      this.#held.set(shard, held);
    }
    return held;
  }

  #wantedFollowers({ collection: { project, name } }: Ownership): number {
    const { count, projects, collections } = this.#followers;
    return collections?.[`${project}/${name}`] ?? projects?.[project] ?? count;
  }
}
