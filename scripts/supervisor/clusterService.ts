/** A cluster on this machine: nats-server, the shards s1 … sN and a coordinator, each a process of its own. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import type { Config } from '../../config/config.js';
import { printableConfig } from '../../config/load.js';
import { publicSigningKey } from '../../shard/proof/signer.js';
import { type FolderLock, lockFolder } from '../../shared/folderLock.js';
import { silentLogger } from '../../shared/logger.js';
import { openCluster } from '../../shared/natsPlatform.js';
import { BUCKETS } from '../../shared/platform.js';
import { findNatsServer } from '../natsServer/find.js';
import { planServer, READY_TEXT } from '../natsServer/serverPlan.js';
import { say } from '../terminal/line.js';
import { step } from '../terminal/step.js';
import { saysReady } from './childLog.js';
import { makeFirstKey } from './firstKey.js';
import { Fleet } from './fleet.js';
import { waitUntilHealthy } from './health.js';
import { assertWritable, freePort } from './preflight.js';
import { removeRuntime, writeRuntime } from './runtimeFile.js';
import type { Service } from './service.js';
import type { ProcessPlan } from './supervisedProcess.js';
import type { Welcome } from './welcome.js';

const START_WITHIN_MS = 30_000;
/** It reads the whole store before it serves. */
const NATS_START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;
const HEALTHY_WITHIN_MS = 30_000;

const SHARD = entry('shard/main.js');
const COORDINATOR = entry('coordinator/main.js');

export class ClusterService implements Service {
  readonly #config: Config;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #fleet: Fleet;
  #lock: FolderLock | undefined;
  #url: string | null = null;
  #natsUrl: string | null = null;
  /** The runtime file is written in order, one write at a time. */
  #recording: Promise<unknown> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  /**
   * `environment`: where the configuration came from, as the children read it there again. `showsAlarms`: whether
   * warnings and errors that they log are printed too.
   */
  constructor(config: Config, environment: NodeJS.ProcessEnv = process.env, { showsAlarms = true } = {}) {
    this.#config = config;
    this.#environment = environment;
    const level = config.logLevel === 'silent' ? Number.POSITIVE_INFINITY : pino.levels.values[config.logLevel]!;
    this.#fleet = new Fleet(config.dataDir, level, showsAlarms, () => this.#record());
  }

  async start(signal: AbortSignal): Promise<Welcome> {
    const { dataDir, http, nats, shards, logLevel } = this.#config;
    if (logLevel === 'debug' || logLevel === 'trace')
      say('plain', 'configuration', JSON.stringify(printableConfig(this.#config)));
    await assertWritable(dataDir);
    this.#lock = await lockFolder(dataDir);
    const port = await freePort(http.host, http.port);
    const natsUrl = nats.url ?? (await step('nats-server', 'starting', () => this.#startNats()));
    this.#natsUrl = natsUrl;
    if (nats.url) await this.#fleet.startStage([]);
    const url = `http://${urlHost(http.host)}:${port}`;
    const settings = { VOUCH_NATS_URL: natsUrl, VOUCH_PORT: String(port) };
    const env = childEnvironment(this.#config, this.#environment, settings);
    await step('shards', 'starting', () => this.#startShards(shards, env));
    await step('coordinator', 'starting', async () => {
      await this.#fleet.startStage([ourPlan('coordinator', [COORDINATOR], env)]);
      await waitUntilHealthy(url, HEALTHY_WITHIN_MS, signal);
      return { value: undefined, text: 'healthy' };
    });
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

  async #startNats() {
    const binary = await findNatsServer();
    const port = await freePort('127.0.0.1', 0);
    const plan = await planServer({ binary, dataDir: join(this.#config.dataDir, 'nats'), port, log: 'stderr' });
    await this.#fleet.startStage([
      {
        name: 'nats-server',
        program: plan.program,
        args: plan.args,
        env: process.env,
        isReady: (line) => line.includes(READY_TEXT),
        startWithinMs: NATS_START_WITHIN_MS,
        stopWithinMs: STOP_WITHIN_MS,
      },
    ]);
    return { value: plan.url, text: `${binary.version} at ${plan.url}` };
  }

  async #startShards(count: number, env: NodeJS.ProcessEnv) {
    const names = Array.from({ length: count }, (_, index) => `s${index + 1}`);
    await this.#fleet.startStage(names.map((name) => ourPlan(`shard ${name}`, [SHARD, '--name', name], env)));
    return { value: undefined, text: `${names.join(' ')} ready` };
  }

  async #makeFirstKey(natsUrl: string): Promise<string | undefined> {
    const { replicas, logStreams } = this.#config.nats;
    const platform = await openCluster({
      url: natsUrl,
      name: 'vouch-start',
      logger: silentLogger,
      replicas,
      logStreams,
    });
    try {
      return await makeFirstKey(await platform.bucket(BUCKETS.keys), this.#config.dataDir);
    } finally {
      await platform.close();
    }
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

/** Of the compiled program; this file runs as dist/scripts/supervisor/clusterService.js. */
function entry(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

const ourPlan = (name: string, args: readonly string[], env: NodeJS.ProcessEnv): ProcessPlan => ({
  name,
  program: process.execPath,
  args,
  env,
  isReady: saysReady,
  startWithinMs: START_WITHIN_MS,
  stopWithinMs: STOP_WITHIN_MS,
});

/** Children say at level info that they are ready, so they log at least that; the files hold what was asked for. */
function childEnvironment(
  config: Config,
  environment: NodeJS.ProcessEnv,
  settings: Record<string, string>,
): NodeJS.ProcessEnv {
  const { logLevel } = config;
  const level = logLevel === 'trace' || logLevel === 'debug' ? logLevel : 'info';
  return {
    ...environment,
    ...settings,
    VOUCH_MODE: 'cluster',
    VOUCH_DATA_DIR: config.dataDir,
    VOUCH_SIGNING_KEY_FILE: config.signingKeyFile,
    VOUCH_LOG_LEVEL: level,
  };
}

/** Where one reaches a service that listens on `host`: an address for everybody is no address to call. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
