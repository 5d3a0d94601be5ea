/** What a collection costs that nobody has written to: while it is made, and at the next start. */
import type { BenchCluster } from './cluster.js';
import type { Service } from './http.js';
import { runLoad } from './httpLoad.js';
import type { Sizes } from './options.js';
import { residentBytes } from './processMemory.js';
import type { Row } from './row.js';

const IN_FLIGHT = 8;
const DIMENSION = 128;

export async function benchEmptyCollections({ cluster, client }: Service, { emptyCollections }: Sizes): Promise<Row[]> {
  const row = (name: string, value: number, unit: string): Row => ({ part: 'http', name, value, unit });
  const create = (prefix: string) => async (): Promise<number> => {
    const request = (i: number): Buffer =>
      client.request('/v1/namespaces', { name: `${prefix}${i}`, dimension: DIMENSION, metric: 'squared_l2' });
    const load = { ...client.address, inFlight: IN_FLIGHT, requests: emptyCollections, request };
    return emptyCollections / (await runLoad(load)).seconds;
  };
  // The first ones also make room for whatever a process needs to make collections at all.
  await create('warm-up-')();
  const before = await memoryByKind(cluster);
  const perSecond = await create('empty-')();
  const after = await memoryByKind(cluster);
  const rows = [...after].map(([kind, bytes]) =>
    row(`memory of an empty collection, ${kind}`, (bytes - (before.get(kind) ?? 0)) / emptyCollections / 1024, 'KiB'),
  );
  return [row('create collection, 8 in flight', perSecond, 'requests/s'), ...rows];
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
