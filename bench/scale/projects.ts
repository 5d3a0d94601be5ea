/** Keys of several projects of the measured cluster, since a project has a bounded number of collections. */

import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { createKey } from '../../shared/registry/keys.js';
import type { BenchCluster } from '../cluster.js';
import { Client } from '../httpClient.js';
import { withPlatform } from './platform.js';

/** One client of each of `count` projects. */
export const clientsOfProjects = (cluster: BenchCluster, url: string, count: number): Promise<Client[]> =>
  withPlatform(cluster, async (platform) => {
    const keys = await platform.bucket(BUCKETS.keys);
    const clients: Client[] = [];
    for (let i = 0; i < count; i++) {
      const wanted = { project: `project-${i}`, scope: 'read_write' } as const;
      clients.push(new Client(url, (await createKey(keys, wanted, systemClock, systemEntropy)).key));
    }
    return clients;
  });
