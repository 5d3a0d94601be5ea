/** A cluster on this machine: NATS servers, the shards s1 … sN and coordinators, each a process of its own. */
import { join } from 'node:path';
import { pino } from 'pino';
import type { Config } from '../../config/config.js';
import { printableConfig } from '../../config/load.js';
import { publicSigningKey } from '../../shard/proof/signer.js';
import { type FolderLock, lockFolder } from '../../shared/folderLock.js';
import { silentLogger } from '../../shared/logger.js';
import { parseNatsUrl } from '../../shared/natsAddress.js';
import { openCluster } from '../../shared/natsPlatform.js';
import { BUCKETS } from '../../shared/platform.js';
import { planServers } from '../natsServer/clusterPlan.js';
import { findNatsServer } from '../natsServer/find.js';
import { say } from '../terminal/line.js';
import { type Done, step } from '../terminal/step.js';
import { FIRST_MS } from './backoff.js';
import {
  addressText,
  type ClusterLayout,
  type ClusterSize,
  childEnvironment,
  coordinatorParts,
  coordinatorPlan,
  type MetricsAddress,
  natsPlan,
  serverParts,
  shardParts,
  shardPlan,
  urlHost,
} from './clusterPlans.js';
import { makeFirstKey } from './firstKey.js';
import { Fleet, type Tell } from './fleet.js';
import { waitUntilHealthy } from './health.js';
import { assertHome, assertWritable, freePort, freePorts } from './preflight.js';
import { removeRuntime, writeRuntime } from './runtimeFile.js';
import type { Service } from './service.js';
import { settle } from './settle.js';
import { StartError } from './startError.js';
import type { Welcome } from './welcome.js';

const HEALTHY_WITHIN_MS = 30_000;
const LOCAL = '127.0.0.1';
/** For clients, for the other servers, and for its pages about itself. */
const PORTS_OF_A_SERVER = 3;

export interface ClusterOptions {
  /** One server, as many shards as are configured and one coordinator where it is left out. */
  readonly size?: ClusterSize;
  /** Whether warnings and errors that the processes log are told too. */
  readonly showsAlarms?: boolean;
  /** How long a process that ended stays so; null: for good. */
  readonly restartAfterMs?: number | null;
  /** Whether the NATS servers have pages about themselves. */
  readonly monitorsServers?: boolean;
  /** Who hears of processes that end, come back and complain; printed where it is left out. */
  readonly tell?: Tell;
}

export class ClusterService implements Service {
  readonly #config: Config;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #size: ClusterSize;
  readonly #restartAfterMs: number | undefined;
  readonly #monitorsServers: boolean;
  readonly #fleet: Fleet;
  #lock: FolderLock | undefined;
  #layout: ClusterLayout = { servers: [], coordinators: [], shards: [] };
  #url: string | null = null;
  #natsUrl: string | null = null;
  /** The runtime file is written in order, one write at a time. */
  #recording: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  /** `environment`: where the configuration came from, as the children read it there again. */
  constructor(config: Config, environment: NodeJS.ProcessEnv = process.env, options: ClusterOptions = {}) {
    const { showsAlarms = true, restartAfterMs = FIRST_MS, tell = say } = options;
    const servers = config.nats.url === null ? 1 : 0;
    this.#config = config;
    this.#environment = environment;
    this.#size = options.size ?? { servers, coordinators: 1, shards: config.shards };
    this.#restartAfterMs = restartAfterMs ?? undefined;
    this.#monitorsServers = options.monitorsServers ?? false;
    const logLevel = config.logLevel === 'silent' ? Number.POSITIVE_INFINITY : pino.levels.values[config.logLevel]!;
    this.#fleet = new Fleet({ dataDir: config.dataDir, logLevel, showsAlarms, onChange: () => this.#record(), tell });
  }

  /** What it consists of; complete when the start has resolved. */
  get layout(): ClusterLayout {
    return this.#layout;
  }

  /** Of the NATS servers, for clients. */
  get natsUrl(): string | null {
    return this.#natsUrl;
  }

  /** Process name → process id, of what runs now. */
  get processIds(): Readonly<Record<string, number>> {
    return this.#fleet.processIds;
  }

  async start(signal: AbortSignal): Promise<Welcome> {
    const { dataDir, http, nats, logLevel } = this.#config;
    if (logLevel === 'debug' || logLevel === 'trace')
      say('plain', 'configuration', JSON.stringify(printableConfig(this.#config)));
    this.#assertReplicas();
    await assertWritable(dataDir);
    this.#lock = await lockFolder(dataDir);
    await assertHome(dataDir, 'cluster');
    const port = await freePort(http.host, http.port);
    const natsUrl =
      nats.url === null
        ? await step(this.#serversTitle, 'starting', () => this.#startNats())
        : await step('NATS', 'connecting', () => this.#findNats(nats.url!));
    this.#natsUrl = natsUrl;
    const url = `http://${urlHost(http.host)}:${port}`;
    const settings = { VOUCH_NATS_URL: natsUrl, VOUCH_PORT: String(port) };
    const env = childEnvironment(this.#config, this.#environment, settings);
    await step('shards', 'starting', () => this.#startShards(env));
    const title = this.#size.coordinators === 1 ? 'coordinator' : 'coordinators';
    await step(title, 'starting', () => this.#startCoordinators(url, env, signal));
    this.#url = url;
    this.#record();
    const signingKey = await publicSigningKey(this.#config.signingKeyFile);
    return { url, dataDir, newKey: await this.#makeFirstKey(natsUrl), signingKey };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  kill(): void {
    this.#fleet.kill();
  }

  /** Else each process would be refused by the servers, and say so in its own words. Throws StartError. */
  #assertReplicas(): void {
    const { url, replicas } = this.#config.nats;
    const { servers } = this.#size;
    if (url === null && replicas > servers)
      throw new StartError(
        `${replicas} replicas are configured, and ${servers === 1 ? 'one NATS server holds' : `${servers} NATS servers hold`} ` +
          `${servers}; set VOUCH_REPLICAS to ${servers}, or let npm run cluster start more servers`,
      );
  }

  get #serversTitle(): string {
    return this.#size.servers === 1 ? 'nats-server' : 'nats-servers';
  }

  async #startNats(): Promise<Done<string>> {
    const { servers: count } = this.#size;
    const binary = await findNatsServer();
    const free = await freePorts(LOCAL, count * PORTS_OF_A_SERVER);
    const ports = Array.from({ length: count }, (_, i) => ({
      client: free[i]!,
      route: free[count + i]!,
      monitor: this.#monitorsServers ? free[2 * count + i] : undefined,
    }));
    const plans = await planServers(binary, join(this.#config.dataDir, 'nats'), ports);
    const servers = serverParts(plans);
    this.#layout = { ...this.#layout, servers };
    await this.#fleet.startStage(plans.map((plan, i) => natsPlan(servers[i]!.process, plan, this.#restartAfterMs)));
    const url = plans.map((plan) => plan.url).join(',');
    // Until they have agreed on a leader nothing can be stored, and the shards would wait each for itself.
    if (count > 1) await this.#untilAgreed(url);
    return { value: url, text: `${binary.version} at ${url}` };
  }

  async #startShards(env: NodeJS.ProcessEnv): Promise<Done<undefined>> {
    const shards = shardParts(this.#size.shards);
    this.#layout = { ...this.#layout, shards };
    await this.#fleet.startStage(shards.map((shard) => shardPlan(shard, env, this.#restartAfterMs)));
    return { value: undefined, text: `${shards.map(({ name }) => name).join(' ')} ready` };
  }

  /** Several share one port, and each serves its metrics at an address of its own: a shared one would tell of any of them. */
  async #startCoordinators(url: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Done<undefined>> {
    const { coordinators: count } = this.#size;
    const metrics = await this.#metricsAddresses();
    const coordinators = coordinatorParts(count, url, metrics);
    this.#layout = { ...this.#layout, coordinators };
    const plans = coordinators.map((coordinator, i) => {
      const at = metrics[i];
      const own = count > 1 && at ? { VOUCH_SHARE_PORT: 'true', VOUCH_METRICS: addressText(at) } : {};
      return coordinatorPlan(coordinator, { ...env, ...own }, this.#restartAfterMs);
    });
    await this.#fleet.startStage(plans);
    await waitUntilHealthy(url, HEALTHY_WITHIN_MS, signal);
    return {
      value: undefined,
      text: count === 1 ? 'healthy' : `${coordinators.map(({ name }) => name).join(' ')} healthy`,
    };
  }

  /** Of each coordinator that does not serve them beside the API. The first is where it is configured, the next follow. */
  async #metricsAddresses(): Promise<MetricsAddress[]> {
    const { coordinators: count } = this.#size;
    const { metrics } = this.#config;
    if (count === 1) return metrics === null ? [] : [metrics];
    if (metrics === null) return (await freePorts(LOCAL, count)).map((port) => ({ host: LOCAL, port }));
    const { host, port } = metrics;
    return Promise.all(Array.from({ length: count }, async (_, i) => ({ host, port: await freePort(host, port + i) })));
  }

  async #untilAgreed(url: string): Promise<void> {
    const platform = await this.#openCluster(url);
    try {
      await settle(platform, this.#config.placement.leaseMs);
    } finally {
      await platform.close();
    }
  }

  /** Processes of their own would wait longer for servers that are not there, and nobody at the terminal would know. */
  async #findNats(url: string): Promise<Done<string>> {
    await (await this.#openCluster(url)).close();
    await this.#fleet.startStage([]);
    return { value: url, text: `at ${parseNatsUrl(url).servers}` };
  }

  async #makeFirstKey(natsUrl: string): Promise<string | undefined> {
    const platform = await this.#openCluster(natsUrl);
    try {
      return await makeFirstKey(await platform.bucket(BUCKETS.keys), this.#config.dataDir);
    } finally {
      await platform.close();
    }
  }

  #openCluster(url: string) {
    const { replicas, logStreams } = this.#config.nats;
    return openCluster({ url, name: 'vouch-start', logger: silentLogger, replicas, logStreams });
  }

  #record(): void {
    if (!this.#lock || this.#stopping) return;
    this.#recording = this.#recording
      .then(() =>
        writeRuntime(this.#config.dataDir, {
          mode: 'cluster',
          pid: process.pid,
          url: this.#url,
          natsUrl: this.#natsUrl,
          processes: this.#fleet.processIds,
        }),
      )
      // The service does not depend on it; a disk that is full is reported by those who do.
      .catch(() => undefined);
  }

  async #stopAll(): Promise<void> {
    await this.#fleet.stop();
    await this.#recording;
    if (!this.#lock) return;
    await removeRuntime(this.#config.dataDir);
    await this.#lock.release();
  }
}
