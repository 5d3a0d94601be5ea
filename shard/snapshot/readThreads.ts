/** Threads that read large snapshots at the speed of the disk. They start on demand and end after some idle time. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { DamagedSnapshot } from './format.js';
import type { JobReader } from './readJob.js';
import type { ReadOrder, ReadOutcome } from './readWorker.js';

/** Largest number of threads. Each reads some 150 MB/s; the thread that builds the maps keeps up with four. */
const THREADS_MAX = 4;
const IDLE_MS = 10_000;

interface PendingJob {
  readonly worker: Worker;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

export class ReadThreads {
  readonly count = Math.min(THREADS_MAX, availableParallelism());
  /** Worker → number of its pending jobs. */
  readonly #workers = new Map<Worker, number>();
  readonly #pending = new Map<number, PendingJob>();
  #jobs = 0;
  #idle: NodeJS.Timeout | undefined;

  /** Executes a job. Throws DamagedSnapshot, and an Error if the thread failed. */
  readonly read: JobReader = async (job) => {
    clearTimeout(this.#idle);
    const worker = this.#leastBusy();
    const number = ++this.#jobs;
    return new Promise((resolve, reject) => {
      this.#pending.set(number, { worker, resolve, reject });
      this.#workers.set(worker, this.#workers.get(worker)! + 1);
      worker.ref();
      worker.postMessage({ number, job } satisfies ReadOrder);
    });
  };

  /** Resolves when the threads have ended. Pending jobs are rejected. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()));
  }

  #leastBusy(): Worker {
    const [least] = [...this.#workers].sort(([, one], [, other]) => one - other);
    if (least !== undefined && (least[1] === 0 || this.#workers.size === this.count)) return least[0];
    return this.#start();
  }

  #start(): Worker {
    const worker = new Worker(new URL('./readWorker.js', import.meta.url));
    let cause = 'it was ended';
    worker.on('message', (outcome: ReadOutcome) => this.#finish(worker, outcome));
    worker.on('error', (error) => {
      cause = error.message;
    });
    worker.on('exit', () => this.#onExit(worker, cause));
    this.#workers.set(worker, 0);
    return worker;
  }

  #finish(worker: Worker, outcome: ReadOutcome): void {
    const pending = this.#pending.get(outcome.number);
    this.#pending.delete(outcome.number);
    const left = this.#workers.get(worker)! - 1;
    this.#workers.set(worker, left);
    if (left === 0) worker.unref();
    if (this.#pending.size === 0) this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    if ('answer' in outcome) pending?.resolve(outcome.answer as never);
    else pending?.reject(outcome.isDamage ? new DamagedSnapshot(outcome.failure) : new Error(outcome.failure));
  }

  #onExit(worker: Worker, cause: string): void {
    this.#workers.delete(worker);
    for (const [number, pending] of this.#pending) {
      if (pending.worker !== worker) continue;
      this.#pending.delete(number);
      pending.reject(new Error(`a thread that reads snapshots died: ${cause}`));
    }
  }
}
