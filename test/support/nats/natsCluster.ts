/** Three nats-servers in one cluster, each killed and restarted at will. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'nats';
import { findNatsServer } from '../../../scripts/local/natsServer/find.js';
import { eventually } from '../expectations.js';
import { freePort } from '../launch/freePort.js';
import { NatsServer } from '../launch/natsProcess.js';
import type { TestNats } from '../launch/natsServer.js';

const SERVERS = 3;
const HOST = '127.0.0.1';

export interface TestNatsCluster extends TestNats {
  /** `n1`, `n2`, `n3`. */
  readonly names: readonly string[];
  /** kill -9. */
  killServer(name: string): Promise<void>;
  /** Restarts a server over the same data. */
  startServer(name: string): Promise<void>;
  /** Leader of a stream; undefined while it has none. */
  leaderOf(stream: string): Promise<string | undefined>;
  /** Leader of JetStream's metadata; undefined while it has none. */
  metaLeader(): Promise<string | undefined>;
}

/** Whether a stream on all of them can be created. */
async function hasLeader(url: string): Promise<boolean> {
  const nc = await connect({ servers: url.split(',') });
  try {
    const { streams } = await nc.jetstreamManager();
    await streams.add({ name: 'probe', subjects: ['probe'], num_replicas: SERVERS });
    return await streams.delete('probe');
  } catch {
    return false;
  } finally {
    await nc.close();
  }
}

export async function startTestNatsCluster(): Promise<TestNatsCluster> {
  const binary = await findNatsServer();
  const dataDir = await mkdtemp(join(tmpdir(), 'vouch-nats-cluster-'));
  const names = Array.from({ length: SERVERS }, (_, i) => `n${i + 1}`);
  const ports = await Promise.all(names.map(() => freePort()));
  const clusterPorts = await Promise.all(names.map(() => freePort()));
  const monitorPorts = await Promise.all(names.map(() => freePort()));
  const running = new Map<string, NatsServer>();

  const startServer = async (name: string): Promise<void> => {
    const at = names.indexOf(name);
    const routes = clusterPorts.filter((_, other) => other !== at).map((port) => `${HOST}:${port}`);
    const cluster = { name: 'vouch', host: HOST, port: clusterPorts[at]!, routes };
    const own = join(dataDir, name);
    const [port, monitorPort] = [ports[at]!, monitorPorts[at]!];
    const options = { binary, dataDir: own, port, monitorPort, host: HOST, name, cluster };
    running.set(name, await NatsServer.start(options));
  };
  const onEach = async (work: (name: string) => Promise<void>): Promise<void> => {
    await Promise.all(names.map(work));
  };
  const killServer = async (name: string): Promise<void> => running.get(name)!.kill();
  const shutDown = (): Promise<void> => onEach((name) => running.get(name)!.stop());
  const start = (): Promise<void> => onEach(startServer);
  const url = ports.map((port) => `nats://${HOST}:${port}`).join(',');

  const leaderOf = async (stream: string): Promise<string | undefined> => {
    const nc = await connect({ servers: url.split(',') });
    try {
      const { cluster } = await (await nc.jetstreamManager()).streams.info(stream);
      return cluster?.leader;
    } catch {
      // Without a leader, no server answers for the stream.
      return undefined;
    } finally {
      await nc.close();
    }
  };

  /** Leader according to any running server. */
  const metaLeader = async (): Promise<string | undefined> => {
    for (const { plan } of running.values()) {
      const answer = await fetch(`${plan.monitorUrl}/jsz`).catch(() => undefined);
      const { meta_cluster } = ((await answer?.json()) ?? {}) as { meta_cluster?: { leader?: string } };
      if (meta_cluster?.leader) return meta_cluster.leader;
    }
    return undefined;
  };

  await start();
  await eventually('the servers have found a leader', () => hasLeader(url));
  return {
    url,
    dataDir,
    names,
    start,
    killServer,
    startServer,
    leaderOf,
    metaLeader,
    kill: () => onEach(killServer),
    shutDown,
    erase: () => Promise.reject(new Error('create a new cluster instead')),
    stop: async () => {
      await shutDown();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
