/**
 * Compares each follower with its owner after new writes, by the state hash at the follower's last event. It also hashes
 * the records of followers again, in passes, a few at a time. The state tree has the hashes of the insert, and does not
 * detect a later change of a record's memory.
 */
import { messageOf } from '../../shared/errors/errors.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { askShard, type Follower, type FollowServices } from './follower.js';

const AT_ONCE = 8;
/** Least time between two passes through a follower's records. */
const PASS_MS = 10_000;

/** A pass through the records of a follower. */
interface Pass {
  /** Record to hash next. */
  next: number;
  readonly beganMs: number;
}

export class Comparison {
  /** Last event at which each follower was equal to its owner. */
  readonly #comparedAt = new WeakMap<Follower, number>();
  readonly #passes = new WeakMap<Follower, Pass>();
  /** Index of the follower whose records come next. */
  #turn = 0;

  constructor(private readonly services: FollowServices) {}

  async round(): Promise<void> {
    const followers = [...this.services.all].filter(({ collection }) => collection !== undefined);
    await this.#rehash(followers);
    await mapConcurrent(followers, AT_ONCE, (follower) => this.#compare(follower));
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
          `its state hash after event ${sequence} is ${here.stateHash}, its owner has ${stateHash}`,
        );
        return;
      }
      this.#comparedAt.set(follower, sequence);
      services.metrics.count('vouch_follower_compared_total');
    } catch (error) {
      services.logger.debug(
        { collectionId, owner, error: messageOf(error) },
        'a follower could not be compared; it is compared later',
      );
    }
  }

  /** Hashes as many records as fit a slice of the event loop, one follower after another. */
  async #rehash(followers: readonly Follower[]): Promise<void> {
    const slice = new Slice(this.services.clock);
    for (let n = 0; n < followers.length && !slice.due; n++) {
      const follower = followers[this.#turn++ % followers.length] as Follower;
      const wrong = this.#firstWrong(follower, slice);
      if (wrong !== undefined) await follower.diverge(`record ${wrong} in its memory is not the one that was inserted`);
    }
  }

  #firstWrong(follower: Follower, slice: Slice): number | undefined {
    const { collection } = follower;
    if (collection === undefined || !collection.journal.isWhole) return undefined;
    const records = collection.state.nextRecordId - 1;
    const pass = this.#passOf(follower, records);
    for (; pass.next <= records && !slice.due; pass.next++)
      if (!collection.state.isAsHashed(pass.next)) return pass.next;
    return undefined;
  }

  #passOf(follower: Follower, records: number): Pass {
    const nowMs = this.services.clock.monotonicMs();
    const last = this.#passes.get(follower);
    if (last !== undefined && (last.next <= records || nowMs - last.beganMs < PASS_MS)) return last;
    const pass = { next: 1, beganMs: nowMs };
    this.#passes.set(follower, pass);
    return pass;
  }
}
