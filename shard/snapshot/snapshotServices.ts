/** Services for snapshots that all collections of one shard share. */
import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import { FairSemaphore } from '../../shared/scheduling/fairSemaphore.js';
import type { ReadThreads } from './readThreads.js';
import type { SnapshotStore } from './snapshotStore.js';

interface SnapshotParts {
  readonly store: SnapshotStore;
  readonly threads: ReadThreads;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Least growth of a log from one snapshot to the next. */
  readonly everyBytes: number;
  /** Time from a failed check of a log until the next try. */
  readonly checkAgainMs?: number | undefined;
}

const CHECK_AGAIN_MS = 10_000;

export type SnapshotServices = ReturnType<typeof snapshotServices>;

/** Services that the collections of one shard share to make snapshots and to open from them. */
export function snapshotServices({ checkAgainMs = CHECK_AGAIN_MS, ...parts }: SnapshotParts) {
  const { metrics, store, clock } = parts;
  const services = {
    ...parts,
    checkAgainMs,
    /** One snapshot is made at a time, since each takes the memory of a state, and a core. */
    turns: new FairSemaphore({ atOnce: 1 }, clock),
    /** One log is checked at a time, since each takes a share of the thread that reads it. */
    checkTurns: new FairSemaphore({ atOnce: 1 }, clock),
    /** Open collections whose log before their snapshot is not verified yet. */
    unchecked: new Set<number>(),
    /** Time at which the newest snapshot of each open collection was made, unix milliseconds. */
    madeAtMs: new Map<number, number>(),
    /** Progress of the collections that are being opened: from 0 to 1. */
    progress: new Map<number, number>(),
  } as const;
  const { madeAtMs, progress, unchecked } = services;
  metrics.gauges(() => ({
    vouch_snapshot_bytes: store.totalBytes,
    vouch_snapshot_age_seconds:
      madeAtMs.size === 0 ? 0 : Math.max(clock.nowMs() - Math.min(...madeAtMs.values()), 0) / 1000,
    vouch_open_progress: Math.min(1, ...progress.values()),
    vouch_log_checks_waiting: unchecked.size,
  }));
  return services;
}
