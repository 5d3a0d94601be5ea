/**
 * The high-water mark of a collection's log, stored outside the log. Without it a truncated or lost log
 * would look whole.
 *
 * ```text
 * First commit:   in the log ──▶ noted ──▶ answered.
 * Later commits:  in the log ──▶ answered ··after a while··▶ noted.
 * ```
 *
 * A crash before the first note leaves a log without answered writes. It is noted at the next opening, or before the
 * next answer. A watermark is never lowered, not even by another owner that knows less.
 */

import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { StoredWatermark } from '../../shared/registry/watermarks.js';
import type { Journal } from '../state/journal.js';
import { assertReaches, WHAT_TO_DO } from '../state/truncatedLog.js';
import type { NotedWatermark, Noting, WatermarkNotes } from './watermarkNotes.js';

/** The log of a collection, and the journal that applies it. */
interface AppliedLog {
  readonly config: CollectionConfig;
  readonly log: EventLog;
  readonly journal: Journal;
}

export class CollectionWatermark implements Noting {
  /** Newest note that is known here. */
  #noted: NotedWatermark | undefined;
  /** Whether the note was deleted, and with it the collection. */
  #isDeleted = false;
  #firstNote: Promise<void> | undefined;

  constructor(
    private readonly applied: AppliedLog,
    private readonly notes: WatermarkNotes,
    private readonly clock: Clock,
  ) {}

  /**
   * Throws Damaged if the log, which is applied to its end, ends before the note or differs from it. Throws
   * `unavailable`.
   */
  async assertAs(noted: NotedWatermark | undefined): Promise<void> {
    this.#noted = noted;
    if (noted === undefined) return;
    const { journal, log, config } = this.applied;
    const { sequence, chainHead } = noted;
    if (journal.sequence < sequence) {
      await assertReaches(log, config.id, { sequence, known: `event ${sequence} was committed` }, this.clock);
      // The owner may have committed since.
      await journal.catchUp();
      if (journal.sequence < sequence) throw unavailable('the log could not be read to its end; retry shortly');
    }
    if (toHex(journal.history.tree.chainHead(sequence)) === chainHead) return;
    throw new Damaged(`its event ${sequence}, or an earlier one, is not the committed one; ${WHAT_TO_DO}`);
  }

  /** Reads the note and the rest of the log, then asserts like `assertAs`. */
  async confirm(): Promise<void> {
    const { config, journal } = this.applied;
    const noted = await this.notes.read(config.id);
    await journal.catchUpToOwn();
    await this.assertAs(noted);
  }

  /** Resolves when there is a note; it is written once in the life of a collection. Throws `unavailable`. */
  async ensureNoted(): Promise<void> {
    if (this.#noted !== undefined || this.#isDeleted) return;
    this.#firstNote ??= this.note().finally(() => {
      this.#firstNote = undefined;
    });
    await this.#firstNote;
  }

  /** Call it after a commit, and when this shard becomes the owner. */
  advanced(): void {
    const noted = this.#noted;
    if (noted !== undefined && (noted.sequence < this.applied.journal.sequence || noted.held === undefined))
      this.notes.later(this);
  }

  async note(): Promise<void> {
    const { config, journal } = this.applied;
    const { sequence, end } = journal.history;
    const watermark = { sequence, chainHead: toHex(end.chainHead), held: journal.heldBytes };
    const isNews = ({ sequence: before, held }: StoredWatermark): boolean =>
      sequence > before || (sequence === before && held === undefined && watermark.held !== undefined);
    let noted = this.#noted;
    while (!this.#isDeleted && (noted === undefined ? sequence > 0 : isNews(noted))) {
      const before = noted;
      // A failed write means that another owner has noted since, or the collection was deleted.
      noted = (await this.notes.write(config.id, watermark, before)) ?? (await this.notes.read(config.id));
      this.#isDeleted = before !== undefined && noted === undefined;
    }
    this.#noted = noted;
    // Events may have been committed since.
    this.advanced();
  }

  /** Writes the last note of an owner that closes. */
  beforeClose(): Promise<void> {
    return this.notes.beforeClose(this);
  }

  /** Leaves further notes to the next owner. */
  forget(): void {
    this.notes.forget(this);
  }
}
