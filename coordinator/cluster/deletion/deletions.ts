/**
 * Erases deleted collections: at once, or later by the leader after an interruption. Only a collection with a deletion mark
 * is erased (`deletionMarks.ts`). A collection with neither catalog entry nor mark is logged and kept. If it is empty, it was
 * assigned after its deletion, and loses its owner.
 *
 * ```text
 * listed ──marked──▶ unlisted ──owner entry removed, its shards stopped──▶ silent ──log, watermark, reservation erased──▶ erased
 *    ▲                  │                                      erased ──in the service log, erased once more──▶ unmarked
 *    └──still listed────┘ interrupted before the name was removed: unmarked
 * ```
 *
 * The request is answered once the collection is silent. By then its erasure has been tried, perhaps without success. The owner
 * entry is removed first: a shard that was away would otherwise open the collection, and report its erased log as lost.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Watch } from '../../../shared/bucket/bucket.js';
import { messageOf } from '../../../shared/errors/errors.js';
import { dueKey, failuresKey } from '../../../shared/registry/openings.js';
import type { Reservations } from '../../../shared/registry/reservations.js';
import { watermarkKey } from '../../../shared/registry/watermarks.js';
import { mapConcurrent } from '../../../shared/scheduling/mapConcurrent.js';
import { PeriodicTask } from '../../../shared/scheduling/periodicTask.js';
import { RETRY_MS } from '../../../shared/scheduling/retry.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import {
  clearDeleted,
  clearErased,
  type Deleted,
  type Erased,
  markErased,
  watchDeleted,
} from '../catalog/deletionMarks.js';
import { type PlacementContext, placementEnvelope } from '../placement/context.js';

const ROUND_MS = 500;
const CALL_MS = 2_000;
/** A shard that has not answered by then is asked again. */
const ASK_MS = 1_000;
const SWEPT_AT_ONCE = 8;
/** The leader waits so long before it finishes a deletion or creation of another coordinator. */
const SWEPT_AFTER_MS = 5_000;
/** The longest time between the mark of a deletion and the removal of its name from the catalog, at another coordinator. */
const UNMARKED_AFTER_MS = 60_000;

/** Buckets of `BUCKETS`. */
interface DeletionBuckets {
  /** Has the marks. */
  readonly counters: Bucket;
  readonly watermarks: Bucket;
  readonly openings: Bucket;
}

interface DeletionTimes {
  /** Longest delay of an append: one that a shard sent before it died may arrive so much later, see `EventLogs`. */
  readonly lateMs: number;
  /** A shard without a heartbeat for so long has no lease, see `Members.isLost`. */
  readonly lostMs: number;
}

export class Deletions {
  /** When a collection was first seen marked, or owned without a catalog entry. */
  readonly #seenMs = new Map<number, number>();
  /** Unlisted collections that were logged. */
  readonly #logged = new Set<number>();
  /** Collections marked as deleted, as last received by this process. */
  readonly #marked = new Map<number, Deleted>();
  /** Collections marked as erased, as last received by this process. */
  readonly #erased = new Map<number, Erased>();
  /** A task of its own: a shard that does not answer must not delay placement. */
  readonly #rounds = new PeriodicTask(() => this.#sweep(), ROUND_MS);
  #watch: Watch | undefined;
  #isStopped = false;

  constructor(
    private readonly context: PlacementContext,
    private readonly buckets: DeletionBuckets,
    private readonly reservations: Reservations,
    private readonly times: DeletionTimes,
  ) {}

  async start(): Promise<void> {
    this.#watch = await watchDeleted(
      this.buckets.counters,
      { marked: this.#marked, erased: this.#erased },
      this.context.clock,
    );
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#rounds.stop();
    this.#watch?.stop();
  }

  /** Runs a round now; resolves when it is done. */
  now(): Promise<void> {
    return this.#rounds.now();
  }

  /** Resolves when the collection is erased. May be repeated. */
  async erase(deleted: Deleted, envelope: Envelope): Promise<void> {
    await this.eraseContent(deleted, await this.silence(deleted, envelope), envelope);
  }

  /**
   * Ends all serving of the collection. Resolves to the shards that may have a part of it. Throws if a shard may still serve it
   * at the deadline. May be repeated.
   */
  async silence({ id }: Deleted, envelope: Envelope): Promise<ReadonlySet<string>> {
    const { members } = this.context;
    const owners = await members.disown(id);
    // After this every shard that may serve the collection is known here: one that starts later finds no owner entry.
    await members.shardsCaughtUp();
    const holders = new Set(owners ?? (await members.notLost(this.times.lostMs)));
    await Promise.all([...holders].map((shard) => this.#silenceAt(shard, id, envelope)));
    return holders;
  }

  /**
   * Silences unfinished earlier deletions of this name: collections with an id below `before`, by default below the id of the
   * listed collection.
   */
  async silenceEarlier(project: string, name: string, envelope: Envelope, before?: number): Promise<void> {
    await this.#watch?.caughtUp();
    const marked = [...this.#marked.values()].filter((each) => each.project === project && each.name === name);
    if (marked.length === 0) return;
    const listed = before ?? (await this.context.catalog.listedId(project, name)) ?? Number.POSITIVE_INFINITY;
    const earlier = marked.filter(({ id }) => id < listed);
    await Promise.all(earlier.map((deleted) => this.silence(deleted, envelope)));
  }

  /** Erases a collection that no shard serves. `holders`: shards that may have a part of it. */
  async eraseContent(deleted: Deleted, holders: ReadonlySet<string>, envelope: Envelope): Promise<void> {
    const { members } = this.context;
    const live = [...holders].filter((shard) => members.heartbeat(shard) !== undefined);
    // The shards drop the collection before its log is erased: an append after the erasure would remain.
    await Promise.all(live.map((shard) => members.ask(shard, { op: 'drop', collectionId: deleted.id }, envelope)));
    await this.#removeContent(deleted, envelope, live);
    await markErased(this.buckets.counters, deleted);
  }

  async #removeContent({ id, project }: Deleted, envelope: Envelope, live?: readonly string[]): Promise<void> {
    await this.context.members.askAny({ op: 'eraseLog', collectionId: id }, envelope, live);
    await this.buckets.watermarks.delete(watermarkKey(id));
    await this.buckets.openings.delete(failuresKey(id));
    await this.buckets.openings.delete(dueKey(id));
    await this.reservations.remove(project, id);
  }

  /** Resolves when the shard has stopped serving the collection, or has no lease. */
  async #silenceAt(shard: string, collectionId: number, { requestId, deadlineMs }: Envelope): Promise<void> {
    const { members, clock } = this.context;
    const giveUpMs = clock.monotonicMs() + deadlineMs - clock.nowMs();
    while (!(await members.isCertainlyLost(shard, this.times.lostMs)))
      try {
        const untilMs = Math.min(deadlineMs, clock.nowMs() + ASK_MS);
        await members.ask(shard, { op: 'silence', collectionId }, { requestId, deadlineMs: untilMs });
        return;
      } catch (error) {
        if (clock.monotonicMs() >= giveUpMs) throw error;
        await delay(RETRY_MS.silence);
      }
  }

  /** Collections marked as erased, as last received by this process. */
  erased(): readonly number[] {
    return [...this.#erased.keys()];
  }

  /** Whether the collection is marked as deleted or erased, as last received by this process. */
  isMarked(id: number): boolean {
    return this.#marked.has(id) || this.#erased.has(id);
  }

  /**
   * Removes the mark of an erased collection. For a collection whose deletion is in the service log, or that never was there.
   * The mark stays while a late append may still arrive.
   */
  async forgetErased(id: number): Promise<void> {
    if (this.times.lateMs > 0 && this.#erased.get(id)?.isSettled === false) return;
    await clearErased(this.buckets.counters, id);
    this.#erased.delete(id);
  }

  async #sweep(): Promise<void> {
    const { leadership, clock } = this.context;
    if (!leadership.leads) return;
    await this.#lookAfterAll();
    if (this.times.lateMs === 0) return;
    const dueMs = clock.monotonicMs() - this.times.lateMs;
    const due = [...this.#erased.values()].filter(({ isSettled, sinceMs }) => !isSettled && sinceMs <= dueMs);
    await mapConcurrent(due, SWEPT_AT_ONCE, (erased) => this.#eraseOnceMore(erased));
  }

  /** Finishes interrupted deletions, and logs unlisted collections. */
  async #lookAfterAll(): Promise<void> {
    const marked = [...this.#marked.values()];
    const unlisted = this.unlisted();
    const seen = new Set([...marked, ...unlisted].map(({ id }) => id));
    for (const id of this.#seenMs.keys()) if (!seen.has(id)) this.#seenMs.delete(id);
    for (const id of this.#logged) if (!seen.has(id)) this.#logged.delete(id);
    const isDue = ({ id }: Deleted): boolean => this.#seenForMs(id) >= SWEPT_AFTER_MS;
    await mapConcurrent(marked.filter(isDue), SWEPT_AT_ONCE, (deleted) => this.#finish(deleted));
    await mapConcurrent(unlisted.filter(isDue), SWEPT_AT_ONCE, (collection) => this.#lookAfter(collection));
  }

  /** Erases late appends, once none can be in flight. A failure is repeated later. */
  async #eraseOnceMore({ collection }: Erased): Promise<void> {
    const { catalog, clock, logger } = this.context;
    const { id } = collection;
    let isSettled = false;
    await this.#orLater(id, async () => {
      if (await catalog.isGone(collection)) await this.#removeContent(collection, this.#envelope());
      else logger.error({ collectionId: id }, 'the catalog lists a deleted collection; its present content is kept');
      isSettled = true;
    });
    const sinceMs = clock.monotonicMs() - this.times.lateMs + SWEPT_AFTER_MS;
    if (this.#erased.has(id)) this.#erased.set(id, { collection, sinceMs, isSettled });
  }

  /** Collections with an owner, but with neither a catalog entry nor a mark; as last received by this process. */
  unlisted(): Deleted[] {
    const { catalog, members } = this.context;
    const owned = [...members.owned().values()].map(({ collection }) => collection);
    return owned.filter(({ id }) => catalog.byId(id) === undefined && !this.#marked.has(id));
  }

  /** Asks the catalog itself, since an erasure cannot be undone. A failure must not delay the other deletions. */
  async #finish(deleted: Deleted): Promise<void> {
    const { catalog } = this.context;
    const { id } = deleted;
    await this.#orLater(id, async () => {
      if (await catalog.isGone(deleted)) await this.erase(deleted, this.#envelope());
      else if (this.#seenForMs(id) >= UNMARKED_AFTER_MS) await clearDeleted(this.buckets.counters, id);
    });
  }

  async #lookAfter(collection: Deleted): Promise<void> {
    const { catalog, members, leadership } = this.context;
    const { id } = collection;
    await this.#orLater(id, async () => {
      if (this.#logged.has(id) || (await catalog.isListed(collection))) return;
      const isEmpty = await this.#isEmpty(id);
      if (isEmpty === false) this.#log(collection);
      else if (isEmpty && leadership.leads && (await catalog.isGone(collection))) await members.disown(id);
    });
  }

  /** Whether the collection has no events, by its owner's count; undefined while that is unknown. */
  async #isEmpty(id: number): Promise<boolean | undefined> {
    const { members } = this.context;
    if ((await this.buckets.watermarks.get(watermarkKey(id))) !== undefined) return false;
    const shard = members.owned().get(id)?.shard;
    if (shard === undefined) return undefined;
    const call = { op: 'heads', collectionIds: [id] } as const;
    const heads = await members.ask(shard, call, this.#envelope()).catch(() => undefined);
    const sequence = heads?.sequences[0] ?? undefined;
    return sequence === undefined ? undefined : sequence === 0;
  }

  #envelope(): Envelope {
    return placementEnvelope(this.context.clock, CALL_MS);
  }

  async #orLater(collectionId: number, work: () => Promise<void>): Promise<void> {
    if (this.#isStopped || !this.context.leadership.leads) return;
    try {
      await work();
    } catch (error) {
      const failure = { collectionId, error: messageOf(error) };
      this.context.logger.warn(failure, 'the erasure of a deleted collection waits for the next round');
    }
  }

  #log({ id: collectionId, project, name }: Deleted): void {
    this.#logged.add(collectionId);
    this.context.logger.error(
      { collectionId, project, name },
      'the catalog does not list a collection that was not deleted; its log is kept: put the entry of the catalog back',
    );
  }

  #seenForMs(id: number): number {
    const nowMs = this.context.clock.monotonicMs();
    const sinceMs = this.#seenMs.get(id) ?? nowMs;
    this.#seenMs.set(id, sinceMs);
    return nowMs - sinceMs;
  }
}
