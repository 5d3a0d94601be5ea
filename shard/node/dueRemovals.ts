/**
 * The removal of expired records that no call asks for. Each collection with such records has a note in BUCKETS.openings: a time
 * that is not after its first expiry. Its owner opens an idle collection at that time, and not before.
 *
 * ```text
 * insert committed ──▶ noted, unless a note is as early ──▶ answered
 * due ──▶ opened by its owner ──▶ removed ──▶ noted again, once the note is RAISE_AFTER_MS old
 * ```
 *
 * An insert writes a note if its record expires before all others. An idle collection costs some bytes of memory, and no work
 * while nothing is due.
 */
import type { Bucket, Change, Watch } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { whenAvailable } from '../../shared/process/startUp.js';
import { collectionOfDueKey, dueKey, dueOf, storedDue } from '../../shared/registry/openings.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { KeyedMutex } from '../../shared/scheduling/mutex.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { RemovalNotes } from '../collection/collectionContext.js';
import type { CollectionHandle } from '../collection/collectionHandle.js';
import type { Openings } from '../opening/openings.js';
import { Expiries } from '../state/expiries.js';
import { isBeingImported } from './beingImported.js';

/** Time between two rounds. */
const ROUND_MS = 1_000;
const AT_ONCE = 4;
/** A collection that this shard does not own is looked at again after this time: it may own it then. */
const NOT_OWNED_MS = 20_000;
const RETRY_MS = 5_000;
/** An owner lets a note be too early by this much: it is rewritten at most so often. */
const RAISE_AFTER_MS = 600_000;

const NEVER = Number.POSITIVE_INFINITY;

interface Note {
  readonly dueMs: number;
  readonly revision: number;
}

interface DueRemovalsOptions {
  /** BUCKETS.openings. */
  readonly bucket: Bucket;
  /** BUCKETS.catalog. */
  readonly catalog: Pick<Bucket, 'get'>;
  readonly openings: Pick<Openings, 'inBackground'>;
  /** Returns a collection that this shard owns and may answer for. */
  readonly owned: (collectionId: number) => CollectionHandle | undefined;
  readonly mayAnswer: () => boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class DueRemovals implements RemovalNotes {
  readonly #rounds = new PeriodicTask(() => this.#round(), ROUND_MS);
  readonly #noted = new Map<number, Note>();
  /** When to look at each collection. */
  readonly #due = new Expiries();
  readonly #writes = new KeyedMutex<number>();
  /** Collections with a write of their note in progress. */
  readonly #writing = new Map<number, number>();
  #watch: Watch | undefined;

  constructor(private readonly options: DueRemovalsOptions) {}

  async start(): Promise<void> {
    const watch = (): Promise<Watch> => this.options.bucket.watch((change) => this.#changed(change));
    this.#watch = await whenAvailable('the openings', watch, this.options);
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    this.#watch?.stop();
    await this.#rounds.stop();
  }

  /**
   * Ensures a note that is not after `nextMs`, the first expiry in an open collection; +∞ without one. Call it after a commit,
   * and before its answers. Throws `unavailable`.
   */
  async ensureNoted(collectionId: number, nextMs: number): Promise<void> {
    if (nextMs === NEVER && !this.#noted.has(collectionId)) return;
    this.#lookAt(collectionId, nextMs);
    if (this.#isNoted(collectionId, nextMs) && !this.#writing.has(collectionId)) return;
    await this.#lower(collectionId, nextMs);
  }

  /** Whether a collection that is not open may have expired records. */
  isDue(collectionId: number): boolean {
    return this.#isNoted(collectionId, this.options.clock.nowMs());
  }

  /** Removes what has expired in the owned collections among these. Throws like `CollectionHandle.expire`. */
  async removeDue(collectionIds: readonly number[]): Promise<void> {
    const nowMs = this.options.clock.nowMs();
    const due = collectionIds.filter((id) => (this.#due.of(id) ?? NEVER) <= nowMs);
    await mapConcurrent(due, AT_ONCE, (id) => this.#remove(id));
  }

  #isNoted(collectionId: number, nextMs: number): boolean {
    return (this.#noted.get(collectionId)?.dueMs ?? NEVER) <= nextMs;
  }

  #lookAt(collectionId: number, timeMs: number): void {
    this.#due.set(collectionId, timeMs === NEVER ? undefined : timeMs);
  }

  #changed({ key, entry, endedUpTo = NEVER }: Change): void {
    const collectionId = collectionOfDueKey(key);
    if (collectionId === undefined) return;
    const before = this.#noted.get(collectionId);
    if (entry === undefined) {
      if (before === undefined || before.revision > endedUpTo) return;
      this.#noted.delete(collectionId);
      this.#lookAt(collectionId, NEVER);
      return;
    }
    if (before !== undefined && before.revision >= entry.revision) return;
    const dueMs = dueOf(entry);
    this.#noted.set(collectionId, { dueMs, revision: entry.revision });
    const nextMs = this.options.owned(collectionId)?.openCollection?.state.expiries.nextMs;
    this.#lookAt(collectionId, nextMs ?? dueMs);
    // An earlier owner may have written it late.
    if (nextMs !== undefined && nextMs < dueMs)
      this.ensureNoted(collectionId, nextMs).catch((error: unknown) => this.#warn(collectionId, error));
  }

  async #round(): Promise<void> {
    if (!this.options.mayAnswer()) return;
    const due = [...this.#due.due(this.options.clock.nowMs())];
    await mapConcurrent(due, AT_ONCE, async (id) => {
      try {
        await this.#remove(id, true);
      } catch (error) {
        this.#warn(id, error);
        this.#lookAt(id, this.options.clock.nowMs() + RETRY_MS);
      }
    });
  }

  async #remove(collectionId: number, inBackground = false): Promise<void> {
    const { owned, catalog, openings, clock } = this.options;
    const handle = owned(collectionId);
    if (handle === undefined || handle.quarantined || (await isBeingImported(catalog, handle.config))) {
      this.#lookAt(collectionId, clock.nowMs() + NOT_OWNED_MS);
      return;
    }
    if (inBackground && handle.openCollection === undefined)
      await openings.inBackground(handle.config, async () => void (await handle.opened()));
    const nextMs = await handle.expire();
    const raiseMs = (this.#noted.get(collectionId)?.dueMs ?? NEVER) + RAISE_AFTER_MS;
    this.#lookAt(collectionId, nextMs > raiseMs ? Math.max(raiseMs, clock.nowMs() + RETRY_MS) : nextMs);
    const raised = (): number => handle.openCollection?.state.expiries.nextMs ?? 1;
    if (nextMs > raiseMs && raiseMs <= clock.nowMs()) await this.#raise(collectionId, raised);
  }

  /** Writes the time of the next expiry in place of a note that is much earlier. */
  async #raise(collectionId: number, next: () => number): Promise<void> {
    await this.#inTurn(collectionId, async () => {
      const before = this.#noted.get(collectionId);
      const nextMs = next();
      if (before === undefined || nextMs <= before.dueMs) return;
      const { bucket } = this.options;
      const revision = await bucket.update(dueKey(collectionId), storedDue(nextMs), before.revision);
      if (revision === undefined) return;
      this.#noted.set(collectionId, { dueMs: nextMs, revision });
      this.#lookAt(collectionId, next());
    });
  }

  /** Writes a note, unless the present one is as early. */
  async #lower(collectionId: number, dueMs: number): Promise<void> {
    const { bucket } = this.options;
    const key = dueKey(collectionId);
    await this.#inTurn(collectionId, async () => {
      for (;;) {
        if (dueMs === NEVER || this.#isNoted(collectionId, dueMs)) return;
        const before = this.#noted.get(collectionId);
        const value = storedDue(dueMs);
        const revision = await (before ? bucket.update(key, value, before.revision) : bucket.create(key, value));
        if (revision !== undefined) {
          this.#noted.set(collectionId, { dueMs, revision });
          return;
        }
        // Another owner has written it, or the collection was deleted.
        const entry = await bucket.get(key);
        if (entry === undefined) this.#noted.delete(collectionId);
        else this.#noted.set(collectionId, { dueMs: dueOf(entry), revision: entry.revision });
      }
    });
  }

  async #inTurn(collectionId: number, work: () => Promise<void>): Promise<void> {
    this.#writing.set(collectionId, (this.#writing.get(collectionId) ?? 0) + 1);
    try {
      await this.#writes.run(collectionId, work);
    } finally {
      const left = this.#writing.get(collectionId)! - 1;
      if (left === 0) this.#writing.delete(collectionId);
      else this.#writing.set(collectionId, left);
    }
  }

  #warn(collectionId: number, error: unknown): void {
    const failure = { collectionId, error: messageOf(error) };
    this.options.logger.warn(failure, 'expired records are not removed yet; this is retried');
  }
}
