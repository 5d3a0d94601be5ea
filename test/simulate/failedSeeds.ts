/** Clusters that have failed once, and the defect that they showed. Each is run by every test. */

export interface FailedSeed {
  readonly seed: number;
  /** Simulated milliseconds under faults. */
  readonly durationMs: number;
  readonly defect: string;
}

export const FAILED_SEEDS: readonly FailedSeed[] = [];
