/** Prepares bodies: small ones at once, large ones in worker threads, one at a time in each. */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { unavailable, VouchError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { BodyJob, BodyOutcome } from './bodyWorker.js';
import type { BodyBounds } from './bounds.js';
import { type BodyKind, inlineBytesMax, type Prepared, prepareBody } from './kinds.js';

const WORKERS_MAX = 2;
/** Large bodies that wait for a worker. */
const QUEUE_MAX = 64;
/** Of JavaScript objects: what 32 MiB of JSON becomes, and not more. */
const WORKER_HEAP_MB = 1_024;

interface Job extends BodyJob {
  readonly resolve: (prepared: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class BodyPool {
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, Job>();
  readonly #queue: Job[] = [];
  readonly #workersMax = Math.min(WORKERS_MAX, Math.max(1, availableParallelism() - 1));
  #closed = false;

  constructor(
    private readonly bounds: BodyBounds,
    private readonly logger: Logger,
  ) {}

  /**
   * `bytes` belong to the pool from here on. Throws `validation_error`, `payload_too_large`, and `unavailable` where too
   * many large bodies wait already.
   */
  async prepare<K extends BodyKind>(kind: K, bytes: Buffer): Promise<Prepared<K>> {
    if (bytes.length <= inlineBytesMax(kind)) return prepareBody(kind, bytes, this.bounds);
    if (this.#closed || this.#queue.length >= QUEUE_MAX)
      throw unavailable('too many large bodies are under way; retry shortly');
    return new Promise<Prepared<K>>((resolve, reject) => {
      this.#queue.push({ kind, bytes, resolve: resolve as (prepared: unknown) => void, reject });
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
    if (this.#queue.length === 0) return;
    const worker = this.#idle.pop() ?? (this.#busy.size < this.#workersMax ? this.#start() : undefined);
    if (worker === undefined) return;
    const job = this.#queue.shift()!;
    this.#busy.set(worker, job);
    worker.postMessage({ kind: job.kind, bytes: job.bytes } satisfies BodyJob, [job.bytes.buffer as ArrayBuffer]);
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
    const job = this.#busy.get(worker);
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
    const job = this.#busy.get(worker);
    this.#busy.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#closed) {
      const ended = unavailable('the coordinator is stopping; retry shortly');
      for (const left of job === undefined ? this.#queue : [job, ...this.#queue]) left.reject(ended);
      this.#queue.length = 0;
      return;
    }
    job?.reject(new Error('a body worker died of the body it was preparing'));
    this.#assign();
  }
}
