/** What a listing says of collections beyond their configuration: their owners count, or their logs are read. */
import { INDEX_KINDS } from '../../shared/indexSpec.js';
import { type EventLogs, LogDamaged } from '../../shared/log/eventLog.js';
import { countInLog, NOTHING_COUNTED } from '../../shared/log/logCount.js';
import type { Logger } from '../../shared/logger.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Collection, Counted } from '../backend.js';
import type { Members } from './members.js';

const COUNTS_PER_CALL = 512;

export type Count = Pick<Counted, 'records' | 'logBytes' | 'snapshotBytes' | 'serving'>;

export class Counting {
  constructor(
    private readonly members: Members,
    private readonly logs: EventLogs,
    private readonly logger: Logger,
  ) {}

  /** In the order of the collections; one call a shard, for as many as an answer holds. */
  async count(collections: readonly Collection[], envelope: Envelope): Promise<Count[]> {
    const counts = new Array<Count>(collections.length);
    const byShard = new Map<string | undefined, number[]>();
    collections.forEach((collection, i) => {
      const shard = this.members.liveOwner(collection.id);
      const places = byShard.get(shard);
      if (places === undefined) byShard.set(shard, [i]);
      else places.push(i);
    });
    await Promise.all(
      [...byShard].map(async ([shard, places]) => {
        for (let from = 0; from < places.length; from += COUNTS_PER_CALL) {
          const part = places.slice(from, from + COUNTS_PER_CALL);
          const asked = part.map((place) => collections[place] as Collection);
          const answer = await this.#countAt(shard, asked, envelope);
          part.forEach((place, i) => {
            counts[place] = answer[i] as Count;
          });
        }
      }),
    );
    return counts;
  }

  async #countAt(shard: string | undefined, collections: readonly Collection[], envelope: Envelope): Promise<Count[]> {
    if (shard !== undefined) {
      try {
        const collectionIds = collections.map(({ id }) => id);
        const counted = await this.members.ask(shard, { op: 'count', collectionIds }, envelope);
        const { records, logBytes, snapshotBytes, serving } = counted;
        return collectionIds.map((_, i) => ({
          records: records[i]!,
          logBytes: logBytes[i]!,
          snapshotBytes: snapshotBytes[i]!,
          serving: serving[i]!,
        }));
      } catch {
        // The shard died under the question, or one of them has moved: the logs and the catalog still know.
      }
    }
    return Promise.all(collections.map((collection) => this.#countInLog(collection)));
  }

  /** One damaged log must not hide the others. */
  async #countInLog({ id, index }: Collection): Promise<Count> {
    // Whether `auto` has become an index already, only its shard knows.
    const serving = INDEX_KINDS.find((kind) => kind === index) ?? 'brute';
    try {
      return { ...(await countInLog(this.logs, id)), snapshotBytes: 0, serving };
    } catch (error) {
      if (!(error instanceof LogDamaged)) throw error;
      this.logger.error({ collectionId: id, error: error.message }, 'a collection cannot be counted');
      return { ...NOTHING_COUNTED, snapshotBytes: 0, serving };
    }
  }
}
