import type { Clock } from '../clock.js';
import { FairQueue } from './fairQueue.js';

/** The collection that work is for. */
export interface WorkOf {
  readonly id: number;
  readonly project: string;
}

interface Bounds {
  /** Pieces of work that run at once: in all, and of one project. */
  readonly atOnce: number;
  readonly ofProject?: number;
  /** Pieces of work of one project that wait. */
  readonly waiting?: number;
  /** Makes the error where more would wait. */
  readonly refusal?: () => Error;
}

/** Bounds the work that runs at once. Projects take turns at what is free, and so do the collections of a project. */
export class FairSemaphore {
  /** Starts each piece of work that waits. */
  readonly #queue: FairQueue<number, () => void>;
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, number>();
  #runningAll = 0;

  /** `mayBegin`: whether work may begin at all; `begin` must be called when that changes. */
  constructor(
    private readonly bounds: Bounds,
    clock: Clock,
    private readonly mayBegin: () => boolean = () => true,
  ) {
    this.#queue = new FairQueue(Number.POSITIVE_INFINITY, clock);
  }

  /** Work that runs or waits. */
  get size(): number {
    return this.#runningAll + this.#queue.length;
  }

  /** Throws `refusal` where too many wait, and the signal's reason where it is aborted before the work begins. */
  async run<T>(of: WorkOf, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#turn(of, signal);
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      change(this.#running, of.project, -1);
      this.#runningAll--;
      this.begin();
    }
  }

  /** Begins work that waits and may run. */
  begin(): void {
    const { atOnce, ofProject = atOnce } = this.bounds;
    const mayRun = (_: number, project: string | number): boolean =>
      (this.#running.get(String(project)) ?? 0) < ofProject;
    while (this.#runningAll < atOnce && this.mayBegin()) {
      const enter = this.#queue.take(mayRun, () => undefined);
      if (enter === undefined) return;
      enter();
    }
  }

  /** Resolves when the work may run, and counts it as running. */
  #turn({ id, project }: WorkOf, signal: AbortSignal | undefined): Promise<void> {
    const { waiting = Number.POSITIVE_INFINITY, refusal } = this.bounds;
    return new Promise((resolve, reject) => {
      if ((this.#waiting.get(project) ?? 0) >= waiting) return reject(refusal?.());
      const leave = (): void => {
        signal?.removeEventListener('abort', giveUp);
        change(this.#waiting, project, -1);
      };
      const giveUp = (): void => {
        leave();
        this.#queue.remove(id, enter);
        reject(signal?.reason as Error);
      };
      const enter = (): void => {
        leave();
        change(this.#running, project, 1);
        this.#runningAll++;
        resolve();
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      change(this.#waiting, project, 1);
      this.#queue.push(id, enter, 1, 0, project);
      this.begin();
    });
  }
}

/** Adds to a count; a count of 0 is not kept. */
function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
