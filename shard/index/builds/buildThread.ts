/**
 * Builds generations, and reads and completes their files, outside the shard's event loop. Builds and files have separate
 * lanes, so that loading an index at a restart does not wait for the build of another collection.
 */
import { messageOf } from '../../../shared/errors/errors.js';
import { codeOf, deleteTree, makeDirectory } from '../../../shared/files/durable.js';
import type { Metrics } from '../../../shared/metrics/metrics.js';
import type { SavedGeneration } from '../store/generationFiles.js';
import type { GenerationFacts } from '../store/manifest.js';
import type { RowsToSave } from '../store/rowsFile.js';
import type { GenerationOrder } from './buildGeneration.js';
import { type Build, BuildLane, type LaneOptions } from './buildLane.js';
import type { TurnRules } from './buildTurns.js';

/**
 * Rules for builds. Each place may use the memory of an index. A build on trial gets at least a sixth of the time, so a
 * place becomes free within half a minute.
 */
const BUILD_RULES: TurnRules = { places: 4, longPlaces: 3, longPlacesOfProject: 2, trialMs: 5_000, turnMs: 500 };
/** Rules for files, which are read or written in a few seconds at most. */
const FILE_RULES: TurnRules = { ...BUILD_RULES, trialMs: Number.POSITIVE_INFINITY };

interface Options extends Omit<LaneOptions, 'onBegin'> {
  readonly metrics: Metrics;
  readonly rules?: TurnRules;
  /** See `BuildOrder`. */
  readonly graphBytesMax?: number | undefined;
}

export class BuildThread {
  readonly #builds: BuildLane;
  readonly #files: BuildLane;

  constructor(private readonly options: Options) {
    const { metrics, rules = BUILD_RULES } = options;
    const onBegin: LaneOptions['onBegin'] = ({ urgent }, waitedMs) =>
      metrics.observe(
        'vouch_index_build_wait_seconds',
        { why: urgent ? 'requested' : 'maintenance' },
        waitedMs / 1_000,
      );
    this.#builds = new BuildLane(rules, { ...options, onBegin });
    this.#files = new BuildLane(FILE_RULES, options);
    metrics.gauges(() => ({ vouch_index_builds: this.#builds.counts }));
  }

  /**
   * Queues a build. Until `done` settles, no row of the order's blocks may be overwritten. `done` rejects with
   * DamagedGeneration if the base is damaged. After that the folder of the new generation is complete, or removed.
   */
  build(order: GenerationOrder, { project, urgent }: { readonly project: string; readonly urgent: boolean }): Build {
    const { collectionId } = order.facts;
    return this.#builds.take({ project, collectionId, urgent }, async (ask, progress) => {
      if (!(await makeDirectory(order.folder))) throw new Error('the folder of the generation already exists');
      return this.#orRemove(order.folder, async () => {
        const { graphBytesMax } = this.options;
        const saved = await ask({ op: 'build', order: { ...order, graphBytesMax } });
        progress.assertNotCancelled();
        return saved;
      });
    });
  }

  /** Compares payload and rows with the manifest. Throws DamagedGeneration, `unavailable` and Cancelled. */
  async verify(saved: SavedGeneration, project: string): Promise<void> {
    const { collectionId } = saved.facts;
    await this.#files.take({ project, collectionId, urgent: true }, (ask) => ask({ op: 'verify', saved })).done;
  }

  /** Writes rows and manifest beside the payload in `folder`. Removes the folder on failure. */
  complete(
    facts: GenerationFacts,
    project: string,
    folder: string,
    { recordIds, leftOut }: RowsToSave,
  ): Promise<SavedGeneration> {
    // A typed array is copied to the other thread much faster than a set of numbers.
    const rows = { recordIds, leftOut: Uint32Array.from(leftOut) };
    const { collectionId } = facts;
    const complete = this.#files.take({ project, collectionId, urgent: true }, (ask) =>
      this.#orRemove(folder, () => ask({ op: 'complete', facts, folder, rows })),
    );
    return complete.done;
  }

  /** Cancels all work. Resolves when it and all threads have ended. */
  async close(): Promise<void> {
    await Promise.all([this.#builds.close(), this.#files.close()]);
  }

  async #orRemove<T>(folder: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await deleteTree(folder).catch((failure: unknown) => {
        if (codeOf(failure) !== 'ENOENT')
          this.options.logger.warn(
            { folder, error: messageOf(failure) },
            'the files of a failed build could not be removed',
          );
      });
      throw error;
    }
  }
}
