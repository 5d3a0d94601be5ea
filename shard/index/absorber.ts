/**
 * Takes rows from tails into indexes in the thread that answers searches, a slice at a time, for about a quarter of that
 * thread's time: other work in the event loop waits for one slice.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import { Slice } from '../../shared/scheduling/slice.js';

const REST_MS = 6;

/** Absorbs until `slice` is used up; false when nothing is left to absorb. */
type Absorb = (slice: Slice) => boolean;

export class Absorber {
  readonly #waiting = new Set<Absorb>();
  #running = false;

  constructor(
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  want(absorb: Absorb): void {
    this.#waiting.add(absorb);
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  forget(absorb: Absorb): void {
    this.#waiting.delete(absorb);
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      await delay(REST_MS, undefined, { ref: false });
      const slice = new Slice(this.clock);
      for (const absorb of this.#waiting) {
        // Back to the end of the queue, so that the others have their turn.
        this.#waiting.delete(absorb);
        try {
          if (absorb(slice)) this.#waiting.add(absorb);
        } catch (error) {
          this.logger.error({ error }, 'absorbing into an index failed; its tail stays searched exactly');
        }
        if (slice.due) break;
      }
    }
    this.#running = false;
  }
}
