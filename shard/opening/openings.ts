/**
 * The order in which a shard opens collections, each of which takes a share of a core. An opening that calls wait for begins at
 * once while few such openings run. Beyond that, projects take turns. Openings in the background, those of followed collections,
 * run a few at a time, and none begins while one for a call runs. A suspect collection is opened alone: it waits until no other
 * is being opened, and others wait until it is open.
 */
import type { Clock } from '../../shared/clock.js';
import { Damaged } from '../../shared/log/damaged.js';
import { FairSemaphore, type WorkOf } from '../../shared/scheduling/fairSemaphore.js';
import type { Lease } from '../answering/lease.js';
import type { OpeningNotes } from './openingNotes.js';

/** How many openings for calls may run at a time. One project, which may open thousands, gets a quarter of the places. */
const ASKED = { atOnce: 32, ofProject: 8 };
const BACKGROUND = { atOnce: 2 };

export class Openings {
  readonly #asked: FairSemaphore;
  readonly #background: FairSemaphore;
  /** Number of running openings of collections that are not suspect. */
  #unsuspected = 0;
  /** Whether a suspect collection is being opened. */
  #isAlone = false;
  /** Openings that wait to begin. `alone`: of a suspect collection. */
  readonly #waitingToEnter: { readonly alone: boolean; readonly enter: () => void }[] = [];

  constructor(
    private readonly notes: Pick<OpeningNotes, 'isSuspect' | 'quarantineOf' | 'begin' | 'step' | 'end' | 'opened'>,
    private readonly lease: Pick<Lease, 'valid' | 'lapses'>,
    clock: Clock,
  ) {
    this.#asked = new FairSemaphore(ASKED, clock);
    this.#background = new FairSemaphore(BACKGROUND, clock, () => this.#asked.size === 0);
  }

  /** Runs an opening that a call waits for, in its turn. */
  async asked<T>(collection: WorkOf, open: () => Promise<T>): Promise<T> {
    try {
      return await this.#asked.run(collection, open);
    } finally {
      this.#background.begin();
    }
  }

  /** Runs an opening in the background, in its turn. */
  inBackground(collection: WorkOf, open: () => Promise<void>): Promise<void> {
    return this.#background.run(collection, open);
  }

  /** Notes the opening, then opens the collection. Throws Damaged if it must not be opened, and `unavailable`. */
  async noted<T>(collectionId: number, open: () => Promise<T>): Promise<T> {
    const { notes, lease } = this;
    const alone = await notes.isSuspect(collectionId);
    await this.#enter(alone);
    try {
      this.assertMayOpen(collectionId);
      const { lapses } = lease;
      await notes.begin(collectionId, { alone });
      const opened = await open();
      // The opening may have taken so long that the lease expired. Then the collection stays suspect, although it is open.
      if (alone && lease.valid && lease.lapses === lapses) await notes.opened(collectionId);
      return opened;
    } finally {
      notes.end(collectionId);
      this.#leave(alone);
    }
  }

  /** Call it before each step of an opening that may take long, and again when it resumes. */
  step(collectionId: number, kind: string, number: number): void {
    this.notes.step(collectionId, kind, number);
  }

  /** Throws Damaged if the collection is quarantined because of its openings. */
  assertMayOpen(collectionId: number): void {
    const reason = this.notes.quarantineOf(collectionId);
    if (reason !== undefined) throw new Damaged(reason, { part: 'opening' });
  }

  async #enter(alone: boolean): Promise<void> {
    const entered = new Promise<void>((enter) => this.#waitingToEnter.push({ alone, enter }));
    this.#letIn();
    await entered;
  }

  #leave(alone: boolean): void {
    if (alone) this.#isAlone = false;
    else this.#unsuspected--;
    this.#letIn();
  }

  /** Begins the waiting openings that may begin now, those of suspect collections last. */
  #letIn(): void {
    while (!this.#isAlone && this.#waitingToEnter.length > 0) {
      const unsuspected = this.#waitingToEnter.findIndex(({ alone }) => !alone);
      if (unsuspected < 0 && this.#unsuspected > 0) return;
      const [next] = this.#waitingToEnter.splice(Math.max(unsuspected, 0), 1);
      if (next?.alone) this.#isAlone = true;
      else this.#unsuspected++;
      next?.enter();
    }
  }
}
