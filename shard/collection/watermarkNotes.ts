/**
 * The stored watermarks of a shard's collections: how far their logs have reached. They are written beside the commits,
 * at a bounded rate, so that they cost little however many there are. Only a collection's first commit waits for one. A
 * collection without writes costs nothing.
 */
import type { Bucket } from '../../shared/bucket/bucket.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import { type StoredWatermark, storedWatermark, watermarkKey, watermarkOf } from '../../shared/registry/watermarks.js';

/** Time between two rounds. If the log loses events that no watermark covers yet, the loss may go unnoticed. */
const EVERY_MS = 10_000;
/**
 * Largest number of watermarks written in a round, 20 a second on average. Processes that share a folder read all of it
 * after each change. With 10,000 standalone collections, 20 watermarks a second at equal distances would take a quarter
 * of a core; in rounds they take a twentieth.
 */
const ROUND_MAX = 200;

export interface NotedWatermark extends StoredWatermark {
  readonly revision: number;
}

/** A collection with a watermark to write. */
export interface Noting {
  /** Writes the watermark. Throws `unavailable`. */
  note(): Promise<void>;
}

export class WatermarkNotes {
  /** Waiting collections in order of arrival. */
  readonly #waiting = new Set<Noting>();
  /** Set until the end of the next round. */
  #timer: NodeJS.Timeout | undefined;

  /**
   * `bucket`: BUCKETS.watermarks. `mayAnswer`: whether this shard has its lease. Without the lease nothing is written: the
   * shard's newest events may not be in the log.
   */
  constructor(
    private readonly bucket: Bucket,
    private readonly mayAnswer: () => boolean,
    private readonly tools: { readonly metrics: Metrics; readonly logger: Logger },
    private readonly everyMs = EVERY_MS,
  ) {
    tools.metrics.gauges(() => ({ vouch_watermarks_behind: this.waiting }));
  }

  /** Number of collections with a watermark to write. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Returns undefined if the collection has no watermark. Throws `unavailable`. */
  async read(collectionId: number): Promise<NotedWatermark | undefined> {
    const entry = await this.bucket.get(watermarkKey(collectionId));
    return entry && { ...watermarkOf(entry), revision: entry.revision };
  }

  /** Replaces `before`, or creates the first watermark. Returns undefined if another one is stored by now. */
  async write(
    collectionId: number,
    watermark: StoredWatermark,
    before: NotedWatermark | undefined,
  ): Promise<NotedWatermark | undefined> {
    const { bucket, tools } = this;
    const key = watermarkKey(collectionId);
    const value = storedWatermark(watermark);
    const revision = await (before === undefined
      ? bucket.create(key, value)
      : bucket.update(key, value, before.revision));
    if (revision === undefined) return undefined;
    tools.metrics.count('vouch_watermark_writes_total', { outcome: 'done' });
    return { ...watermark, revision };
  }

  /** Notes the collection in a later round. */
  later(noting: Noting): void {
    this.#waiting.add(noting);
    this.#timer ??= this.#untilRound();
  }

  forget(noting: Noting): void {
    this.#waiting.delete(noting);
  }

  /** Notes a waiting collection now, before this shard closes it. A failure is only logged. */
  async beforeClose(noting: Noting): Promise<void> {
    if (this.#waiting.delete(noting)) await this.#note(noting);
  }

  #untilRound(): NodeJS.Timeout {
    return setTimeout(() => void this.#round(), this.everyMs).unref();
  }

  async #round(): Promise<void> {
    for (const noting of [...this.#waiting].slice(0, ROUND_MAX))
      if (this.#waiting.delete(noting) && !(await this.#note(noting))) this.#waiting.add(noting);
    this.#timer = this.#waiting.size === 0 ? undefined : this.#untilRound();
  }

  async #note(noting: Noting): Promise<boolean> {
    const { metrics, logger } = this.tools;
    if (!this.mayAnswer()) return false;
    try {
      await noting.note();
      return true;
    } catch (error) {
      metrics.count('vouch_watermark_writes_total', { outcome: 'failed' });
      logger.warn({ error: messageOf(error) }, 'the watermark of a log could not be written');
      return false;
    }
  }
}
