/**
 * Absorbs rows from tails into indexes, in the thread that answers searches, a slice at a time. It takes about a
 * quarter of that thread's time. Other work in the event loop waits for at most one slice. Projects take turns, then
 * their collections.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import { FairQueue, ONE_UNIT } from '../../shared/scheduling/fairQueue.js';
import type { WorkOf } from '../../shared/scheduling/fairSemaphore.js';
import { Slice } from '../../shared/scheduling/slice.js';

/** Pause between two slices, in which the thread does other work. */
const REST_MS = 3;

/** Absorbs rows until `slice` is used up. Returns false when no row is left to absorb. */
type Absorb = (slice: Slice) => boolean;

interface Tail {
  /** The collection. */
  readonly of: WorkOf;
  readonly absorb: Absorb;
}

export class Absorber {
  readonly #queue: FairQueue<number, Tail>;
  /** Tails in the queue. */
  readonly #waiting = new Map<Absorb, Tail>();
  #running = false;

  constructor(
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.#queue = new FairQueue(Number.POSITIVE_INFINITY, clock);
  }

  /** Queues the tail of a collection, unless it is queued. `absorb` identifies it. */
  want(of: WorkOf, absorb: Absorb): void {
    if (this.#waiting.has(absorb)) return;
    const tail = { of, absorb };
    this.#waiting.set(absorb, tail);
    this.#queue.push(of.id, tail, ONE_UNIT, of.project);
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  /** Removes a tail from the queue. */
  forget(absorb: Absorb): void {
    const tail = this.#waiting.get(absorb);
    if (tail === undefined) return;
    this.#waiting.delete(absorb);
    this.#queue.remove(tail.of.id, tail);
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await delay(REST_MS, undefined, { ref: false });
      const slice = new Slice(this.clock);
      while (!slice.due && this.#absorbNext(slice));
    }
    this.#running = false;
  }

  /** Absorbs from the next tail. Returns false if the queue is empty. */
  #absorbNext(slice: Slice): boolean {
    const tail = this.#queue.take();
    if (tail === undefined) return false;
    this.#waiting.delete(tail.absorb);
    try {
      if (tail.absorb(slice)) this.want(tail.of, tail.absorb);
    } catch (error) {
      this.logger.error({ error }, 'rows could not be absorbed into an index; they are searched exactly');
    }
    return true;
  }
}
