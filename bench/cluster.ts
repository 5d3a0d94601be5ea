/** The measured cluster: the processes of `npm start`, over a folder of its own that is deleted in the end. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../config/load.js';
import type { NatsAccess } from '../scripts/local/natsServer/users.js';
import { ClusterService } from '../scripts/local/supervisor/clusterService.js';
import { guarded } from '../scripts/local/supervisor/guarded.js';
import { readRuntime } from '../scripts/local/supervisor/runtimeFile.js';
import { systemClock } from '../shared/clock.js';
import { deleteTree } from '../shared/files/durable.js';
import type { NatsRole } from '../shared/nats/roles.js';
import { newFolder } from './folder.js';
import { Client } from './httpClient.js';

const SHARD = fileURLToPath(new URL('../shard/main.js', import.meta.url));
const EXIT_INTERRUPTED = 130;

/** Settings without limits on clients. */
export const SETTINGS = {
  VOUCH_MODE: 'cluster',
  VOUCH_HOST: '127.0.0.1',
  VOUCH_PORT: '0',
  VOUCH_LOG_LEVEL: 'warn',
  VOUCH_RATE_LIMITS: 'off',
  VOUCH_MAX_QUEUE_WAIT_MS: '60000',
  VOUCH_MAX_RECORDS: '4000000000',
  VOUCH_MAX_COLLECTIONS: '1000000',
  VOUCH_NATS_URL: '',
  VOUCH_CONFIG: '',
};

export class BenchCluster {
  readonly #interrupted = (): void => void this.stop().finally(() => process.exit(EXIT_INTERRUPTED));
  #service: ClusterService;
  readonly #joined: ChildProcess[] = [];
  #stopping: Promise<void> | undefined;

  private constructor(
    private readonly dataDir: string,
    private readonly environment: NodeJS.ProcessEnv,
  ) {
    this.#service = new ClusterService(loadConfig(environment), environment);
    process.on('SIGINT', this.#interrupted).on('SIGTERM', this.#interrupted);
  }

  /** `environment`: variables for its processes, besides those of this process. */
  static async start(
    environment: NodeJS.ProcessEnv = {},
  ): Promise<{ cluster: BenchCluster; url: string; key: string }> {
    const dataDir = await newFolder();
    const cluster = new BenchCluster(dataDir, { ...process.env, ...SETTINGS, ...environment, VOUCH_DATA_DIR: dataDir });
    try {
      const { url, newKey } = await cluster.#service.start(new AbortController().signal);
      return { cluster, url, key: newKey as string };
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Restarts every process over the existing folder. Returns the new URL, and the duration of the start. */
  async restart(): Promise<{ url: string; seconds: number }> {
    await this.#service.stop();
    this.#service = new ClusterService(loadConfig(this.environment), this.environment);
    const startedMs = systemClock.monotonicMs();
    const { url } = await this.#service.start(new AbortController().signal);
    return { url, seconds: (systemClock.monotonicMs() - startedMs) / 1000 };
  }

  /** Starts one more shard, which ends with the cluster. */
  async join(name: string): Promise<void> {
    const { url, nkey } = this.natsAs('shard');
    const env = { ...this.environment, VOUCH_NATS_URL: url!, VOUCH_NATS_NKEY: nkey };
    this.#joined.push(guarded(spawn(process.execPath, [SHARD, '--name', name], { env, stdio: 'ignore' })));
  }

  /** Process ids by the names of the processes. */
  async processIds(): Promise<Readonly<Record<string, number>>> {
    return (await readRuntime(this.dataDir))?.processes ?? {};
  }

  /** Address and login of its NATS server. */
  natsAs(role: NatsRole): NatsAccess {
    return this.#service.natsAs(role);
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    const ended = this.#joined.map((shard) => once(shard, 'exit'));
    for (const shard of this.#joined) shard.kill('SIGKILL');
    await Promise.all(ended);
    await this.#service.stop();
    await deleteTree(this.dataDir);
    // Last: Ctrl-C under npm arrives twice, and the second signal must not interrupt this cleanup.
    process.off('SIGINT', this.#interrupted).off('SIGTERM', this.#interrupted);
  }
}

/** Runs a cluster during `work`. `environment`: variables for its processes, besides those of this process. */
export async function withCluster<T>(
  work: (client: Client, cluster: BenchCluster) => Promise<T>,
  environment: NodeJS.ProcessEnv = {},
): Promise<T> {
  const { cluster, url, key } = await BenchCluster.start(environment);
  try {
    return await work(new Client(url, key), cluster);
  } finally {
    await cluster.stop();
  }
}
