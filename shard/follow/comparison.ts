/**
 * Whether followers are what their owners are. The state hash is compared at the same event, where something was written;
 * and records are hashed again, a few at a time, round and round: the state tree knows what they were when they came, and
 * not what has become of their memory since.
 */
import { messageOf } from '../../shared/errors.js';
import { severalAtOnce } from '../../shared/severalAtOnce.js';
import { Slice } from '../pause.js';
import type { Follower } from './follower.js';
import { askShard, type FollowServices } from './followServices.js';

/** Owners asked at a time. */
const AT_ONCE = 8;

export class Comparison {
  /** The event up to which each has been found the same. */
  readonly #comparedAt = new WeakMap<Follower, number>();
  /** The record of each that comes next. */
  readonly #nextRecord = new WeakMap<Follower, number>();
  /** Whose records come first in the next round. */
  #turn = 0;

  constructor(private readonly services: FollowServices) {}

  async round(): Promise<void> {
    const followers = [...this.services.all].filter(({ collection }) => collection !== undefined);
    await this.#rehash(followers);
    await severalAtOnce(followers, AT_ONCE, (follower) => this.#compare(follower));
  }

  async #compare(follower: Follower): Promise<void> {
    const { services } = this;
    const { collectionId, owner } = follower;
    const here = follower.collection?.stateHash();
    if (here === undefined || this.#comparedAt.get(follower) === here.sequence) return;
    try {
      const { sequence } = here;
      const { stateHash } = await askShard(services, owner, { op: 'stateHashAt', collectionId, sequence });
      if (stateHash === null) return;
      if (stateHash !== here.stateHash) {
        await follower.diverge(
          `its state hash after event ${sequence} is ${here.stateHash}, its owner's is ${stateHash}`,
        );
        return;
      }
      this.#comparedAt.set(follower, sequence);
      services.metrics.compared();
    } catch (error) {
      services.logger.debug({ collectionId, owner, error: messageOf(error) }, 'a follower is compared later');
    }
  }

  /** As many as fit a slice of the event loop, one follower after another. */
  async #rehash(followers: readonly Follower[]): Promise<void> {
    const slice = new Slice(this.services.clock);
    for (let n = 0; n < followers.length && !slice.due; n++) {
      const follower = followers[this.#turn++ % followers.length] as Follower;
      const wrong = this.#firstWrong(follower, slice);
      if (wrong !== undefined) await follower.diverge(`record ${wrong} in its memory is not what it was when it came`);
    }
  }

  #firstWrong(follower: Follower, slice: Slice): number | undefined {
    const { collection } = follower;
    if (collection === undefined || !collection.isWhole) return undefined;
    const { records } = collection;
    let next = this.#nextRecord.get(follower) ?? 1;
    for (let looked = 0; looked < records && !slice.due; looked++, next++) {
      if (next > records) next = 1;
      if (!collection.isAsHashed(next)) return next;
    }
    this.#nextRecord.set(follower, next);
    return undefined;
  }
}
