/**
 * That a collection has a first commit, as it is known outside of its log: by the catalog's entry. A log that is gone could
 * not be told from one that was never begun.
 *
 *   nothing ──first commit──▶ in the log ──▶ in the catalog ──▶ answered
 *
 * A crash in between leaves a log that the catalog does not know of, and nothing of it was answered: the catalog is told at
 * the next opening, or before the next answer.
 */
import type { Bucket, Entry } from '../../shared/bucket/bucket.js';
import type { CollectionConfig } from '../../shared/calls.js';
import { catalogEntryOf, catalogKey, withBegun } from '../../shared/catalogEntry.js';
import type { Clock } from '../../shared/clock.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { Journal } from './journal.js';
import { assertReaches } from './lostEnd.js';

export class Beginning {
  #told: Promise<void> | undefined;

  constructor(
    private readonly config: CollectionConfig,
    /** BUCKETS.catalog. */
    private readonly catalog: Bucket,
  ) {}

  /**
   * An empty log may be one that is gone, and one that was imported must have all that was announced: the catalog is asked
   * of these alone. Throws Damaged where the log has lost what was committed, and `unavailable`.
   */
  async assertIn(log: EventLog, journal: Journal, clock: Clock): Promise<void> {
    const { id, origin } = this.config;
    if (journal.sequence > 0 && origin === undefined) return;
    const committed = await this.#committed();
    if (journal.sequence >= committed) return;
    const known = origin === undefined ? 'writes to it were answered' : `an import of ${committed} events was finished`;
    await assertReaches(log, id, committed, known, clock);
    // Its owner has committed meanwhile.
    await journal.catchUp();
  }

  /**
   * Resolves when the catalog knows that something was committed; a collection that was deleted needs none. Two round trips
   * in the life of a collection, one at each further opening, and then nothing. Throws `unavailable`.
   */
  tell(): Promise<void> {
    this.#told ??= this.#tell().catch((error: unknown) => {
      this.#told = undefined;
      throw error;
    });
    return this.#told;
  }

  /** Events, at least. */
  async #committed(): Promise<number> {
    const entry = await this.#entry();
    if (entry === undefined) return 0;
    const { imported, isBegun } = catalogEntryOf(entry);
    if (imported?.finished) return imported.sequence;
    return isBegun ? 1 : 0;
  }

  async #tell(): Promise<void> {
    for (;;) {
      const entry = await this.#entry();
      if (entry === undefined || catalogEntryOf(entry).isBegun) return;
      // Otherwise the entry has changed since it was read.
      if ((await this.catalog.update(entry.key, withBegun(entry), entry.revision)) !== undefined) return;
    }
  }

  /** Undefined where the collection was deleted. */
  async #entry(): Promise<Entry | undefined> {
    const { id, project, name } = this.config;
    const entry = await this.catalog.get(catalogKey(project, name));
    return entry !== undefined && catalogEntryOf(entry).config.id === id ? entry : undefined;
  }
}
