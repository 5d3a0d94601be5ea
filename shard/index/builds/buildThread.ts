/**
 * Builds generations, and reads and completes their files, beside the thread that answers requests. Builds have one
 * thread and files another, so that a restart does not wait for the build of another collection.
 */
import { messageOf } from '../../../shared/errors/errors.js';
import { codeOf, deleteTree, makeDirectory } from '../../../shared/files/durable.js';
import type { Logger } from '../../../shared/logger.js';
import type { SavedGeneration } from '../store/generationFiles.js';
import type { GenerationFacts } from '../store/manifest.js';
import type { RowsToSave } from '../store/rowsFile.js';
import type { GenerationOrder } from './buildGeneration.js';
import { type Build, WorkerLane } from './workerLane.js';

export class BuildThread {
  readonly #builds: WorkerLane;
  readonly #files: WorkerLane;

  constructor(private readonly logger: Logger) {
    this.#builds = new WorkerLane(logger);
    this.#files = new WorkerLane(logger);
  }

  /**
   * Starts a build; urgent builds go first. Until `done` has settled, no slot of the order's blocks may be overwritten.
   * `done` rejects with DamagedGeneration where the base is damaged; the folder is then complete or removed.
   */
  build(order: GenerationOrder, { urgent }: { readonly urgent: boolean }): Build {
    return this.#builds.take(urgent, async (ask, progress) => {
      if (!(await makeDirectory(order.folder))) throw new Error('the generation is there already');
      return this.#orRemove(order.folder, async () => {
        const saved = await ask({ op: 'build', order });
        progress.assertWanted();
        return saved;
      });
    });
  }

  /** Reads both files through. Throws DamagedGeneration where they do not match the manifest; Cancelled. */
  async verify(saved: SavedGeneration): Promise<void> {
    await this.#files.take(true, (ask) => ask({ op: 'verify', saved })).done;
  }

  /** Completes a generation whose payload is in `folder`, durable or not. Removes the folder where that fails. */
  seal(facts: GenerationFacts, folder: string, { recordIds, leftOut }: RowsToSave): Promise<SavedGeneration> {
    // A typed array is copied to the other thread much faster than a set of numbers.
    const rows = { recordIds, leftOut: Uint32Array.from(leftOut) };
    const seal = this.#files.take(true, (ask) =>
      this.#orRemove(folder, () => ask({ op: 'seal', facts, folder, rows })),
    );
    return seal.done;
  }

  /** Cancels everything. Resolves when all work and both threads have ended. */
  async close(): Promise<void> {
    await Promise.all([this.#builds.close(), this.#files.close()]);
  }

  async #orRemove<T>(folder: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await deleteTree(folder).catch((failure: unknown) => {
        if (codeOf(failure) !== 'ENOENT')
          this.logger.warn({ folder, error: messageOf(failure) }, 'the files of a failed build could not be removed');
      });
      throw error;
    }
  }
}
