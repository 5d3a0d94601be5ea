/**
 * Where generations are built, and their files read through: beside the thread that answers requests. Builds have one
 * thread, and reading and completing files another, since a restart must not wait for the build of another collection.
 */
import { codeOf, deleteTree, makeDirectory } from '../../../shared/durable.js';
import { messageOf } from '../../../shared/errors.js';
import type { Logger } from '../../../shared/logger.js';
import type { SavedGeneration } from '../store/generationFiles.js';
import type { RowsToSave } from '../store/rowsFile.js';
import type { BuildJob } from './buildWorker.js';
import type { FilesJob } from './filesWorker.js';
import type { GenerationFacts, GenerationOrder } from './order.js';
import { answerOf, outcomeOf } from './outcome.js';
import { Progress } from './progress.js';
import { type Ask, WorkerLane } from './workerLane.js';

export interface Build {
  readonly progress: Progress;
  /**
   * Settles when nothing of the build is under way any more; its folder is then complete or gone. Rejects with Cancelled;
   * with DamagedGeneration where the base is damaged; else with an Error of one line that names no path and has the whole
   * story as its cause.
   */
  readonly done: Promise<SavedGeneration>;
  /** Noticed by the worker where it calls `Progress.advance`, and between its other steps. */
  cancel(): void;
}

export class BuildThread {
  readonly #builds: WorkerLane<BuildJob, SavedGeneration>;
  readonly #files: WorkerLane<FilesJob, SavedGeneration>;

  constructor(private readonly logger: Logger) {
    this.#builds = new WorkerLane(new URL('./buildWorker.js', import.meta.url), logger);
    this.#files = new WorkerLane(new URL('./filesWorker.js', import.meta.url), logger);
  }

  /** Until `done` has settled, no slot of the order's blocks may be overwritten. What is urgent is built first. */
  build(order: GenerationOrder, { urgent }: { readonly urgent: boolean }): Build {
    const progress = new Progress();
    const { done, cancel } = this.#builds.take(
      (ask) =>
        this.#settled(async () => {
          if (!(await makeDirectory(order.folder))) throw new Error('the generation is there already');
          return this.#orRemoved(order.folder, async () => {
            const saved = await ask({ order, progress: progress.memory });
            progress.assertWanted();
            return saved;
          });
        }),
      { urgent, stop: () => progress.cancel() },
    );
    return { progress, done, cancel };
  }

  /** Reads both files through. Throws DamagedGeneration where they are not what the manifest says; Cancelled. */
  async verify(saved: SavedGeneration): Promise<void> {
    await this.#ask((ask, progress) => ask({ op: 'verify', saved, progress }));
  }

  /** Completes a generation whose payload is in `folder`, durable or not; where it fails, the folder goes. */
  seal(facts: GenerationFacts, folder: string, rows: RowsToSave): Promise<SavedGeneration> {
    const { recordIds } = rows;
    // Typed arrays pass between threads as they are; a set of many numbers takes its time.
    const leftOut = Uint32Array.from(rows.leftOut);
    return this.#ask((ask, progress) =>
      this.#orRemoved(folder, () => ask({ op: 'seal', facts, folder, rows: { recordIds, leftOut }, progress })),
    );
  }

  /** Cancels everything. Resolves when nothing is under way any more and the threads have ended. */
  async close(): Promise<void> {
    await Promise.all([this.#builds.close(), this.#files.close()]);
  }

  #ask(
    work: (ask: Ask<FilesJob, SavedGeneration>, progress: SharedArrayBuffer) => Promise<SavedGeneration>,
  ): Promise<SavedGeneration> {
    const progress = new Progress();
    const stop = (): void => progress.cancel();
    return this.#files.take((ask) => work(ask, progress.memory), { urgent: true, stop }).done;
  }

  /** Errors of this thread's part of the work look like those of the worker's. */
  async #settled<T>(work: () => Promise<T>): Promise<T> {
    return answerOf(await outcomeOf(work));
  }

  async #orRemoved<T>(folder: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await deleteTree(folder).catch((failure: unknown) => {
        if (codeOf(failure) !== 'ENOENT')
          this.logger.warn({ folder, error: messageOf(failure) }, 'what a failed build left could not be removed');
      });
      throw error;
    }
  }
}
