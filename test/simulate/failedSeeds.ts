/**
 * Clusters that have failed once, and the defect that they showed. Each is run by every test. A change of what processes do at
 * rest changes what follows from a seed, which may not come to that defect any more.
 */

export interface FailedSeed {
  readonly seed: number;
  /** Simulated milliseconds under faults. */
  readonly durationMs: number;
  readonly defect: string;
}

export const FAILED_SEEDS: readonly FailedSeed[] = [
  {
    seed: 60_004,
    durationMs: 160_000,
    defect: 'a log that a second reading takes for damaged, since the first has applied its frames',
  },
  {
    seed: 3_994,
    durationMs: 120_000,
    defect: 'a shard that starts owns what a server that lags says, after another owner has begun',
  },
];
