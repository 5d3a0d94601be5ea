/** Snapshot services of a shard, over a folder of a test. */
import { ReadThreads } from '../../../shard/snapshot/readThreads.js';
import { type SnapshotServices, snapshotServices } from '../../../shard/snapshot/snapshotServices.js';
import { SnapshotStore } from '../../../shard/snapshot/snapshotStore.js';
import { systemClock } from '../../../shared/clock.js';
import { silentLogger } from '../../../shared/logger.js';
import { Metrics } from '../../../shared/metrics/metrics.js';

export interface TestSnapshots extends SnapshotServices {
  /** Damages found, oldest first. */
  readonly damages: readonly string[];
}

/** `everyBytes`: growth of the log between two snapshots; without it, none are made. */
export async function snapshotsIn(
  folder: string,
  {
    everyBytes = Number.MAX_SAFE_INTEGER,
    keep = 3,
    checkAgainMs,
  }: { everyBytes?: number; keep?: number; checkAgainMs?: number } = {},
): Promise<TestSnapshots> {
  const damages: string[] = [];
  const services = snapshotServices({
    store: await SnapshotStore.open(folder, keep, silentLogger, ({ reason }) => damages.push(reason)),
    threads: new ReadThreads(),
    metrics: new Metrics('shard'),
    clock: systemClock,
    logger: silentLogger,
    everyBytes,
    checkAgainMs,
  });
  return Object.assign(services, { damages });
}
