/**
 * A worker thread that executes one job at a time, and ends after some idle time. If it dies, its job fails, and the next job
 * starts another thread. A busy thread is never terminated: inside a native library that would abort the whole process.
 *
 * ```text
 * none ──a job──▶ busy ◄──▶ idle ──IDLE_MS──▶ none
 *   ▲              │
 *   └────dies──────┘
 * ```
 */
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../../shared/errors/errors.js';
import { codeOf } from '../../../shared/files/durable.js';
import type { Logger } from '../../../shared/logger.js';
import type { ThreadOutcome } from '../../../shared/process/workerThread.js';
import { type BuildProgress, buildOutcomes } from '../progress.js';
import type { SavedGeneration } from '../store/generationFiles.js';
import type { BuildJob, JobMessage } from './buildWorker.js';

const PROGRAM = new URL('./buildWorker.js', import.meta.url);
const IDLE_MS = 10_000;
/** Limit of the thread's JavaScript heap. Vectors and tables of rows are outside of it. */
const WORKER_HEAP_MB = 1_024;

export class JobThread {
  #worker: Worker | undefined;
  #answer: ((outcome: ThreadOutcome<SavedGeneration>) => void) | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  /**
   * Executes a job. The previous one must have ended. Throws errors of `buildOutcomes.unpack`, and an Error if the thread
   * dies.
   */
  async ask(job: BuildJob, progress: BuildProgress): Promise<SavedGeneration> {
    progress.assertNotCancelled();
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage({ job, progress: progress.memory } satisfies JobMessage);
    const outcome = await new Promise<ThreadOutcome<SavedGeneration>>((resolve) => {
      this.#answer = resolve;
    });
    this.#worker?.unref();
    this.#idle = setTimeout(() => void this.end(), IDLE_MS).unref();
    return buildOutcomes.unpack(outcome);
  }

  /** Ends the thread, which must be idle. */
  async end(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB } });
    let cause = 'it was ended';
    worker.on('message', (outcome: ThreadOutcome<SavedGeneration>) => this.#finish(outcome));
    worker.on('error', (error) => {
      cause = codeOf(error) ?? messageOf(error).split('\n')[0]!;
      this.logger.error({ error }, 'a thread that builds indexes failed');
    });
    worker.on('exit', () => {
      // Another worker may have replaced it.
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#finish({ ended: 'badly', message: `the build thread died: ${cause}`, detail: cause });
    });
    return worker;
  }

  #finish(outcome: ThreadOutcome<SavedGeneration>): void {
    const answer = this.#answer;
    this.#answer = undefined;
    answer?.(outcome);
  }
}
