/** Decides when a collection gets its next snapshot. The thread of past states makes it. */
import { messageOf } from '../../shared/errors/errors.js';
import type { WorkOf } from '../../shared/scheduling/fairSemaphore.js';
import type { SavedSnapshot } from './savedSnapshots.js';
import type { SnapshotServices } from './snapshotServices.js';

/** Facts about a snapshot that decide when the next is due. */
export interface MadeSnapshot {
  readonly sizeBytes: number;
  /** Bytes of the log that the snapshot replaces. */
  readonly logBytes: number;
  readonly madeAtMs: number;
}

/** After a failure the next try is due after this part of the usual growth of the log. */
const RETRY_PART = 4;

export interface SnapshotMaker {
  /** The end of the log; undefined if no snapshot may be made. */
  now(): { readonly sequence: number; readonly logBytes: number } | undefined;
  /** Makes a snapshot of the newest frame end at or before that event. Returns undefined if nothing is new. */
  make(upTo: number): Promise<SavedSnapshot | undefined>;
}

export class CollectionSnapshots {
  #last: MadeSnapshot | undefined;
  /** Log bytes at which the next snapshot is due. */
  #dueAtBytes: number;
  /** Whether a snapshot waits for its turn, or is being made. */
  #isWanted = false;
  #making: Promise<void> | undefined;
  #closed = false;

  constructor(
    private readonly collection: WorkOf,
    private readonly services: SnapshotServices,
    last: MadeSnapshot | undefined,
    private readonly maker: SnapshotMaker,
  ) {
    this.#learn(last);
    this.#dueAtBytes = (last?.logBytes ?? 0) + this.#stepBytes;
  }

  /** Call it when the log may have grown. Usually costs a comparison. */
  consider(): void {
    if (this.#closed || this.#isWanted || (this.maker.now()?.logBytes ?? 0) < this.#dueAtBytes) return;
    this.#isWanted = true;
    void this.services.turns.run(this.collection, async () => {
      this.#making = this.#makeNow();
      await this.#making;
      this.#isWanted = false;
    });
  }

  /** Resolves when no snapshot is being made. The caller must end the maker. Does not wait for a snapshot's turn. */
  async close(): Promise<void> {
    this.#closed = true;
    this.services.madeAtMs.delete(this.collection.id);
    await this.#making;
  }

  /**
   * Growth of the log between snapshots: at least half the size of the last one, so that snapshots cost less than the
   * log.
   */
  get #stepBytes(): number {
    return Math.max(this.services.everyBytes, (this.#last?.sizeBytes ?? 0) / 2);
  }

  async #makeNow(): Promise<void> {
    const now = this.maker.now();
    if (this.#closed || now === undefined) return;
    const { clock, logger, metrics, store } = this.services;
    const { sequence, logBytes } = now;
    const about = { collection: this.collection.id, sequence };
    const startedMs = clock.monotonicMs();
    const seconds = (): number => (clock.monotonicMs() - startedMs) / 1000;
    logger.info({ ...about, logBytes }, 'making a snapshot');
    try {
      const saved = await this.maker.make(sequence);
      if (saved !== undefined) {
        this.#learn({ sizeBytes: saved.sizeBytes, logBytes, madeAtMs: clock.nowMs() });
        metrics.observe('vouch_snapshot_seconds', { outcome: 'done' }, seconds());
        logger.info({ ...about, sizeBytes: saved.sizeBytes, seconds: seconds() }, 'a snapshot is made');
      }
      this.#dueAtBytes = logBytes + this.#stepBytes;
      await store.prune(this.collection.id);
    } catch (error) {
      this.#dueAtBytes = logBytes + this.#stepBytes / RETRY_PART;
      if (this.#closed) return;
      metrics.observe('vouch_snapshot_seconds', { outcome: 'failed' }, seconds());
      logger.warn({ ...about, error: messageOf(error) }, 'a snapshot was not made; it is retried later');
    }
  }

  #learn(last: MadeSnapshot | undefined): void {
    this.#last = last;
    if (last !== undefined && !this.#closed) this.services.madeAtMs.set(this.collection.id, last.madeAtMs);
  }
}
