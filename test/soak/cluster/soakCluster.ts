/**
 * The cluster of a soak: NATS servers n1…, shards s1… and coordinators c1…, each a process of its own. Each shard and
 * coordinator has its own connection to NATS. All end with the process that runs the soak.
 */
import { join } from 'node:path';
import { loadConfig } from '../../../config/load.js';
import { findNatsServer } from '../../../scripts/local/natsServer/find.js';
import { prepareStore } from '../../../scripts/local/natsServer/prepareStore.js';
import {
  planServers,
  replicasFor,
  type ServerPlan,
  serverNames,
} from '../../../scripts/local/natsServer/serverPlan.js';
import { seedFile } from '../../../scripts/local/natsServer/users.js';
import { freePorts } from '../../../scripts/local/port.js';
import { natsPlan, nodePlan } from '../../../scripts/local/supervisor/clusterPlans.js';
import { LogFile } from '../../../scripts/local/supervisor/logFile.js';
import type { ProcessPlan } from '../../../scripts/local/supervisor/supervisedProcess.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../../shared/clock.js';
import { makeDirectory } from '../../../shared/files/durable.js';
import { silentLogger } from '../../../shared/logger.js';
import { type NatsLogin, NO_LOGIN } from '../../../shared/nats/natsLogin.js';
import type { NatsRole } from '../../../shared/nats/roles.js';
import type { ClusterPlatform } from '../../../shared/platform/natsPlatform.js';
import { openCluster } from '../../../shared/platform/natsPlatform.js';
import { createKey } from '../../../shared/registry/keys.js';
import { FaultyProcess } from './faultyProcess.js';
import { NatsWay } from './natsWay.js';
import { SoakTls } from './soakTls.js';

const HOST = '127.0.0.1';
const PROJECT = 'soak';
const RETRY_START_MS = 500;
/** Includes the time until restarted NATS servers have found a leader. */
const START_WITHIN_MS = 120_000;
/** Longer than a leaving shard may take. */
const STOP_WITHIN_MS = 30_000;

export interface ClusterShape {
  readonly servers: number;
  readonly shards: number;
  readonly coordinators: number;
  /** Settings of all shards and coordinators, as environment variables. */
  readonly settings: Readonly<Record<string, string>>;
}

/** A process that ended although no fault had ended it. */
export interface Crash {
  readonly name: string;
  readonly how: string;
  readonly atMs: number;
}

export class SoakCluster {
  readonly crashes: Crash[] = [];
  /** Errors logged by shards and coordinators → how often. */
  readonly errors = new Map<string, number>();
  /** Starts that had to be repeated, which happens while NATS is away. */
  failedStarts = 0;
  readonly #processes = new Map<string, FaultyProcess>();
  readonly #ways = new Map<string, NatsWay>();
  readonly #logs: LogFile[] = [];
  #servers: readonly ServerPlan[] = [];
  #coordinatorPorts: readonly number[] = [];
  #tls: SoakTls | undefined;
  #isEnding = false;

  /** `folder`: for the data and the processes' logs. */
  constructor(
    readonly shape: ClusterShape,
    private readonly folder: string,
    private readonly onCrash: (crash: Crash) => void,
  ) {}

  get dataDir(): string {
    return join(this.folder, 'data');
  }

  /** Addresses of the servers, past the proxies. */
  get natsUrl(): string {
    return this.#servers.map(({ url }) => url).join(',');
  }

  get natsUrls(): readonly string[] {
    return this.#servers.map(({ url }) => url);
  }

  /** Login of the soak itself in that role. */
  loginAs(role: NatsRole): NatsLogin {
    return { ...NO_LOGIN, nkey: seedFile(this.dataDir, role), ...this.#tls?.files };
  }

  get hasTls(): boolean {
    return this.#tls !== undefined;
  }

  /**
   * Replaces the certificates of servers and processes, and restarts the servers one after another. A reload in use
   * would make servers of 2.9 lose the answers between their accounts.
   */
  async renewCertificates(): Promise<void> {
    this.#tls?.renew();
    for (const name of this.serverNames) {
      await this.stop(name);
      await this.run(name);
    }
  }

  get serverNames(): readonly string[] {
    return serverNames(this.shape.servers);
  }

  get shardNames(): readonly string[] {
    return Array.from({ length: this.shape.shards }, (_, i) => `s${i + 1}`);
  }

  /** Name → base address. */
  get coordinators(): ReadonlyMap<string, string> {
    return new Map(this.#coordinatorPorts.map((port, i) => [`c${i + 1}`, `http://${HOST}:${port}`]));
  }

  get processIds(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      [...this.#processes].flatMap(([name, { pid }]) => (pid === undefined ? [] : [[name, pid]])),
    );
  }

  async start(): Promise<void> {
    const { servers, coordinators } = this.shape;
    await makeDirectory(join(this.folder, 'logs'));
    const ports = await freePorts(HOST, 2 * servers + coordinators);
    this.#coordinatorPorts = ports.slice(2 * servers);
    const serverPorts = Array.from({ length: servers }, (_, i) => ({
      client: ports[i]!,
      route: ports[servers + i]!,
      monitor: undefined,
    }));
    this.#servers = await planServers(await findNatsServer(), this.dataDir, serverPorts);
    this.#tls = await SoakTls.over(this.#servers, join(this.folder, 'tls'));
    for (const [i, name] of this.serverNames.entries()) await this.#add(name, () => natsPlan(name, this.#servers[i]!));
    await Promise.all(this.serverNames.map((name) => this.run(name)));
    await this.#prepareStore();
    await Promise.all([...this.shardNames.map((name) => this.addShard(name)), this.#startCoordinators()]);
  }

  /** Adds a shard. */
  async addShard(name: string): Promise<void> {
    if (!this.#processes.has(name)) {
      const env = await this.#environment(name);
      await this.#add(name, () => nodePlan('shard', { name, process: name }, env));
    }
    await this.run(name);
  }

  /** Starts a process that does not run, and repeats that until it serves. */
  async run(name: string): Promise<void> {
    const giveUpMs = systemClock.monotonicMs() + START_WITHIN_MS;
    for (;;) {
      try {
        await this.process(name).start();
        return;
      } catch (error) {
        if (this.#isEnding || systemClock.monotonicMs() > giveUpMs) throw error;
        this.failedStarts++;
        await new Promise((resolve) => setTimeout(resolve, RETRY_START_MS));
      }
    }
  }

  process(name: string): FaultyProcess {
    const process = this.#processes.get(name);
    if (process === undefined) throw new Error(`unknown process ${name}`);
    return process;
  }

  /** Resolves with the manner of its end. */
  stop(name: string): Promise<string> {
    return this.process(name).stop(STOP_WITHIN_MS);
  }

  way(name: string): NatsWay {
    const way = this.#ways.get(name);
    if (way === undefined) throw new Error(`${name} has no connection of its own to NATS`);
    return way;
  }

  async makeKey(scope: 'read_write' | 'admin'): Promise<string> {
    const platform = await this.#openAs('coordinator');
    try {
      const wanted = { project: PROJECT, scope };
      return (await createKey(await platform.bucket(BUCKETS.keys), wanted, systemClock, systemEntropy)).key;
    } finally {
      await platform.close();
    }
  }

  #openAs(role: NatsRole): Promise<ClusterPlatform> {
    return openCluster({
      ...{ url: this.natsUrl, ...this.loginAs(role), role, name: 'vouch-soak', logger: silentLogger },
      ...{ replicas: replicasFor(this.shape.servers), logStreams: 4 },
    });
  }

  async #prepareStore(): Promise<void> {
    const platform = await this.#openAs('admin');
    await prepareStore(platform, loadConfig({}).placement.leaseMs).finally(() => platform.close());
  }

  /** Ends shards and coordinators; the logs remain readable. */
  async endServices(): Promise<void> {
    this.#isEnding = true;
    const ours = [...this.#processes.values()].filter(({ name }) => !this.serverNames.includes(name));
    await Promise.all(ours.map((process) => process.kill()));
  }

  async end(): Promise<void> {
    await this.endServices();
    await Promise.all(this.serverNames.map((name) => this.#processes.get(name)?.kill()));
    await Promise.all([...this.#ways.values()].map((way) => way.close()));
    await Promise.all(this.#logs.map((log) => log.close()));
  }

  async #startCoordinators(): Promise<void> {
    const names = [...this.coordinators.keys()];
    await Promise.all(
      names.map(async (name, i) => {
        const env = { ...(await this.#environment(name)), VOUCH_PORT: String(this.#coordinatorPorts[i]) };
        await this.#add(name, () => nodePlan('coordinator', { name, process: name }, env));
        await this.run(name);
      }),
    );
  }

  async #add(name: string, plan: () => ProcessPlan): Promise<void> {
    const log = await LogFile.open(join(this.folder, 'logs', `${name}.log`), Number.POSITIVE_INFINITY);
    this.#logs.push(log);
    const line = (text: string): void => {
      log.write(text);
      const error = errorIn(text);
      if (error !== undefined) this.errors.set(error, (this.errors.get(error) ?? 0) + 1);
    };
    const crashed = (crashedName: string, how: string): void => this.#onCrash(crashedName, how);
    this.#processes.set(name, new FaultyProcess(name, plan, { line, crashed }));
  }

  #onCrash(name: string, how: string): void {
    if (this.#isEnding) return;
    const crash = { name, how, atMs: systemClock.monotonicMs() };
    this.crashes.push(crash);
    this.onCrash(crash);
    this.run(name).catch(() => undefined);
  }

  /** Settings in the caller's environment do not apply to this service. */
  async #environment(name: string): Promise<NodeJS.ProcessEnv> {
    const ports = this.#servers.map(({ port }) => port);
    const way = await NatsWay.open(HOST, ports);
    this.#ways.set(name, way);
    const others = Object.entries(process.env).filter(([variable]) => !variable.startsWith('VOUCH_'));
    return {
      ...Object.fromEntries(others),
      VOUCH_MODE: 'cluster',
      VOUCH_DATA_DIR: this.dataDir,
      VOUCH_HOST: HOST,
      VOUCH_NATS_URL: way.url,
      ...environmentOf(this.loginAs(name.startsWith('s') ? 'shard' : 'coordinator')),
      VOUCH_REPLICAS: String(replicasFor(this.shape.servers)),
      VOUCH_RATE_LIMITS: 'off',
      VOUCH_LOG_LEVEL: 'info',
      ...this.shape.settings,
    };
  }
}

const environmentOf = ({ nkey, ca, cert, key }: NatsLogin): NodeJS.ProcessEnv => ({
  VOUCH_NATS_NKEY: nkey,
  VOUCH_NATS_CA: ca,
  VOUCH_NATS_CERT: cert,
  VOUCH_NATS_KEY: key,
});

/** Message of a line that pino wrote at level error or above. */
const errorIn = (line: string): string | undefined =>
  /^\{"level":[56]0,/.test(line) ? /"msg":"([^"]*)"/.exec(line)?.[1] : undefined;
