/** Several nats-servers of this machine that make one cluster: who they are, where each keeps its data, and their routes. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../shared/durable.js';
import type { NatsBinary } from './binary.js';
import { planServer, type ServerPlan } from './serverPlan.js';

/** What one server listens on; all different. */
export interface ServerPorts {
  readonly client: number;
  /** For the other servers. */
  readonly route: number;
  /** For its pages about itself; undefined: it has none. */
  readonly monitor: number | undefined;
}

const HOST = '127.0.0.1';
const CLUSTER = 'vouch';
/** What a lone server keeps its data under, beside its configuration. */
const LONE_STORE = 'store';

export const serverNames = (count: number): string[] => Array.from({ length: count }, (_, i) => `n${i + 1}`);

/** Their data can be held by as many, and more than three copies cost more than they save. */
export const replicasFor = (servers: number): number => Math.min(3, servers);

/**
 * Plans as many servers as there are `ports`: a lone one with its data right in `dataDir`, several each in a folder there.
 * Throws an Error of one line where the data is that of another number of servers, or a port is in use.
 */
export async function planServers(
  binary: NatsBinary,
  dataDir: string,
  ports: readonly ServerPorts[],
): Promise<ServerPlan[]> {
  await assertSameServers(dataDir, ports.length);
  const names = serverNames(ports.length);
  const plan = (i: number): Promise<ServerPlan> => {
    const { client: port, monitor: monitorPort, route } = ports[i] as ServerPorts;
    const options = { binary, port, monitorPort, log: 'stderr' } as const;
    if (ports.length === 1) return planServer({ ...options, dataDir });
    const name = names[i] as string;
    const routes = ports.filter((_, other) => other !== i).map((other) => `${HOST}:${other.route}`);
    const cluster = { name: CLUSTER, host: HOST, port: route, routes };
    return planServer({ ...options, dataDir: join(dataDir, name), name, cluster });
  };
  return Promise.all(ports.map((_, i) => plan(i)));
}

/** Other servers would begin with nothing, or never find their majority, over data that is there. */
async function assertSameServers(dataDir: string, count: number): Promise<void> {
  const found = await entriesOf(dataDir);
  const clustered = found.filter((name) => /^n\d+$/.test(name)).length;
  const before = clustered > 0 ? clustered : found.includes(LONE_STORE) ? 1 : count;
  if (before !== count)
    throw new Error(
      `${dataDir} holds the data of ${before} NATS server${before === 1 ? '' : 's'}, not of ${count}; start as many, or set another data folder`,
    );
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}
