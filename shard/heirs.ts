/** Shards that could own a collection at once: they follow it, and have it in memory. */
import { messageOf } from '../shared/errors.js';
import { askShard, type FollowServices } from './follow/followServices.js';

export class Heirs {
  readonly #given = new Map<string, number>();

  private constructor(private readonly inMemory: ReadonlyMap<string, ReadonlySet<number>>) {}

  /** One that does not answer soon is none. */
  static async among(shards: Iterable<string>, services: FollowServices): Promise<Heirs> {
    const answers = [...new Set(shards)].map(async (shard): Promise<[string, ReadonlySet<number>]> => {
      try {
        return [shard, new Set((await askShard(services, shard, { op: 'openIds' })).following)];
      } catch (error) {
        services.logger.debug({ shard, error: messageOf(error) }, 'a shard does not say what it follows');
        return [shard, new Set()];
      }
    });
    return new Heirs(new Map(await Promise.all(answers)));
  }

  /** The one of its followers that was chosen least so far; undefined where none of them could. */
  choose(collectionId: number, followers: readonly string[]): string | undefined {
    let best: string | undefined;
    for (const shard of followers)
      if (this.inMemory.get(shard)?.has(collectionId) && (best === undefined || this.#count(shard) < this.#count(best)))
        best = shard;
    if (best !== undefined) this.#given.set(best, this.#count(best) + 1);
    return best;
  }

  #count(shard: string): number {
    return this.#given.get(shard) ?? 0;
  }
}
