import type { Logger } from '../../shared/logger.js';
import type { IndexKind, IndexParameters } from '../../shared/model/indexSpec.js';
import type { Build } from './builds/buildLane.js';
import { Cancelled } from './progress.js';
import type { SavedGeneration } from './store/generationFiles.js';

const LOG_INTERVAL_MS = 5_000;

interface BuildingFacts {
  readonly number: number;
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  /** True if a caller waits for this build. Such builds come before those of maintenance. */
  readonly requested: boolean;
  readonly startedAtMs: number;
  /** Sequence of the last event that the build includes. */
  readonly baseSequence: number;
}

/** Metric of the duration of a build, or of a load of a saved index. */
export type BuildMetric = 'vouch_index_build_seconds' | 'vouch_index_load_seconds';

/** A generation that is being built, loaded or opened. */
export class Building {
  /** Slots of the rows that died since the build began. The finished generation does not find them. */
  readonly died: number[] = [];
  /** Resolves when the build ends: to the reason of a failure, otherwise to undefined. */
  done: Promise<string | undefined> = Promise.resolve(undefined);
  #build: Build | undefined;
  #cancelled = false;

  constructor(readonly facts: BuildingFacts) {}

  /** Share of the work that is done, 0 to 1. */
  get progress(): number {
    const { done = 0, total = 0 } = this.#build?.progress ?? {};
    return total === 0 ? 0 : Math.min(done / total, 1);
  }

  /** Follows the build in its thread, and cancels it with this one. Returns its files. Throws Cancelled. */
  inThread(build: Build): Promise<SavedGeneration> {
    this.#build = build;
    if (this.#cancelled) build.cancel();
    return build.done;
  }

  cancel(): void {
    this.#cancelled = true;
    this.#build?.cancel();
  }

  /** Throws Cancelled after a cancellation. */
  assertWanted(): void {
    if (this.#cancelled) throw new Cancelled();
  }

  /** Logs the progress every few seconds, until the returned function is called. */
  logProgress(logger: Logger, fields: object): () => void {
    const timer = setInterval(() => {
      logger.info({ ...fields, percent: Math.floor(100 * this.progress) }, 'an index is being built');
    }, LOG_INTERVAL_MS).unref();
    return () => clearInterval(timer);
  }
}
