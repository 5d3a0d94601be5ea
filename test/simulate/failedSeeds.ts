/**
 * Clusters that have failed once, with the defect that they showed; the long tests run each of them. Changing how idle
 * processes behave may keep a seed from reaching its defect.
 */

export interface FailedSeed {
  readonly seed: number;
  /** Simulated time under faults, in milliseconds. */
  readonly durationMs: number;
  /** Mean length of a calm between storms of faults, in milliseconds; without it, no calms. */
  readonly calmMs?: number;
  /** Number of fault kinds that existed then. */
  readonly kinds: number;
  readonly defect: string;
}

export const FAILED_SEEDS: readonly FailedSeed[] = [
  {
    seed: 60_004,
    durationMs: 160_000,
    kinds: 21,
    defect: 'a second read of a log reports damage, because the first has already applied its frames',
  },
  {
    seed: 3_994,
    durationMs: 120_000,
    kinds: 21,
    defect: 'a starting shard trusts a stale replica and owns a collection that already has another owner',
  },
  {
    seed: 19_056,
    durationMs: 32_000,
    kinds: 21,
    defect: 'a transfer whose outcome arrives after the collection went and came back starts a second owner',
  },
  {
    seed: 75_512,
    durationMs: 100_000,
    kinds: 21,
    defect: 'a service log that lost its newest checkpoint ignores the older one that has a quorum',
  },
  {
    seed: 80_671,
    durationMs: 120_000,
    kinds: 21,
    defect: 'a starting shard owns what a stale replica of NATS says',
  },
  {
    seed: 80_675,
    durationMs: 12_000,
    kinds: 21,
    defect: 'a collection is reported as rolled back, because its log grew after its events were counted',
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
    defect: 'a deleted collection gets an owner, which accepts a write',
  },
  {
    seed: 31_000,
    durationMs: 240_000,
    kinds: 26,
    defect: 'the log of a deleted collection restarts',
  },
  {
    seed: 220_077,
    durationMs: 12_000,
    calmMs: 75_000,
    kinds: 26,
    defect: 'a collection is reported missing, because a stale replica does not have it',
  },
  {
    seed: 640_404_524,
    durationMs: 65_000,
    kinds: 26,
    defect: 'a late append of the previous owner ends up in another collection',
  },
  {
    seed: 106_647_621,
    durationMs: 75_000,
    kinds: 26,
    defect: 'followers show a commit that a former owner made after its ownership, and the next owner does not',
  },
  {
    seed: 500_268,
    durationMs: 78_000,
    kinds: 26,
    defect: 'a log is erased while its new owner writes to it',
  },
  {
    seed: 600_212,
    durationMs: 110_000,
    kinds: 26,
    defect: 'a log whose folder failed to sync at creation is gone after a power loss',
  },
  {
    seed: 970_472,
    durationMs: 240_000,
    kinds: 26,
    defect: 'a starting coordinator lists nothing, because it reads from a stale replica',
  },
  {
    seed: 961_008,
    durationMs: 134_000,
    kinds: 26,
    defect: 'a young log is reported without its beginning, because a server that does not know it answers',
  },
  {
    seed: 615_968_968,
    durationMs: 60_000,
    kinds: 26,
    defect:
      'a lagging coordinator finds a deleted collection: the deletion was answered before its shard learned of it',
  },
  {
    seed: 71_001,
    durationMs: 60_000,
    kinds: 27,
    defect: 'a shard opens nothing, because it could not count the openings of its ended process at its start',
  },
  {
    seed: 352_759_206,
    durationMs: 60_000,
    kinds: 27,
    defect: 'a list at another coordinator takes back the audit_reads of a creation whose log has not begun',
  },
];
