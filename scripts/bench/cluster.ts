/** The cluster that is measured: what `npm start` runs, over a folder of its own that is deleted in the end. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.js';
import { deleteTree } from '../../shared/durable.js';
import { ClusterService } from '../supervisor/clusterService.js';
import { readRuntime } from '../supervisor/runtimeFile.js';

const EXIT_INTERRUPTED = 130;

/** Nothing that is there to hold clients back. */
const SETTINGS = {
  VOUCH_MODE: 'cluster',
  VOUCH_HOST: '127.0.0.1',
  VOUCH_PORT: '0',
  VOUCH_LOG_LEVEL: 'warn',
  VOUCH_RATE_LIMITS: 'off',
  VOUCH_MAX_RECORDS: '4000000000',
  VOUCH_MAX_COLLECTIONS: '1000000',
  VOUCH_NATS_URL: '',
  VOUCH_CONFIG: '',
};

export class BenchCluster {
  readonly #interrupted = (): void => void this.stop().finally(() => process.exit(EXIT_INTERRUPTED));
  readonly #service: ClusterService;
  #stopping: Promise<void> | undefined;

  private constructor(
    private readonly dataDir: string,
    environment: NodeJS.ProcessEnv,
  ) {
    this.#service = new ClusterService(loadConfig(environment), environment);
    process.on('SIGINT', this.#interrupted).on('SIGTERM', this.#interrupted);
  }

  /** `environment`: for its processes, beside what this one has. */
  static async start(
    environment: NodeJS.ProcessEnv = {},
  ): Promise<{ cluster: BenchCluster; url: string; key: string }> {
    const dataDir = await mkdtemp(join(tmpdir(), 'vouch-bench-'));
    const cluster = new BenchCluster(dataDir, { ...process.env, ...SETTINGS, ...environment, VOUCH_DATA_DIR: dataDir });
    try {
      const { url, newKey } = await cluster.#service.start(new AbortController().signal);
      return { cluster, url, key: newKey as string };
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** Process ids, by what the processes are called. */
  async processIds(): Promise<Readonly<Record<string, number>>> {
    return (await readRuntime(this.dataDir))?.processes ?? {};
  }

  async natsUrl(): Promise<string> {
    const url = (await readRuntime(this.dataDir))?.natsUrl;
    if (!url) throw new Error('the cluster runs without a NATS server');
    return url;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    await this.#service.stop();
    await deleteTree(this.dataDir);
    // Last: Ctrl-C under npm comes twice, and the second one must not end what the first one began.
    process.off('SIGINT', this.#interrupted).off('SIGTERM', this.#interrupted);
  }
}
