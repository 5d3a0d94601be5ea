import type { Clock } from '../clock.js';
import { Counts } from './counts.js';
import { FairQueue, ONE_UNIT } from './fairQueue.js';

/** The collection that work is for. */
export interface WorkOf {
  readonly id: number;
  readonly project: string;
}

interface Bounds {
  /** Limit of the work that runs at once, in pieces: in all, and of one project. */
  readonly atOnce: number;
  readonly ofProject?: number;
  /** Limit of the waiting work of one project, in pieces. */
  readonly waiting?: number;
  /** Makes the error for work beyond `waiting`. */
  readonly refusal?: () => Error;
}

/** Bounds the work that runs at once. Projects take turns for free places, and so do the collections of a project. */
export class FairSemaphore {
  /** Each item starts a piece of waiting work. */
  readonly #queue: FairQueue<number, () => void>;
  readonly #running = new Counts<string>();
  readonly #waiting = new Counts<string>();
  #runningAll = 0;

  /** `mayBegin`: whether work may begin at all; `begin` must be called when that changes. */
  constructor(
    private readonly bounds: Bounds,
    clock: Clock,
    private readonly mayBegin: () => boolean = () => true,
  ) {
    this.#queue = new FairQueue(Number.POSITIVE_INFINITY, clock);
  }

  /** How much work runs or waits. */
  get size(): number {
    return this.#runningAll + this.#queue.length;
  }

  /** Runs `work` in its turn. Throws `refusal` if too much waits, and the signal's reason if that aborts before the work begins. */
  async run<T>(of: WorkOf, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#turn(of, signal);
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      this.#running.add(of.project, -1);
      this.#runningAll--;
      this.begin();
    }
  }

  /** Begins all waiting work that may run. */
  begin(): void {
    const { atOnce, ofProject = atOnce } = this.bounds;
    const mayRun = (_: number, project: string | number): boolean => this.#running.of(String(project)) < ofProject;
    while (this.#runningAll < atOnce && this.mayBegin()) {
      const enter = this.#queue.take(mayRun);
      if (enter === undefined) return;
      enter();
    }
  }

  /** Resolves when the work may run, and counts it as running. */
  #turn({ id, project }: WorkOf, signal: AbortSignal | undefined): Promise<void> {
    const { waiting = Number.POSITIVE_INFINITY, refusal } = this.bounds;
    return new Promise((resolve, reject) => {
      if (this.#waiting.of(project) >= waiting) return reject(refusal?.());
      const leave = (): void => {
        signal?.removeEventListener('abort', giveUp);
        this.#waiting.add(project, -1);
      };
      const giveUp = (): void => {
        leave();
        this.#queue.remove(id, enter);
        reject(signal?.reason as Error);
      };
      const enter = (): void => {
        leave();
        this.#running.add(project, 1);
        this.#runningAll++;
        resolve();
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(project, 1);
      this.#queue.push(id, enter, ONE_UNIT, project);
      this.begin();
    });
  }
}
