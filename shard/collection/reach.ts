/**
 * How far a collection's log has reached, as it is noted outside of the log. A log that has lost its end verifies from its
 * first frame to its last, and one that is gone could not be told from one that was never begun: the note tells.
 *
 *   the first commit:  in the log ──▶ noted ──▶ answered
 *   all later ones:    in the log ──▶ answered ··in a while··▶ noted
 *
 * A crash before the first note leaves a log of which nothing was answered: it is noted at the next opening, or before the
 * next answer. A note is never lowered: of several owners the one that knows more has the word.
 */
import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import { Damaged } from './damaged.js';
import type { Journal } from './journal.js';
import { assertReaches, WHAT_TO_DO } from './lostEnd.js';
import type { Noted, Noting, ReachNotes } from './reachNotes.js';

export class Reach implements Noting {
  /** As far as it is known here. */
  #noted: Noted | undefined;
  /** There was a note, and it is gone: so is the collection. */
  #isGone = false;
  #telling: Promise<void> | undefined;

  constructor(
    private readonly config: CollectionConfig,
    private readonly log: EventLog,
    private readonly journal: Journal,
    private readonly notes: ReachNotes,
    private readonly clock: Clock,
  ) {}

  /**
   * Throws Damaged where the log, of which all is applied that it held, is not the one that was noted, or ends before; and
   * `unavailable`. Costs nothing where it is as noted.
   */
  async assertAs(noted: Noted | undefined): Promise<void> {
    this.#noted = noted;
    if (noted === undefined) return;
    const { journal, log, config, clock } = this;
    const { sequence, chainHead } = noted;
    if (journal.sequence < sequence) {
      await assertReaches(log, config.id, sequence, `event ${sequence} was committed`, clock);
      // Its owner has committed meanwhile.
      await journal.catchUp();
      if (journal.sequence < sequence) throw unavailable('the log could not be read to its end; retry shortly');
    }
    if (toHex(journal.history.tree.chainHead(sequence)) === chainHead) return;
    throw new Damaged(`its event ${sequence}, or one before, is another than was committed; ${WHAT_TO_DO}`);
  }

  /** The same of one that has been open for a while: catches up. */
  async confirm(): Promise<void> {
    const [noted] = await Promise.all([this.notes.read(this.config.id), this.journal.catchUp()]);
    await this.assertAs(noted);
  }

  /** Resolves when something is noted: one write in the life of a collection, and then nothing. Throws `unavailable`. */
  async tell(): Promise<void> {
    if (this.#noted !== undefined || this.#isGone) return;
    this.#telling ??= this.note().finally(() => {
      this.#telling = undefined;
    });
    await this.#telling;
  }

  /** After a commit of this shard's, or where it has become the owner. */
  advanced(): void {
    if (this.#isBehind) this.notes.later(this);
  }

  async note(): Promise<void> {
    const { sequence, end } = this.journal.history;
    const reached = { sequence, chainHead: toHex(end.chainHead) };
    let noted = this.#noted;
    while (!this.#isGone && sequence > (noted?.sequence ?? 0)) {
      const before = noted;
      // Without: another owner has noted something since, or the collection was deleted.
      noted = (await this.notes.write(this.config.id, reached, before)) ?? (await this.notes.read(this.config.id));
      this.#isGone = before !== undefined && noted === undefined;
    }
    this.#noted = noted;
    // What was committed meanwhile.
    this.advanced();
  }

  /** Of an owner that ends: what is to be noted is noted now. */
  last(): Promise<void> {
    return this.notes.last(this);
  }

  /** What is not noted yet is left to the next owner. */
  forget(): void {
    this.notes.forget(this);
  }

  get #isBehind(): boolean {
    return this.#noted !== undefined && this.#noted.sequence < this.journal.sequence;
  }
}
