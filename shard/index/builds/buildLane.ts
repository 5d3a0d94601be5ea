/**
 * Runs builds, one at a time, in the turns of `buildTurns.ts`. Each started build has a thread. During the turns of other
 * builds that thread sleeps between two steps, and keeps its memory.
 */
import type { Clock } from '../../../shared/clock.js';
import type { Logger } from '../../../shared/logger.js';
import type { ThreadOutcome } from '../../../shared/process/workerThread.js';
import { BuildProgress, buildOutcomes, Cancelled } from '../progress.js';
import type { SavedGeneration } from '../store/generationFiles.js';
import { BuildTurns, type TurnJob, type TurnRules } from './buildTurns.js';
import type { BuildJob } from './buildWorker.js';
import { JobThread } from './jobThread.js';

/** Sends a job to the build's thread, and returns the answer. Throws like `JobThread.ask`. */
export type Ask = (job: BuildJob) => Promise<SavedGeneration>;

export interface Build {
  /** Another object after a restart of the build. */
  readonly progress: BuildProgress;
  /** Settles when all work has ended. Rejects with an error of `buildOutcomes.unpack`, which need not be handled. */
  readonly done: Promise<SavedGeneration>;
  /** Cancels the build. `done` rejects with Cancelled unless the work has already succeeded. */
  cancel(): void;
}

/** The work of a build. It may be run again after it threw Cancelled. */
type Work = (ask: Ask, progress: BuildProgress) => Promise<SavedGeneration>;

interface Job extends TurnJob {
  readonly work: Work;
  readonly orderedMs: number;
  readonly resolve: (saved: SavedGeneration) => void;
  readonly reject: (error: unknown) => void;
  progress: BuildProgress;
  /** Current run; undefined before the first turn. */
  run: Promise<void> | undefined;
  /** False after `cancel`. */
  isWanted: boolean;
  /** Whether the run is cancelled only to restart later. */
  isToRestart: boolean;
}

export interface LaneOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether there is memory for one more build beside those that have begun. */
  readonly hasRoom?: () => boolean;
  /** Called at the first turn of each run. `waitedMs`: time since the build was ordered. */
  readonly onBegin?: (job: TurnJob, waitedMs: number) => void;
}

export class BuildLane {
  readonly #turns: BuildTurns<Job>;
  readonly #jobs = new Set<Job>();
  readonly #idle: JobThread[] = [];
  /** Build whose turn it is, and the start of that turn. */
  #current: { readonly job: Job; readonly sinceMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    rules: TurnRules,
    private readonly options: LaneOptions,
  ) {
    this.#turns = new BuildTurns(rules, options.clock, options.hasRoom);
  }

  /** Numbers of builds that run, that are paused, and that wait for their first turn. */
  get counts(): { readonly running: number; readonly paused: number; readonly waiting: number } {
    const { begun, waiting } = this.#turns.counts;
    const running = this.#current === undefined ? 0 : 1;
    return { running, paused: begun - running, waiting };
  }

  /** Queues `work`, which runs in its turns. */
  take(turn: TurnJob, work: Work): Build {
    let job: Job | undefined;
    const done = new Promise<SavedGeneration>((resolve, reject) => {
      const orderedMs = this.options.clock.monotonicMs();
      const state = { progress: new BuildProgress(), run: undefined, isWanted: true, isToRestart: false };
      job = { ...turn, ...{ work, orderedMs, resolve, reject }, ...state };
      if (this.#closed) return reject(new Cancelled());
      this.#jobs.add(job);
      this.#turns.add(job);
      this.#switch();
    });
    done.catch(() => undefined);
    const ordered = job!;
    return {
      get progress() {
        return ordered.progress;
      },
      done,
      cancel: () => this.#cancel(ordered),
    };
  }

  /** Cancels all builds. Resolves when they have settled and the threads have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    const runs = [...this.#jobs].map(({ run }) => run);
    for (const job of this.#jobs) this.#cancel(job);
    await Promise.all(runs);
    clearTimeout(this.#timer);
    await Promise.all(this.#idle.splice(0).map((thread) => thread.end()));
  }

  /** Resumes the build whose turn is next, until the end of its turn. */
  #switch(): void {
    const before = this.#charge();
    const job = this.#turns.next();
    if (before !== job) before?.progress.pause();
    clearTimeout(this.#timer);
    if (job === undefined) return;
    this.#current = { job, sinceMs: this.options.clock.monotonicMs() };
    // The build's thread keeps the process alive, so the timer need not.
    this.#timer = setTimeout(() => this.#switch(), this.#turns.leftMs(job)).unref();
    job.progress.resume();
    job.run ??= this.#run(job);
  }

  /** Ends the current turn, and returns its build. A build that has become long is cancelled if too many long ones have begun. */
  #charge(): Job | undefined {
    if (this.#current === undefined) return undefined;
    const { job, sinceMs } = this.#current;
    this.#current = undefined;
    if (this.#turns.spend(job, this.options.clock.monotonicMs() - sinceMs)) return job;
    job.isToRestart = true;
    job.progress.cancel();
    return job;
  }

  /** Runs a job. Never rejects. */
  async #run(job: Job): Promise<void> {
    const { options } = this;
    const { progress } = job;
    options.onBegin?.(job, options.clock.monotonicMs() - job.orderedMs);
    const thread = this.#idle.pop() ?? new JobThread(options.logger);
    const outcome = await buildOutcomes.pack(() => job.work((asked) => thread.ask(asked, progress), progress));
    this.#idle.push(thread);
    if (this.#current?.job === job) this.#charge();
    const isCancelled = outcome.ended === 'thrown' && outcome.name === Cancelled.name;
    if (isCancelled && job.isToRestart && job.isWanted) this.#restart(job);
    else this.#settle(job, outcome);
    this.#switch();
  }

  #restart(job: Job): void {
    this.options.logger.info(
      { collection: job.collectionId },
      'a build of an index takes long; it waits for other long builds, and then restarts',
    );
    Object.assign(job, { progress: new BuildProgress(), run: undefined, isToRestart: false });
    this.#turns.again(job);
  }

  #settle(job: Job, outcome: ThreadOutcome<SavedGeneration>): void {
    this.#jobs.delete(job);
    this.#turns.remove(job);
    try {
      job.resolve(buildOutcomes.unpack(outcome));
    } catch (error) {
      job.reject(error);
    }
  }

  #cancel(job: Job): void {
    job.isWanted = false;
    job.progress.cancel();
    if (!this.#jobs.has(job)) return;
    if (job.run !== undefined) this.#turns.ending(job);
    else this.#settle(job, { ended: 'thrown', name: Cancelled.name, message: '' });
    this.#switch();
  }
}
