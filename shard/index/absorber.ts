/**
 * Rows pass from tails into indexes in the thread that answers searches, a slice at a time, for about a quarter of that
 * thread's time: what waits in the event loop waits for one slice.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import { Slice } from '../pause.js';

const REST_MS = 6;

export interface Absorbing {
  /** Absorbs until `slice` is used up; false when nothing is left to absorb. */
  absorb(slice: Slice): boolean;
}

export class Absorber {
  readonly #wanting = new Set<Absorbing>();
  #running = false;

  constructor(
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  want(absorbing: Absorbing): void {
    this.#wanting.add(absorbing);
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  forget(absorbing: Absorbing): void {
    this.#wanting.delete(absorbing);
  }

  async #run(): Promise<void> {
    while (this.#wanting.size > 0) {
      await delay(REST_MS, undefined, { ref: false });
      const slice = new Slice(this.clock);
      for (const absorbing of this.#wanting) {
        // To the end of the line, so that the others have their turn.
        this.#wanting.delete(absorbing);
        if (this.#absorb(absorbing, slice)) this.#wanting.add(absorbing);
        if (slice.due) break;
      }
    }
    this.#running = false;
  }

  #absorb(absorbing: Absorbing, slice: Slice): boolean {
    try {
      return absorbing.absorb(slice);
    } catch (error) {
      this.logger.error({ error }, 'absorbing into an index failed; its tail stays searched exactly');
      return false;
    }
  }
}
