import type { IndexKind, IndexParameters } from '../../shared/indexSpec.js';
import type { Build } from './build/buildThread.js';
import { Cancelled } from './build/progress.js';
import type { SavedGeneration } from './store/generationFiles.js';

export interface BuildingFacts {
  readonly number: number;
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  /** Somebody asked for it, and wants to be told; the others come of maintenance and give way. */
  readonly asked: boolean;
  readonly startedAtMs: number;
  readonly baseSequence: number;
}

/** A generation on its way: being built, loaded or opened. */
export class Building {
  /** Slots that died since its rows were looked up. */
  readonly died: number[] = [];
  /** Resolves when it has ended, one way or the other: with why it failed, where it did. */
  done: Promise<string | undefined> = Promise.resolve(undefined);
  #build: Build | undefined;
  #cancelled = false;

  constructor(readonly facts: BuildingFacts) {}

  /** Of all work: 0 to 1. */
  get progress(): number {
    const { done = 0, total = 0 } = this.#build?.progress ?? {};
    return total === 0 ? 0 : Math.min(done / total, 1);
  }

  /** Waits for the build thread. Throws Cancelled. */
  inThread(build: Build): Promise<SavedGeneration> {
    this.#build = build;
    if (this.#cancelled) build.cancel();
    return build.done;
  }

  cancel(): void {
    this.#cancelled = true;
    this.#build?.cancel();
  }

  assertWanted(): void {
    if (this.#cancelled) throw new Cancelled();
  }
}
