/** When a collection gets its next snapshot. It is made by the thread of past states, from the one before and the log. */
import { messageOf } from '../../shared/errors.js';
import type { SavedSnapshot } from '../past/snapshots.js';
import type { SnapshotServices } from './snapshotServices.js';

/** The snapshot that a collection has. */
export interface SnapshotMark {
  readonly sizeBytes: number;
  /** Of the log that it stands for. */
  readonly logBytes: number;
  readonly madeAtMs: number;
}

/** A collection as it is when a snapshot of it is begun: at a frame end. */
export interface Snapshotted {
  readonly sequence: number;
  readonly logBytes: number;
}

/** After a failure, the log grows by this part of what it grows from one to the next before it is tried again. */
const RETRY_PART = 4;

export class CollectionSnapshots {
  #last: SnapshotMark | undefined;
  /** Log bytes from which on the next one is due. */
  #dueAtBytes: number;
  /** Waits for its turn, or is being made. */
  #isWanted = false;
  #making: Promise<void> | undefined;
  #closed = false;

  /** `make`: of the newest frame end at or before that event; undefined where there is nothing new. */
  constructor(
    private readonly collectionId: number,
    private readonly services: SnapshotServices,
    last: SnapshotMark | undefined,
    private readonly now: () => Snapshotted,
    private readonly make: (upTo: number) => Promise<SavedSnapshot | undefined>,
  ) {
    this.#learn(last);
    this.#dueAtBytes = (last?.logBytes ?? 0) + this.#stepBytes;
  }

  /** To be called when the log may have grown. Costs a comparison, mostly. */
  consider(): void {
    if (this.#closed || this.#isWanted || this.now().logBytes < this.#dueAtBytes) return;
    this.#isWanted = true;
    void this.services.turns.take(async () => {
      this.#making = this.#makeNow();
      await this.#making;
      this.#isWanted = false;
    });
  }

  /** Resolves when none is being made any more; what makes it has been told to end. One that waits is not waited for. */
  async close(): Promise<void> {
    this.#closed = true;
    this.services.madeAtMs.delete(this.collectionId);
    await this.#making;
  }

  /** A snapshot of half the size of the one before would be made twice as often as the log is worth it. */
  get #stepBytes(): number {
    return Math.max(this.services.everyBytes, (this.#last?.sizeBytes ?? 0) / 2);
  }

  async #makeNow(): Promise<void> {
    if (this.#closed) return;
    const { clock, logger, metrics, store } = this.services;
    const { sequence, logBytes } = this.now();
    const about = { collection: this.collectionId, sequence };
    const startedMs = clock.monotonicMs();
    const seconds = (): number => (clock.monotonicMs() - startedMs) / 1000;
    logger.info({ ...about, logBytes }, 'making a snapshot');
    try {
      const saved = await this.make(sequence);
      if (saved !== undefined) {
        this.#learn({ sizeBytes: saved.sizeBytes, logBytes, madeAtMs: clock.nowMs() });
        metrics.made('done', seconds());
        logger.info({ ...about, sizeBytes: saved.sizeBytes, seconds: seconds() }, 'a snapshot is made');
      }
      this.#dueAtBytes = logBytes + this.#stepBytes;
      await store.prune(this.collectionId);
    } catch (error) {
      this.#dueAtBytes = logBytes + this.#stepBytes / RETRY_PART;
      if (this.#closed) return;
      metrics.made('failed', seconds());
      logger.warn({ ...about, error: messageOf(error) }, 'a snapshot was not made; it is tried again later');
    }
  }

  #learn(last: SnapshotMark | undefined): void {
    this.#last = last;
    if (last !== undefined && !this.#closed) this.services.madeAtMs.set(this.collectionId, last.madeAtMs);
  }
}
