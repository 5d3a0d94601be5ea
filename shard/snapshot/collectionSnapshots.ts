/** Decides when a collection gets its next snapshot. The thread of historical states makes it. */
import { messageOf } from '../../shared/errors/errors.js';
import type { WorkOf } from '../../shared/scheduling/fairSemaphore.js';
import type { SavedSnapshot } from './savedSnapshots.js';
import type { SnapshotServices } from './snapshotServices.js';

export interface SnapshotMark {
  readonly sizeBytes: number;
  /** Of the log that it replaces. */
  readonly logBytes: number;
  readonly madeAtMs: number;
}

/** After a failure the next try comes after this part of the usual growth of the log. */
const RETRY_PART = 4;

export class CollectionSnapshots {
  #last: SnapshotMark | undefined;
  /** Log bytes at which the next one is due. */
  #dueAtBytes: number;
  /** One waits for its turn, or is being made. */
  #isWanted = false;
  #making: Promise<void> | undefined;
  #closed = false;

  /** `make`: makes one of the newest frame end at or before that event; undefined where nothing is new. */
  constructor(
    private readonly collection: WorkOf,
    private readonly services: SnapshotServices,
    last: SnapshotMark | undefined,
    private readonly now: () => { readonly sequence: number; readonly logBytes: number },
    private readonly make: (upTo: number) => Promise<SavedSnapshot | undefined>,
  ) {
    this.#learn(last);
    this.#dueAtBytes = (last?.logBytes ?? 0) + this.#stepBytes;
  }

  /** Called when the log may have grown. Mostly costs a comparison. */
  consider(): void {
    if (this.#closed || this.#isWanted || this.now().logBytes < this.#dueAtBytes) return;
    this.#isWanted = true;
    void this.services.turns.run(this.collection, async () => {
      this.#making = this.#makeNow();
      await this.#making;
      this.#isWanted = false;
    });
  }

  /** Resolves when none is being made; its maker has been told to end. Does not wait for one that waits its turn. */
  async close(): Promise<void> {
    this.#closed = true;
    this.services.madeAtMs.delete(this.collection.id);
    await this.#making;
  }

  /** The log grows by at least half the size of the last snapshot, so that snapshots cost less than the log. */
  get #stepBytes(): number {
    return Math.max(this.services.everyBytes, (this.#last?.sizeBytes ?? 0) / 2);
  }

  async #makeNow(): Promise<void> {
    if (this.#closed) return;
    const { clock, logger, metrics, store } = this.services;
    const { sequence, logBytes } = this.now();
    const about = { collection: this.collection.id, sequence };
    const startedMs = clock.monotonicMs();
    const seconds = (): number => (clock.monotonicMs() - startedMs) / 1000;
    logger.info({ ...about, logBytes }, 'making a snapshot');
    try {
      const saved = await this.make(sequence);
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

  #learn(last: SnapshotMark | undefined): void {
    this.#last = last;
    if (last !== undefined && !this.#closed) this.services.madeAtMs.set(this.collection.id, last.madeAtMs);
  }
}
