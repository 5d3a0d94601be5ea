/**
 * The notes of how far logs have reached, for all collections of a shard. They are written beside the commits, which wait
 * for none but the first: a collection that is written to is noted in a while, and all of them at a bounded rate, so that
 * the notes cost little however many there are. One that nobody writes to costs nothing.
 */
import type { Bucket } from '../../shared/bucket/bucket.js';
import { messageOf } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { type Reached, reachedKey, reachedOf, storedReached } from '../../shared/reached.js';
import type { ReachMetrics } from './reachMetrics.js';

/** Between two rounds. What is lost before it is noted may go unnoticed. */
const EVERY_MS = 10_000;
/**
 * In a round, one after another: 20 a second where there is more to note. Rounds, since the processes that share a folder
 * look through all of it after each change: 20 notes a second, spread evenly over 10,000 collections of a standalone node,
 * take a quarter of a core, and in rounds of 10 s a twentieth.
 */
const ROUND_MAX = 200;

export interface Noted extends Reached {
  readonly revision: number;
}

/** A collection that has something to note. */
export interface Noting {
  /** Throws `unavailable`. */
  note(): Promise<void>;
}

export interface ReachNotesParts {
  /** BUCKETS.reached. */
  readonly bucket: Bucket;
  /** Whether this shard may answer: what it commits without may not be in the log. */
  readonly mayAnswer: () => boolean;
  readonly metrics: ReachMetrics;
  readonly logger: Logger;
  readonly everyMs?: number;
}

export class ReachNotes {
  /** Who was first comes first. */
  readonly #waiting = new Set<Noting>();
  /** Until the next round, and in it. */
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: ReachNotesParts) {
    parts.metrics.observe(() => this.waiting);
  }

  /** Collections that have something to note. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Undefined where nothing was noted of it. Throws `unavailable`. */
  async read(collectionId: number): Promise<Noted | undefined> {
    const entry = await this.parts.bucket.get(reachedKey(collectionId));
    return entry && { ...reachedOf(entry), revision: entry.revision };
  }

  /** Undefined where the note is not the one at `before` any more, or where there is one and `before` is undefined. */
  async write(collectionId: number, reached: Reached, before: Noted | undefined): Promise<Noted | undefined> {
    const { bucket, metrics } = this.parts;
    const key = reachedKey(collectionId);
    const value = storedReached(reached);
    const revision = await (before === undefined
      ? bucket.create(key, value)
      : bucket.update(key, value, before.revision));
    if (revision === undefined) return undefined;
    metrics.noted();
    return { ...reached, revision };
  }

  /** Has it noted in a while. */
  later(noting: Noting): void {
    this.#waiting.add(noting);
    this.#timer ??= this.#untilRound();
  }

  forget(noting: Noting): void {
    this.#waiting.delete(noting);
  }

  /** Before this shard lets go of it, if it waits. What cannot be noted then is not. */
  async last(noting: Noting): Promise<void> {
    if (this.#waiting.delete(noting)) await this.#note(noting);
  }

  #untilRound(): NodeJS.Timeout {
    return setTimeout(() => void this.#round(), this.parts.everyMs ?? EVERY_MS).unref();
  }

  async #round(): Promise<void> {
    for (const noting of [...this.#waiting].slice(0, ROUND_MAX))
      if (this.#waiting.delete(noting) && !(await this.#note(noting))) this.#waiting.add(noting);
    this.#timer = this.#waiting.size === 0 ? undefined : this.#untilRound();
  }

  async #note(noting: Noting): Promise<boolean> {
    const { mayAnswer, metrics, logger } = this.parts;
    if (!mayAnswer()) return false;
    try {
      await noting.note();
      return true;
    } catch (error) {
      metrics.failed();
      logger.warn({ error: messageOf(error) }, 'how far a log has reached could not be noted');
      return false;
    }
  }
}
