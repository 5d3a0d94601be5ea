/**
 * Threads that read snapshots, so that a large one is read as fast as the disk gives it. They are started when something
 * is to be read, and end when nothing was for a while.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { DamagedSnapshot } from './damagedSnapshot.js';
import type { Read, Reader, ReadJob } from './readJob.js';
import type { ReadOrder, ReadOutcome } from './readWorker.js';

/** Each takes in some 150 MB/s; the thread that builds the maps takes what four of them give. */
const THREADS_MAX = 4;
const IDLE_MS = 10_000;

interface Asked {
  readonly worker: Worker;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

export class ReadThreads {
  readonly count = Math.min(THREADS_MAX, availableParallelism());
  /** Worker → jobs it has not answered. */
  readonly #workers = new Map<Worker, number>();
  readonly #asked = new Map<number, Asked>();
  #orders = 0;
  #idle: NodeJS.Timeout | undefined;

  /** Throws DamagedSnapshot, and Error where the thread could not do it. */
  readonly read: Reader = (job) => this.#ask(job);

  /** Resolves when the threads have ended. What they have not answered is rejected. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()));
  }

  #ask<J extends ReadJob>(job: J): Promise<Read[J['op']]> {
    clearTimeout(this.#idle);
    const worker = this.#leastBusy();
    const number = ++this.#orders;
    return new Promise((resolve, reject) => {
      this.#asked.set(number, { worker, resolve, reject });
      this.#workers.set(worker, this.#workers.get(worker)! + 1);
      worker.ref();
      worker.postMessage({ number, job } satisfies ReadOrder);
    });
  }

  #leastBusy(): Worker {
    const [least] = [...this.#workers].sort(([, one], [, other]) => one - other);
    if (least !== undefined && (least[1] === 0 || this.#workers.size === this.count)) return least[0];
    return this.#start();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./readWorker.js', import.meta.url));
    let cause = 'it was ended';
    worker.on('message', (outcome: ReadOutcome) => this.#settle(worker, outcome));
    worker.on('error', (error) => {
      cause = error.message;
    });
    worker.on('exit', () => this.#bury(worker, cause));
    this.#workers.set(worker, 0);
    return worker;
  }

  #settle(worker: Worker, outcome: ReadOutcome): void {
    const asked = this.#asked.get(outcome.number);
    this.#asked.delete(outcome.number);
    const left = this.#workers.get(worker)! - 1;
    this.#workers.set(worker, left);
    if (left === 0) worker.unref();
    if (this.#asked.size === 0) this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    if ('answer' in outcome) asked?.resolve(outcome.answer as never);
    else asked?.reject(outcome.isDamage ? new DamagedSnapshot(outcome.failure) : new Error(outcome.failure));
  }

  #bury(worker: Worker, cause: string): void {
    this.#workers.delete(worker);
    for (const [number, asked] of this.#asked) {
      if (asked.worker !== worker) continue;
      this.#asked.delete(number);
      asked.reject(new Error(`a thread that reads snapshots died: ${cause}`));
    }
  }
}
