/** A cluster on this machine: NATS servers, the shards s1 … sN and coordinators, each a process of its own. */
import { pino } from 'pino';
import type { Config } from '../../../config/config.js';
import { printableConfig } from '../../../config/load.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { closeDataFolder } from '../../../shared/files/dataFolder.js';
import { type FolderLock, lockFolder } from '../../../shared/files/folderLock.js';
import { silentLogger } from '../../../shared/logger.js';
import { parseNatsUrl } from '../../../shared/nats/natsAddress.js';
import type { NatsRole } from '../../../shared/nats/roles.js';
import { type ClusterPlatform, openCluster } from '../../../shared/platform/natsPlatform.js';
import { commandText } from '../../../shared/process/commandText.js';
import { Mutex } from '../../../shared/scheduling/mutex.js';
import { BACKOFF } from '../../../shared/scheduling/retry.js';
import { openSigner, publicSigningKey } from '../../../shared/signing/signer.js';
import { counted, say } from '../../terminal/line.js';
import { type Done, step } from '../../terminal/step.js';
import { findNatsServer } from '../natsServer/find.js';
import { prepareStore } from '../natsServer/prepareStore.js';
import { planServers } from '../natsServer/serverPlan.js';
import { type NatsAccess, seedFile } from '../natsServer/users.js';
import { bracketed, freePorts } from '../port.js';
import {
  type ClusterLayout,
  childEnvironment,
  coordinatorParts,
  type MetricsAddress,
  natsPlan,
  nodePlan,
  serverParts,
  shardParts,
  shardSizes,
  urlHost,
} from './clusterPlans.js';
import { Fleet, type Report } from './fleet.js';
import { assertHome, assertWritable, freePort } from './preflight.js';
import { waitUntilHealthy } from './ready.js';
import { removeRuntime, writeRuntime } from './runtimeFile.js';
import type { Service } from './service.js';
import { makeFirstKey, type Welcome } from './welcome.js';

const LOCAL = '127.0.0.1';
/** Ports for clients, for the other servers, and for the status pages. */
const PORTS_OF_A_SERVER = 3;

interface ClusterOptions {
  /** Default: one NATS server unless its address is configured, one coordinator, and the configured shards. */
  readonly size?: { readonly servers: number; readonly coordinators: number; readonly shards: number };
  /** Whether warnings and errors in the logs of the processes are shown. */
  readonly showsAlarms?: boolean;
  /** First delay before an ended process is started again; null: it is not restarted. */
  readonly restartAfterMs?: number | null;
  /** Whether it is watched: the NATS servers then have status pages, and coordinators metrics addresses of their own. */
  readonly isWatched?: boolean;
  /** Reports processes that end, come back or log warnings; prints by default. */
  readonly report?: Report;
}

export class ClusterService implements Service {
  /** Complete when the start has resolved. */
  layout: ClusterLayout = { servers: [], coordinators: [], shards: [] };
  readonly #options: Required<ClusterOptions>;
  readonly #restartAfterMs: number | undefined;
  readonly #fleet: Fleet;
  readonly #folderWrites = new Mutex();
  #natsUrl: string | null = null;
  #lock: FolderLock | undefined;
  #url: string | null = null;
  /** Largest number of bytes of the streams of its own NATS servers; 0 without own servers. */
  #storeBytes = 0;
  #stopping: Promise<void> | undefined;

  /** `environment`: the source of the configuration, which the children read again. */
  constructor(
    readonly config: Config,
    private readonly environment: NodeJS.ProcessEnv = process.env,
    options: ClusterOptions = {},
  ) {
    const { dataDir, logLevel, nats, shards } = config;
    this.#options = {
      ...{ size: { servers: nats.url === null ? 1 : 0, coordinators: 1, shards }, showsAlarms: true, report: say },
      ...{ restartAfterMs: BACKOFF.process.firstMs, isWatched: false, ...options },
    };
    const { showsAlarms, report, restartAfterMs } = this.#options;
    this.#restartAfterMs = restartAfterMs ?? undefined;
    const level = logLevel === 'silent' ? Number.POSITIVE_INFINITY : pino.levels.values[logLevel]!;
    this.#fleet = new Fleet({ dataDir, logLevel: level, showsAlarms, onChange: () => this.#writeRuntime(), report });
  }

  /** The ids of the running processes by name. */
  get processIds(): Readonly<Record<string, number>> {
    return this.#fleet.processIds;
  }

  async start(signal: AbortSignal): Promise<Welcome> {
    const { dataDir, http, nats, logLevel, signingKeyFile } = this.config;
    const { servers, coordinators } = this.#options.size;
    if (logLevel === 'debug' || logLevel === 'trace')
      say('plain', 'configuration', JSON.stringify(printableConfig(this.config)));
    this.#assertReplicas();
    await assertWritable(dataDir);
    const closed = await closeDataFolder(dataDir);
    if (closed !== undefined) this.#options.report('warning', 'data folder', closed);
    this.#lock = await lockFolder(dataDir);
    await assertHome(dataDir, 'cluster');
    const port = await freePort(http.host, http.port);
    if (nats.url === null)
      await step(servers === 1 ? 'nats-server' : 'nats-servers', 'starting', () => this.#startNats());
    else await step('NATS', 'connecting', () => this.#findNats(nats.url!));
    const url = `${http.tlsCert === '' ? 'http' : 'https'}://${urlHost(http.host)}:${port}`;
    const env = childEnvironment(this.config, this.environment, {
      VOUCH_NATS_URL: this.#natsUrl!,
      VOUCH_PORT: String(port),
    });
    await openSigner(this.config.serviceLog.keyFile);
    await step('shards', 'starting', () => this.#startShards(env));
    const title = coordinators === 1 ? 'coordinator' : 'coordinators';
    await step(title, 'starting', () => this.#startCoordinators(url, env, signal));
    this.#url = url;
    this.#writeRuntime();
    const signingKey = await publicSigningKey(signingKeyFile);
    const newKey = await this.#inCluster('coordinator', async (platform) =>
      makeFirstKey(await platform.bucket(BUCKETS.keys), dataDir),
    );
    return { url, dataDir, newKey, signingKey };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  kill(): void {
    this.#fleet.kill();
  }

  /** Throws an Error of one line if there are too few servers, which would later refuse each process. */
  #assertReplicas(): void {
    const { url, replicas } = this.config.nats;
    const { servers } = this.#options.size;
    if (url === null && replicas > servers)
      throw new Error(
        `${counted(replicas, 'replica is', 'replicas are')} configured, and ${servers === 1 ? 'one NATS server holds' : `${servers} NATS servers hold`} ` +
          `${servers}; set VOUCH_REPLICAS to ${servers}, or let ${commandText('cluster')} start more servers`,
      );
  }

  async #startNats(): Promise<Done<string>> {
    const { size, isWatched } = this.#options;
    const count = size.servers;
    const binary = await findNatsServer();
    const free = await freePorts(LOCAL, count * PORTS_OF_A_SERVER);
    const ports = Array.from({ length: count }, (_, i) => ({
      client: free[i]!,
      route: free[count + i]!,
      monitor: isWatched ? free[2 * count + i] : undefined,
    }));
    const plans = await this.#folderWrites.run(() => planServers(binary, this.config.dataDir, ports));
    this.#storeBytes = plans.reduce((sum, { storeBytes }) => sum + storeBytes, 0);
    const servers = serverParts(plans);
    this.layout = { ...this.layout, servers };
    await this.#fleet.startStage(plans.map((plan, i) => natsPlan(servers[i]!.process, plan, this.#restartAfterMs)));
    const url = plans.map((plan) => plan.url).join(',');
    this.#natsUrl = url;
    await this.#inCluster('admin', (platform) => prepareStore(platform, this.config.placement.leaseMs));
    return { value: url, text: `${binary.version} at ${url}` };
  }

  /** Connects first: processes would wait longer for missing servers, without a line on the terminal. */
  async #findNats(url: string): Promise<Done<string>> {
    this.#natsUrl = url;
    await this.#inCluster('coordinator', async () => {});
    await this.#fleet.startStage([]);
    return { value: url, text: `at ${parseNatsUrl(url).servers}` };
  }

  async #startShards(env: NodeJS.ProcessEnv): Promise<Done<undefined>> {
    const shards = shardParts(this.#options.size.shards);
    this.layout = { ...this.layout, shards };
    const own = { ...env, ...this.#loginOf('shard'), ...shardSizes(this.config, shards.length, this.#storeBytes) };
    await this.#fleet.startStage(shards.map((shard) => nodePlan('shard', shard, own, this.#restartAfterMs)));
    return { value: undefined, text: `${shards.map(({ name }) => name).join(' ')} ready` };
  }

  /** Starts coordinators. Several share one port, and each serves its metrics at an address of its own. */
  async #startCoordinators(url: string, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Done<undefined>> {
    const count = this.#options.size.coordinators;
    const metrics = await this.#metricsAddresses();
    const login = this.#loginOf('coordinator');
    const coordinators = coordinatorParts(count, metrics);
    this.layout = { ...this.layout, coordinators };
    const plans = coordinators.map((coordinator, i) => {
      const at = metrics[i];
      const own = at && { VOUCH_METRICS: `${bracketed(at.host)}:${at.port}` };
      const sharing = count > 1 && { VOUCH_SHARE_PORT: 'true' };
      return nodePlan('coordinator', coordinator, { ...env, ...login, ...own, ...sharing }, this.#restartAfterMs);
    });
    await this.#fleet.startStage(plans);
    await waitUntilHealthy(url, signal);
    const names = count === 1 ? '' : `${coordinators.map(({ name }) => name).join(' ')} `;
    return { value: undefined, text: `${names}healthy` };
  }

  /** The variable with the login of a child at this service's own NATS servers. */
  #loginOf(role: NatsRole): { VOUCH_NATS_NKEY?: string } {
    return this.config.nats.url === null ? { VOUCH_NATS_NKEY: seedFile(this.config.dataDir, role) } : {};
  }

  /** The metrics addresses of coordinators: the configured one, then the following ports. */
  async #metricsAddresses(): Promise<MetricsAddress[]> {
    const { size, isWatched } = this.#options;
    const { metrics } = this.config;
    const count = size.coordinators;
    if (count === 1 && metrics !== null) return [metrics];
    if (count === 1 && !isWatched) return [];
    if (metrics === null) return (await freePorts(LOCAL, count)).map((port) => ({ host: LOCAL, port }));
    const { host, port } = metrics;
    return Promise.all(Array.from({ length: count }, async (_, i) => ({ host, port: await freePort(host, port + i) })));
  }

  /** Address and login of a command of this machine at the NATS servers. */
  natsAs(role: NatsRole): NatsAccess {
    const { VOUCH_NATS_NKEY: nkey = this.config.nats.nkey } = this.#loginOf(role);
    return { ...this.config.nats, url: this.#natsUrl, nkey, role };
  }

  async #inCluster<T>(role: NatsRole, work: (platform: ClusterPlatform) => Promise<T>): Promise<T> {
    const platform = await openCluster({ ...this.natsAs(role), name: 'vouch-start', logger: silentLogger });
    try {
      return await work(platform);
    } finally {
      await platform.close();
    }
  }

  #writeRuntime(): void {
    if (!this.#lock || this.#stopping) return;
    const write = () =>
      writeRuntime(this.config.dataDir, {
        mode: 'cluster',
        pid: process.pid,
        url: this.#url,
        natsUrl: this.#natsUrl,
        processes: this.#fleet.processIds,
      });
    // The service does not depend on the file; the processes report a full disk.
    this.#folderWrites.run(write).catch(() => undefined);
  }

  async #stopAll(): Promise<void> {
    await this.#fleet.stop();
    await this.#folderWrites.idle();
    if (!this.#lock) return;
    await removeRuntime(this.config.dataDir);
    await this.#lock.release();
  }
}
