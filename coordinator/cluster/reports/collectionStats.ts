/** Counts and sizes of collections for listings: from their owners, or from the ends of their logs, which any shard can read. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';
import { unavailable } from '../../../shared/errors/errors.js';
import { INDEX_KINDS } from '../../../shared/model/indexSpec.js';
import { type HeldBytes, NOTHING_HELD } from '../../../shared/model/quotas.js';
import type { AccessSettings } from '../../../shared/model/readAudit.js';
import { accessFields, isImporting } from '../../../shared/registry/catalogEntry.js';
import { watermarkKey, watermarkOf } from '../../../shared/registry/watermarks.js';
import { mapConcurrent } from '../../../shared/scheduling/mapConcurrent.js';
import { RETRY_MS } from '../../../shared/scheduling/retry.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import type { Collection, CountedCollection } from '../catalog/collection.js';
import type { Members } from '../members/members.js';

const COUNTS_PER_CALL = 512;
const SHARDS_AT_ONCE = 64;
const READS_AT_ONCE = 16;

const sumOfHeld = (a: HeldBytes, b: HeldBytes): HeldBytes => ({
  vectors: a.vectors + b.vectors,
  metadata: a.metadata + b.metadata,
  texts: a.texts + b.texts,
  payloads: a.payloads + b.payloads,
});

/** Returns the collection with the settings of its access log: those of the catalog if it is not open, or is being imported. */
function withAccess(collection: Collection, access: AccessSettings | null): Collection {
  if (access === null || isImporting(collection)) return collection;
  const { auditReads: _, accessRetentionDays: __, ...others } = collection;
  return { ...others, ...accessFields(access) };
}

export class CollectionStats {
  constructor(
    private readonly members: Members,
    /** BUCKETS.watermarks. */
    private readonly watermarks: Pick<Bucket, 'get'>,
    private readonly clock: Clock,
  ) {}

  /** Counts, in the order of the collections. Each shard gets one call after another, each with as many collections as fit an answer. */
  async count(collections: readonly Collection[], envelope: Envelope): Promise<CountedCollection[]> {
    const counted = new Map<number, CountedCollection>();
    await Promise.all(
      this.#byOwner(collections).map(async ([shard, owned]) => {
        for (let from = 0; from < owned.length; from += COUNTS_PER_CALL)
          for (const one of await this.#countAt(shard, owned.slice(from, from + COUNTS_PER_CALL), envelope))
            counted.set(one.id, one);
      }),
    );
    return collections.map(({ id }) => counted.get(id)!);
  }

  /** The summed content bytes of the collections, without their logs. Throws `unavailable`. */
  async held(collections: readonly Collection[], envelope: Envelope): Promise<HeldBytes> {
    const held = await mapConcurrent(this.#byOwner(collections), SHARDS_AT_ONCE, async ([shard, owned]) => {
      const asked: HeldBytes[] = [];
      for (let from = 0; from < owned.length; from += COUNTS_PER_CALL)
        asked.push(...(await this.#heldAt(shard, owned.slice(from, from + COUNTS_PER_CALL), envelope)));
      return asked;
    });
    return held.flat().reduce(sumOfHeld, NOTHING_HELD);
  }

  #byOwner(collections: readonly Collection[]): [string | undefined, Collection[]][] {
    const byShard = new Map<string | undefined, Collection[]>();
    for (const collection of collections) {
      const shard = this.members.liveOwner(collection.id);
      const owned = byShard.get(shard);
      if (owned === undefined) byShard.set(shard, [collection]);
      else owned.push(collection);
    }
    return [...byShard];
  }

  async #heldAt(
    shard: string | undefined,
    collections: readonly Collection[],
    envelope: Envelope,
  ): Promise<readonly HeldBytes[]> {
    if (shard !== undefined) {
      try {
        const call = { op: 'heldBytes', collectionIds: collections.map(({ id }) => id) } as const;
        return (await this.members.ask(shard, call, envelope)).held;
      } catch {
        // The shard has ended, or a collection has moved.
      }
    }
    return mapConcurrent(collections, READS_AT_ONCE, (collection) => this.#heldOf(collection, envelope));
  }

  /** Reads the store first. For a collection in use the store is behind, and the current owner is asked. */
  async #heldOf({ id }: Collection, envelope: Envelope): Promise<HeldBytes> {
    for (;;) {
      const held = await this.#heldInStore(id, envelope);
      if (held !== undefined) return held;
      if (this.clock.nowMs() + RETRY_MS.heldBytes > envelope.deadlineMs)
        throw unavailable(`collection ${id} has no owner yet`);
      await delay(RETRY_MS.heldBytes);
      const shard = this.members.liveOwner(id);
      const call = { op: 'heldBytes', collectionIds: [id] } as const;
      const answer = shard && (await this.members.ask(shard, call, envelope).catch(() => undefined));
      if (answer) return answer.held[0]!;
    }
  }

  /** Bytes by the watermark; undefined if that is behind the log. A damaged log counts as empty. */
  async #heldInStore(collectionId: number, envelope: Envelope): Promise<HeldBytes | undefined> {
    const call = { op: 'countInLogs', collectionIds: [collectionId] } as const;
    const sequence = (await this.members.askAny(call, envelope)).counts[0]!.sequence;
    if (sequence === 0) return NOTHING_HELD;
    const entry = await this.watermarks.get(watermarkKey(collectionId));
    const noted = entry && watermarkOf(entry);
    return noted?.sequence === sequence ? noted.held : undefined;
  }

  async #countAt(
    shard: string | undefined,
    collections: readonly Collection[],
    envelope: Envelope,
  ): Promise<CountedCollection[]> {
    const collectionIds = collections.map(({ id }) => id);
    if (shard !== undefined) {
      try {
        const counts = await this.members.ask(shard, { op: 'count', collectionIds }, envelope);
        return collections.map((collection, i) => ({
          ...withAccess(collection, counts.access[i]!),
          records: counts.records[i]!,
          sequence: counts.sequences[i]!,
          logBytes: counts.logBytes[i]!,
          snapshotBytes: counts.snapshotBytes[i]!,
          serving: counts.serving[i]!,
        }));
      } catch {
        // The shard has ended, or a collection has moved: the logs and the catalog answer instead.
      }
    }
    const { counts } = await this.members.askAny({ op: 'countInLogs', collectionIds }, envelope);
    return collections.map((collection, i) => {
      // Only the owner knows whether `auto` has become an index.
      const serving = INDEX_KINDS.find((kind) => kind === collection.index) ?? 'brute';
      return { ...collection, ...counts[i]!, snapshotBytes: 0, serving };
    });
  }
}
