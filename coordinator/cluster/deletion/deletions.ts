/**
 * Erases what is left of a deleted collection: at once, or later by the leader if that was interrupted. Only a marked
 * collection is erased (`deletionMarks.ts`). One that the catalog does not list and nobody marked is logged; if it holds nothing,
 * it was given an owner after its deletion, which is taken from it.
 *
 *   listed ──marked──▶ unlisted ──owner taken, its holders told──▶ silent: answered
 *      ▲                  │                                          │
 *      └──still listed────┘ interrupted before its first step        └──▶ erased: log, watermark, reservation
 *                           and never answered: unmarked                   ──▶ in the service log, erased once more ──▶ unmarked
 *
 * The owner goes first: a shard that was not there to be told would take the end of the log for a loss.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Watch } from '../../../shared/bucket/bucket.js';
import { messageOf } from '../../../shared/errors/errors.js';
import { failuresKey } from '../../../shared/registry/openings.js';
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
/** A deletion or a creation that another coordinator has begun is left alone for so long. */
const SWEPT_AFTER_MS = 5_000;
/** The longest time between the mark of a deletion and the removal of its name from the catalog, at another coordinator. */
const UNMARKED_AFTER_MS = 60_000;

export class Deletions {
  /** Since when a collection is seen marked, or owned without a catalog entry. */
  readonly #seenMs = new Map<number, number>();
  /** Unlisted collections that were logged. */
  readonly #logged = new Set<number>();
  /** Marked collections, as far as this process was told. */
  readonly #marked = new Map<number, Deleted>();
  /** Erased collections, as far as this process was told. */
  readonly #erased = new Map<number, Erased>();
  /** A task of its own: a shard that does not answer must not delay placement. */
  readonly #rounds = new PeriodicTask(() => this.#sweep(), ROUND_MS);
  #watch: Watch | undefined;
  #isStopped = false;

  constructor(
    private readonly context: PlacementContext,
    /** BUCKETS.counters, with the marks. */
    private readonly counters: Bucket,
    private readonly reservations: Reservations,
    /** BUCKETS.watermarks and BUCKETS.openings. */
    private readonly notes: { readonly watermarks: Bucket; readonly openings: Bucket },
    /** What a shard has sent before it died may reach a log so much later, see `EventLogs`. */
    private readonly lateMs: number,
    /** A shard without a heartbeat for so long has no lease, see `Members.isLost`. */
    private readonly lostMs: number,
  ) {}

  async start(): Promise<void> {
    this.#watch = await watchDeleted(this.counters, { marked: this.#marked, erased: this.#erased }, this.context.clock);
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

  /** Nothing is left of the collection when this resolves. May be repeated. */
  async erase(deleted: Deleted, envelope: Envelope): Promise<void> {
    await this.eraseContent(deleted, await this.silence(deleted, envelope), envelope);
  }

  /**
   * Resolves to the shards that may have something of the collection, once none of them serves it any more. Throws where that
   * cannot be had by the deadline. May be repeated.
   */
  async silence({ id }: Deleted, envelope: Envelope): Promise<ReadonlySet<string>> {
    const { members } = this.context;
    const owners = await members.disown(id);
    // One that has its first heartbeat later finds no owner.
    await members.shardsTold();
    const holders = new Set(owners ?? (await members.notLost(this.lostMs)));
    await Promise.all([...holders].map((shard) => this.#silenceAt(shard, id, envelope)));
    return holders;
  }

  /**
   * The same for each collection of that name whose deletion has begun, and is not done, before the one of the id `before` was
   * made; left out: the one that is listed, if any.
   */
  async silenceEarlier(project: string, name: string, envelope: Envelope, before?: number): Promise<void> {
    await this.#watch?.caughtUp();
    const marked = [...this.#marked.values()].filter((each) => each.project === project && each.name === name);
    if (marked.length === 0) return;
    const listed = before ?? (await this.context.catalog.listedId(project, name)) ?? Number.POSITIVE_INFINITY;
    const earlier = marked.filter(({ id }) => id < listed);
    await Promise.all(earlier.map((deleted) => this.silence(deleted, envelope)));
  }

  /** Of a collection that is served no more. `holders`: those that may have something of it. */
  async eraseContent(deleted: Deleted, holders: ReadonlySet<string>, envelope: Envelope): Promise<void> {
    const { members } = this.context;
    const live = [...holders].filter((shard) => members.heartbeat(shard) !== undefined);
    // What one still appends would stay.
    await Promise.all(live.map((shard) => members.ask(shard, { op: 'drop', collectionId: deleted.id }, envelope)));
    await this.#removeContent(deleted, envelope, live);
    await markErased(this.counters, deleted);
  }

  async #removeContent({ id, project }: Deleted, envelope: Envelope, live?: readonly string[]): Promise<void> {
    await this.context.members.askAny({ op: 'eraseLog', collectionId: id }, envelope, live);
    await this.notes.watermarks.delete(watermarkKey(id));
    await this.notes.openings.delete(failuresKey(id));
    await this.reservations.remove(project, id);
  }

  /** Resolves when the shard has been told, or has no lease any more. */
  async #silenceAt(shard: string, collectionId: number, { requestId, deadlineMs }: Envelope): Promise<void> {
    const { members, clock } = this.context;
    const giveUpMs = clock.monotonicMs() + deadlineMs - clock.nowMs();
    while (!(await members.isCertainlyLost(shard, this.lostMs)))
      try {
        const untilMs = Math.min(deadlineMs, clock.nowMs() + ASK_MS);
        await members.ask(shard, { op: 'silence', collectionId }, { requestId, deadlineMs: untilMs });
        return;
      } catch (error) {
        if (clock.monotonicMs() >= giveUpMs) throw error;
        await delay(RETRY_MS.silence);
      }
  }

  /** Erased collections that are still marked as such, as far as this process was told. */
  erased(): readonly number[] {
    return [...this.#erased.keys()];
  }

  /** Whether the collection is marked as deleted or erased, as far as this process was told. */
  isMarked(id: number): boolean {
    return this.#marked.has(id) || this.#erased.has(id);
  }

  /** The service log tells of the deletion by now, or never had the collection. The mark stays until nothing can come back. */
  async forgetErased(id: number): Promise<void> {
    if (this.lateMs > 0 && this.#erased.get(id)?.isSettled === false) return;
    await clearErased(this.counters, id);
    this.#erased.delete(id);
  }

  async #sweep(): Promise<void> {
    const { leadership, clock } = this.context;
    if (!leadership.held) return;
    await this.#lookAfterAll();
    if (this.lateMs === 0) return;
    const dueMs = clock.monotonicMs() - this.lateMs;
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

  /** Nothing that a shard has sent can be on its way any more, and what of it has come goes; where that fails, in a while. */
  async #eraseOnceMore({ collection }: Erased): Promise<void> {
    const { catalog, clock, logger } = this.context;
    const { id } = collection;
    let isSettled = false;
    await this.#orLater(id, async () => {
      if (await catalog.isGone(collection)) await this.#removeContent(collection, this.#envelope());
      else logger.error({ collectionId: id }, 'the catalog lists a deleted collection; what it holds by now is kept');
      isSettled = true;
    });
    const sinceMs = clock.monotonicMs() - this.lateMs + SWEPT_AFTER_MS;
    if (this.#erased.has(id)) this.#erased.set(id, { collection, sinceMs, isSettled });
  }

  /** Collections with an owner, without a catalog entry, and not deleted; as far as this process was told. */
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
      else if (this.#seenForMs(id) >= UNMARKED_AFTER_MS) await clearDeleted(this.counters, id);
    });
  }

  async #lookAfter(collection: Deleted): Promise<void> {
    const { catalog, members, leadership } = this.context;
    const { id } = collection;
    await this.#orLater(id, async () => {
      if (this.#logged.has(id) || (await catalog.isListed(collection))) return;
      const isEmpty = await this.#isEmpty(id);
      if (isEmpty === false) this.#log(collection);
      else if (isEmpty && leadership.held && (await catalog.isGone(collection))) await members.disown(id);
    });
  }

  /** Whether nothing was ever written to it, as its owner knows; undefined where that is not known now. */
  async #isEmpty(id: number): Promise<boolean | undefined> {
    const { members } = this.context;
    if ((await this.notes.watermarks.get(watermarkKey(id))) !== undefined) return false;
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
    if (this.#isStopped || !this.context.leadership.held) return;
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
      'the catalog does not list a collection that nobody deleted; its log is kept: put the entry of the catalog back',
    );
  }

  #seenForMs(id: number): number {
    const nowMs = this.context.clock.monotonicMs();
    const sinceMs = this.#seenMs.get(id) ?? nowMs;
    this.#seenMs.set(id, sinceMs);
    return nowMs - sinceMs;
  }
}
