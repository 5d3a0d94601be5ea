/** Cost of a collection without a write: while it is made, and at the next start. */
import type { BenchCluster } from './cluster.js';
import type { Client } from './httpClient.js';
import { runLoad } from './httpLoad.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { residentBytes } from './processMemory.js';
import { rowAbout } from './row.js';

const IN_FLIGHT = 8;
const DIMENSION = 128;

export const benchEmptyCollections = (client: Client, cluster: BenchCluster, { emptyCollections: count }: Sizes) =>
  measured('collections', 2, async (progress) => {
    const row = rowAbout('http');
    // The first collections also allocate memory that a process needs once.
    await create(client, 'warm-up', count);
    progress.advance(1);
    const before = await memoryByKind(cluster);
    const seconds = await create(client, 'empty', count);
    const after = await memoryByKind(cluster);
    progress.advance(1);
    const memory = [...after].map(([kind, bytes]) => {
      const grownBytes = bytes - (before.get(kind) ?? 0);
      return row(`memory of an empty collection, ${kind}`, grownBytes / count / 1024, 'KiB');
    });
    return [row(`create collection, ${IN_FLIGHT} in flight`, count / seconds, 'requests/s'), ...memory];
  });

/** Creates collections, and returns the seconds that took. */
async function create(client: Client, prefix: string, collections: number): Promise<number> {
  const request = (i: number): Buffer =>
    client.request('/v1/namespaces', { name: `${prefix}-${i}`, dimension: DIMENSION, metric: 'squared_l2' });
  return (await runLoad({ ...client.address, inFlight: IN_FLIGHT, requests: collections, request })).seconds;
}

/** Resident bytes of the coordinator, of all shards together, and of nats-server. */
async function memoryByKind(cluster: BenchCluster): Promise<Map<string, number>> {
  const byKind = new Map<string, number>();
  for (const [name, bytes] of await residentBytes(await cluster.processIds())) {
    const kind = name.startsWith('shard') ? 'shards' : name;
    byKind.set(kind, (byKind.get(kind) ?? 0) + bytes);
  }
  return byKind;
}
