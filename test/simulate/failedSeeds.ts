/**
 * Clusters that have failed once, and the defect that they showed. Each is run by every test. A change of what processes do at
 * rest changes what follows from a seed, which may not come to that defect any more.
 */

export interface FailedSeed {
  readonly seed: number;
  /** Simulated milliseconds under faults. */
  readonly durationMs: number;
  /** Of a calm between storms of faults, on average, in milliseconds; left out: there is none. */
  readonly calmMs?: number;
  /** Kinds of faults that there were. */
  readonly kinds: number;
  readonly defect: string;
}

export const FAILED_SEEDS: readonly FailedSeed[] = [
  {
    seed: 60_004,
    durationMs: 160_000,
    kinds: 21,
    defect: 'a log that a second reading takes for damaged, since the first has applied its frames',
  },
  {
    seed: 3_994,
    durationMs: 120_000,
    kinds: 21,
    defect: 'a shard that starts owns what a server that lags says, after another owner has begun',
  },
  {
    seed: 19_056,
    durationMs: 32_000,
    kinds: 21,
    defect: 'a transfer whose outcome is learned after the collection has gone and come back begins a second owner',
  },
  {
    seed: 75_512,
    durationMs: 100_000,
    kinds: 21,
    defect: 'a service log whose newest checkpoint is lost goes on as if the one with a quorum were not there',
  },
  {
    seed: 80_671,
    durationMs: 120_000,
    kinds: 21,
    defect: 'a shard that starts owns what a NATS server says that leads no more',
  },
  {
    seed: 80_675,
    durationMs: 12_000,
    kinds: 21,
    defect: 'a collection is told as rolled back, since the log has grown after its events were counted',
  },
  {
    seed: 717,
    durationMs: 10_000,
    kinds: 24,
    defect: 'a write is refused because of one in the same commit that is not durable yet',
  },
  {
    seed: 603_018,
    durationMs: 60_000,
    kinds: 26,
    defect: 'a collection is given an owner after its deletion, which takes a write',
  },
  {
    seed: 31_000,
    durationMs: 240_000,
    kinds: 26,
    defect: 'the log of a deleted collection begins anew',
  },
  {
    seed: 220_077,
    durationMs: 12_000,
    calmMs: 75_000,
    kinds: 26,
    defect: 'a collection is told to be missing, since a server that led before has not got it',
  },
  {
    seed: 640_404_524,
    durationMs: 65_000,
    kinds: 26,
    defect: 'what a late append of the owner before brings is given to another collection',
  },
  {
    seed: 106_647_621,
    durationMs: 75_000,
    kinds: 26,
    defect: 'followers show what a former owner has committed after its term, and the next owner does not',
  },
  {
    seed: 500_268,
    durationMs: 78_000,
    kinds: 26,
    defect: 'a log is erased while a shard that has just become its owner writes to it',
  },
  {
    seed: 600_212,
    durationMs: 110_000,
    kinds: 26,
    defect: 'a log whose folder could not be synced when it was made is gone after a loss of power',
  },
  {
    seed: 970_472,
    durationMs: 240_000,
    kinds: 26,
    defect: 'a coordinator that starts lists nothing, since the server that tells it lags',
  },
  {
    seed: 961_008,
    durationMs: 134_000,
    kinds: 26,
    defect: 'a young log is told as one without its beginning, where a server answers that does not know it',
  },
  {
    seed: 615_968_968,
    durationMs: 60_000,
    kinds: 26,
    defect:
      'a coordinator that lags finds a deleted collection, since the deletion was answered before its shard was told',
  },
  {
    seed: 71_001,
    durationMs: 60_000,
    kinds: 27,
    defect: 'a shard opens nothing, since the openings of its ended process could not be counted at its start',
  },
];
