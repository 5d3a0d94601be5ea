/** The cluster that is measured, as its processes see it. */
import { silentLogger } from '../../../shared/logger.js';
import { openCluster } from '../../../shared/natsPlatform.js';
import type { Platform } from '../../../shared/platform.js';
import type { BenchCluster } from '../cluster.js';

/** As the cluster has them unless it is told otherwise. */
const LAYOUT = { replicas: 1, logStreams: 4 } as const;

export async function withPlatform<T>(cluster: BenchCluster, work: (platform: Platform) => Promise<T>): Promise<T> {
  const url = await cluster.natsUrl();
  const platform = await openCluster({ url, name: 'vouch-bench', logger: silentLogger, ...LAYOUT });
  try {
    return await work(platform);
  } finally {
    await platform.close();
  }
}
