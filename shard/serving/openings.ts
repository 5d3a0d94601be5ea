/**
 * The openings of collections, each of which takes a share of a core. Collections that calls wait for are opened at once,
 * and many of them in turns that are fair between projects. Collections to follow are opened a few at a time, and none begins
 * while a call waits for an opening.
 */
import type { Clock } from '../../shared/clock.js';
import { FairSemaphore, type WorkOf } from '../../shared/scheduling/fairSemaphore.js';

/** A project that opens thousands of collections leaves most of the time to others, and places. */
const ASKED = { atOnce: 32, ofProject: 8 };
const BACKGROUND = { atOnce: 2 };

export class Openings {
  readonly #asked: FairSemaphore;
  readonly #background: FairSemaphore;

  constructor(clock: Clock) {
    this.#asked = new FairSemaphore(ASKED, clock);
    this.#background = new FairSemaphore(BACKGROUND, clock, () => this.#asked.size === 0);
  }

  async asked<T>(collection: WorkOf, open: () => Promise<T>): Promise<T> {
    try {
      return await this.#asked.run(collection, open);
    } finally {
      this.#background.begin();
    }
  }

  inBackground(collection: WorkOf, open: () => Promise<void>): Promise<void> {
    return this.#background.run(collection, open);
  }
}
