/** The services of both modes that are attacked, with keys for any project. */
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { silentLogger } from '../../shared/logger.js';
import { openRegistryBucket } from '../../shared/platform/standalonePlatform.js';
import { createKey } from '../../shared/registry/keys.js';
import { BenchCluster } from '../cluster.js';
import { withPlatform } from '../scale/platform.js';
import { type Mode, StartedService } from '../startedService.js';

export interface AttackedService {
  readonly url: string;
  /** A key of scope `admin`. */
  readonly newKey: (project: string) => Promise<string>;
  readonly stop: () => Promise<void>;
}

type Keys = Parameters<typeof createKey>[0];

const keyOf = async (keys: Keys, project: string): Promise<string> =>
  (await createKey(keys, { project, scope: 'admin' }, systemClock, systemEntropy)).key;

/** A cluster has one shard, which serves attacker and attacked. */
export const startAttacked = (mode: Mode): Promise<AttackedService> =>
  mode === 'cluster' ? startCluster() : startStandalone();

async function startCluster(): Promise<AttackedService> {
  const { cluster, url } = await BenchCluster.start({ VOUCH_SHARDS: '1' });
  return {
    url,
    newKey: (project) => withPlatform(cluster, async (platform) => keyOf(await platform.bucket(BUCKETS.keys), project)),
    stop: () => cluster.stop(),
  };
}

async function startStandalone(): Promise<AttackedService> {
  const service = await StartedService.start('standalone');
  return {
    url: service.url,
    newKey: async (project) => {
      const keys = await openRegistryBucket({ dataDir: service.dataDir, logger: silentLogger }, BUCKETS.keys);
      try {
        return await keyOf(keys, project);
      } finally {
        await keys.close();
      }
    },
    stop: () => service.stop(),
  };
}
