/**
 * One worker thread and the queue for it. One turn has the worker at a time; urgent turns go first.
 *
 *   none ──► busy ◄──► idle ──► none     ended when idle for a while; a worker that dies fails its job, and the next
 *     ▲       │                          job starts another
 *     └───────┘
 *
 * A worker is never ended while it is busy: inside a native library that would abort the whole process.
 */
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../../shared/errors/errors.js';
import { codeOf } from '../../../shared/files/durable.js';
import type { Logger } from '../../../shared/logger.js';
import type { ThreadOutcome } from '../../../shared/process/workerThread.js';
import { BuildProgress, buildOutcomes, Cancelled } from '../progress.js';
import type { SavedGeneration } from '../store/generationFiles.js';
import type { BuildJob, JobMessage } from './buildWorker.js';

const PROGRAM = new URL('./buildWorker.js', import.meta.url);
const IDLE_MS = 10_000;
/** Limits the JavaScript objects; vectors and tables of rows lie outside the heap. */
const WORKER_HEAP_MB = 1_024;

/** Gives the worker a job and resolves to its answer. Throws as `buildOutcomes.unpack`, and an Error where the worker dies. */
export type Ask = (job: BuildJob) => Promise<SavedGeneration>;

export interface Build {
  readonly progress: BuildProgress;
  /** Settles when all work of the turn has ended; rejects as `buildOutcomes.unpack`. Need not be awaited. */
  readonly done: Promise<SavedGeneration>;
  /** Makes `done` reject with Cancelled, unless the work has succeeded. */
  cancel(): void;
}

interface Turn {
  readonly urgent: boolean;
  readonly progress: BuildProgress;
  readonly run: () => Promise<void>;
  readonly reject: (error: Error) => void;
}

export class WorkerLane {
  readonly #queue: Turn[] = [];
  #current: Turn | undefined;
  #running: Promise<void> | undefined;
  #worker: Worker | undefined;
  #asked: { readonly worker: Worker; readonly resolve: (outcome: ThreadOutcome<SavedGeneration>) => void } | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly logger: Logger) {}

  /** Queues `work`; the next turn begins when it has settled. */
  take(urgent: boolean, work: (ask: Ask, progress: BuildProgress) => Promise<SavedGeneration>): Build {
    const progress = new BuildProgress();
    let turn: Turn | undefined;
    const done = new Promise<SavedGeneration>((resolve, reject) => {
      const ask: Ask = (job) => this.#ask(job, progress);
      const run = (): Promise<void> =>
        buildOutcomes
          .pack(() => work(ask, progress))
          .then((outcome) => buildOutcomes.unpack(outcome))
          .then(resolve, reject);
      turn = { urgent, progress, run, reject };
      this.#enqueue(turn);
    });
    done.catch(() => undefined);
    return { progress, done, cancel: () => this.#cancel(turn!) };
  }

  /** Cancels all turns. Resolves when they have settled and the worker has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const turn of [...this.#queue]) this.#cancel(turn);
    if (this.#current !== undefined) this.#cancel(this.#current);
    await this.#running;
    await this.#end();
  }

  #enqueue(turn: Turn): void {
    if (this.#closed) {
      turn.reject(new Cancelled());
      return;
    }
    const firstPatient = turn.urgent ? this.#queue.findIndex(({ urgent }) => !urgent) : -1;
    this.#queue.splice(firstPatient < 0 ? this.#queue.length : firstPatient, 0, turn);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    clearTimeout(this.#idle);
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#current = next;
      await next.run();
      this.#current = undefined;
    }
    this.#running = undefined;
    this.#worker?.unref();
    this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
  }

  /** Removes a turn that waits; the worker notices the cancellation of one that has begun by its progress. */
  #cancel(turn: Turn): void {
    turn.progress.cancel();
    const at = this.#queue.indexOf(turn);
    if (at < 0) return;
    this.#queue.splice(at, 1);
    turn.reject(new Cancelled());
  }

  async #ask(job: BuildJob, progress: BuildProgress): Promise<SavedGeneration> {
    progress.assertWanted();
    this.#worker ??= this.#start();
    const worker = this.#worker;
    worker.ref();
    worker.postMessage({ job, progress: progress.memory } satisfies JobMessage);
    const outcome = await new Promise<ThreadOutcome<SavedGeneration>>((resolve) => {
      this.#asked = { worker, resolve };
    });
    return buildOutcomes.unpack(outcome);
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB } });
    let cause = 'it was ended';
    worker.on('message', (outcome: ThreadOutcome<SavedGeneration>) => this.#finish(worker, outcome));
    worker.on('error', (error) => {
      cause = codeOf(error) ?? messageOf(error).split('\n')[0]!;
      this.logger.error({ error }, 'a thread that builds indexes failed');
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#finish(worker, { ended: 'badly', message: `the build thread died: ${cause}`, detail: cause });
    });
    return worker;
  }

  #finish(worker: Worker, outcome: ThreadOutcome<SavedGeneration>): void {
    if (this.#asked?.worker !== worker) return;
    const { resolve } = this.#asked;
    this.#asked = undefined;
    resolve(outcome);
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}
