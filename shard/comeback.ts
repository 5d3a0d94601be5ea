/**
 * A shard that starts finds itself the owner of what it had when it ended, and has none of it in memory. Where a follower
 * has, that one becomes the owner, as after a death, before anything was answered from here:
 *
 *   found its own, with followers ──▶ kept ──one has it in memory──▶ that one's, under the next epoch; followed from here
 *                                      └──none has──▶ its own, and served
 *
 * An earlier process of the shard's name has let go of its lease by now. What it may still write the log refuses.
 */
import type { Change, Entry } from '../shared/bucket/bucket.js';
import { ownershipOf } from '../shared/owners.js';
import { severalAtOnce } from '../shared/severalAtOnce.js';
import type { FollowServices } from './follow/followServices.js';
import { Heirs } from './heirs.js';
import { entryAfter, type OwnerSwapParts } from './ownerSwap.js';

const WRITES_AT_ONCE = 64;

export interface ComebackParts extends OwnerSwapParts {
  /** The shard's name. */
  readonly shard: string;
  readonly follow: FollowServices;
}

export class Comeback {
  /** By key. */
  readonly #kept = new Map<string, Entry>();

  constructor(private readonly parts: ComebackParts) {}

  /** Whether what the entry says must not be done yet: it is among `left` in the end, or has gone on. */
  keeps({ key, entry }: Change): boolean {
    const ownership = entry && ownershipOf(entry);
    const isKept = ownership?.shard === this.parts.shard && ownership.followers.length > 0;
    if (isKept) this.#kept.set(key, entry as Entry);
    else this.#kept.delete(key);
    return isKept;
  }

  /** `changed` is told of every entry that it has found or made another shard's. */
  async passOn(changed: (change: Change) => void): Promise<void> {
    if (this.#kept.size === 0) return;
    const { shard, follow, logger } = this.parts;
    const kept = [...this.#kept.values()];
    const heirs = await Heirs.among(
      kept.flatMap((entry) => ownershipOf(entry).followers),
      follow,
    );
    let collections = 0;
    await severalAtOnce(kept, WRITES_AT_ONCE, async (found) => {
      const { key, revision } = found;
      const before = ownershipOf(found);
      const to = heirs.choose(before.collection.id, before.followers);
      if (to === undefined) return;
      const followers = [...before.followers.filter((name) => name !== to), shard];
      const entry = await entryAfter(
        this.parts,
        { ...before, shard: to, epoch: before.epoch + 1, followers },
        revision,
      );
      const change = { key, entry };
      if (this.keeps(change)) return;
      collections++;
      changed(change);
    });
    logger.info({ shard, collections, kept: this.#kept.size }, 'what others have in memory is theirs');
  }

  /** What is this shard's all the same. */
  *left(): Generator<Change> {
    for (const [key, entry] of this.#kept) yield { key, entry };
  }
}
