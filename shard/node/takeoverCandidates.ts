/** The choice of a new owner among the followers that have a collection in memory, and so can serve it at once. */
import { messageOf } from '../../shared/errors/errors.js';
import { askShard, type FollowServices } from '../follow/follower.js';

/**
 * Returns the follower that has the collection in memory and was chosen least so far; undefined if no follower has it.
 */
type ChooseOwner = (collectionId: number, followers: readonly string[]) => string | undefined;

/** Asks shards which collections they have in memory. A shard that does not answer soon is not chosen. */
export async function takeoverCandidates(shards: readonly string[], services: FollowServices): Promise<ChooseOwner> {
  const inMemory = new Map<string, ReadonlySet<number>>();
  const chosen = new Map(shards.map((shard) => [shard, 0]));
  await Promise.all(
    [...chosen.keys()].map(async (shard) => {
      try {
        inMemory.set(shard, new Set((await askShard(services, shard, { op: 'openIds' })).following));
      } catch (error) {
        services.logger.debug(
          { shard, error: messageOf(error) },
          'a shard did not report the collections that it follows',
        );
      }
    }),
  );
  return (collectionId, followers) => {
    const [best] = followers
      .filter((shard) => inMemory.get(shard)?.has(collectionId))
      .sort((one, other) => chosen.get(one)! - chosen.get(other)!);
    if (best !== undefined) chosen.set(best, chosen.get(best)! + 1);
    return best;
  };
}
