/** Opens the platform of the measured cluster, as its processes do: messages, buckets and logs. */
import { silentLogger } from '../../shared/logger.js';
import { openCluster } from '../../shared/platform/natsPlatform.js';
import type { Platform } from '../../shared/platform/platform.js';
import type { BenchCluster } from '../cluster.js';

export async function withPlatform<T>(cluster: BenchCluster, work: (platform: Platform) => Promise<T>): Promise<T> {
  const platform = await openCluster({ ...cluster.natsAs('coordinator'), name: 'vouch-bench', logger: silentLogger });
  try {
    return await work(platform);
  } finally {
    await platform.close();
  }
}
