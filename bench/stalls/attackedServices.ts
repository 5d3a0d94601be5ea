/** The services of both modes that are attacked, with keys for any project. */
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { BenchCluster } from '../cluster.js';
import { withPlatform } from '../scale/platform.js';
import { adminKey, type Mode, StartedService } from '../startedService.js';

export interface AttackedService {
  readonly url: string;
  /** A key of scope `admin`. */
  readonly newKey: (project: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** A cluster has one shard, which serves attacker and attacked. */
export const startAttacked = (mode: Mode): Promise<AttackedService> =>
  mode === 'cluster' ? startCluster() : startStandalone();

async function startCluster(): Promise<AttackedService> {
  const { cluster, url } = await BenchCluster.start({ VOUCH_SHARDS: '1' });
  return {
    url,
    newKey: (project) =>
      withPlatform(cluster, async (platform) => adminKey(await platform.bucket(BUCKETS.keys), project)),
    stop: () => cluster.stop(),
  };
}

async function startStandalone(): Promise<AttackedService> {
  const service = await StartedService.start('standalone');
  return {
    url: service.url,
    newKey: (project) => service.newKey(project),
    stop: () => service.stop(),
  };
}
