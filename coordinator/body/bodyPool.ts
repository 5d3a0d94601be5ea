/** Prepares bodies: small ones at once, large ones in worker threads, one at a time in each, projects in turn. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../shared/clock.js';
import { unavailable, VouchError } from '../../shared/errors.js';
import { FairQueue } from '../../shared/fairQueue.js';
import type { Logger } from '../../shared/logger.js';
import { overloaded } from '../../shared/overloaded.js';
import type { BodyJob, BodyOutcome } from './bodyWorker.js';
import type { BodyBounds } from './bounds.js';
import { type BodyKind, inlineBytesMax, type Prepared, prepareBody } from './kinds.js';

const WORKERS_MAX = 2;
/** Large bodies that wait for a worker. */
const QUEUE_MAX = 64;
/** Of JavaScript objects: what 32 MiB of JSON becomes, and not more. */
const WORKER_HEAP_MB = 1_024;

interface Job extends BodyJob {
  readonly project: string;
  readonly resolve: (prepared: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface AtWork {
  readonly project: string;
  /** The bytes themselves are the worker's by now. */
  readonly sizeBytes: number;
  readonly job: Job;
}

const stopping = (): VouchError => unavailable('the coordinator is stopping; retry shortly');

export class BodyPool {
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, AtWork>();
  readonly #queue: FairQueue<string, Job>;
  readonly #workersMax = Math.min(WORKERS_MAX, Math.max(1, availableParallelism() - 1));
  #closed = false;

  /** `queueMs`: the longest that a body waits for a worker. */
  constructor(
    private readonly bounds: BodyBounds,
    queueMs: number,
    clock: Clock,
    private readonly logger: Logger,
  ) {
    this.#queue = new FairQueue(queueMs, clock);
  }

  /** Large bodies that wait for a worker. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Throws Overloaded where a body of so many bytes would be refused, so that it need not be read. */
  assertRoom(kind: BodyKind, sizeBytes: number, project: string): void {
    if (sizeBytes <= inlineBytesMax(kind)) return;
    if (this.#queue.length >= QUEUE_MAX || !this.#queue.admits(project, this.#atWork(project)))
      throw overloaded('body_queue');
  }

  /**
   * `bytes` belong to the pool from here on. Throws `validation_error`, `payload_too_large`, and Overloaded where it
   * would wait too long for a worker, or has.
   */
  async prepare<K extends BodyKind>(kind: K, bytes: Buffer, project: string): Promise<Prepared<K>> {
    if (bytes.length <= inlineBytesMax(kind)) return prepareBody(kind, bytes, this.bounds);
    if (this.#closed) throw stopping();
    this.assertRoom(kind, bytes.length, project);
    return new Promise<Prepared<K>>((resolve, reject) => {
      const job: Job = { project, kind, bytes, resolve: resolve as (prepared: unknown) => void, reject };
      this.#queue.push(project, job, bytes.length, this.#atWork(project));
      this.#assign();
    });
  }

  /** Ends the workers. What they were at fails. */
  async close(): Promise<void> {
    this.#closed = true;
    const workers = [...this.#idle, ...this.#busy.keys()];
    await Promise.all(workers.map((worker) => worker.terminate()));
  }

  #assign(): void {
    if (this.#queue.length === 0 || (this.#idle.length === 0 && this.#busy.size >= this.#workersMax)) return;
    const job = this.#queue.take(
      () => true,
      ({ reject }) => reject(overloaded('body_queue')),
    );
    if (job === undefined) return;
    const worker = this.#idle.pop() ?? this.#start();
    this.#busy.set(worker, { project: job.project, sizeBytes: job.bytes.length, job });
    worker.postMessage({ kind: job.kind, bytes: job.bytes } satisfies BodyJob, [job.bytes.buffer as ArrayBuffer]);
  }

  /** Bytes of the project that workers are at. */
  #atWork(project: string): number {
    let sum = 0;
    for (const { project: other, sizeBytes } of this.#busy.values()) if (other === project) sum += sizeBytes;
    return sum;
  }

  #start(): Worker {
    const worker = new Worker(new URL('./bodyWorker.js', import.meta.url), {
      workerData: this.bounds,
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    });
    worker.on('message', (outcome: BodyOutcome) => this.#settle(worker, outcome));
    worker.on('error', (error) => this.logger.error({ error: error.message }, 'a body worker failed'));
    worker.on('exit', () => this.#bury(worker));
    return worker;
  }

  #settle(worker: Worker, outcome: BodyOutcome): void {
    const job = this.#busy.get(worker)?.job;
    this.#busy.delete(worker);
    this.#idle.push(worker);
    this.#assign();
    if (job === undefined) return;
    if ('prepared' in outcome) job.resolve(outcome.prepared);
    else if ('code' in outcome) job.reject(new VouchError(outcome.code, outcome.message));
    else job.reject(new Error(`a body could not be prepared: ${outcome.defect}`));
  }

  /** A worker is gone: its job fails, and the next job starts another. */
  #bury(worker: Worker): void {
    const job = this.#busy.get(worker)?.job;
    this.#busy.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#closed) {
      for (const left of [...(job === undefined ? [] : [job]), ...this.#queue.clear()]) left.reject(stopping());
      return;
    }
    job?.reject(new Error('a body worker died of the body it was preparing'));
    this.#assign();
  }
}
