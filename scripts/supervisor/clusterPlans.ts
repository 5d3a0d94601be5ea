/** The processes of a cluster on one machine: what each is called, how it is run, and where it tells how it is. */
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/config.js';
import { READY_TEXT, type ServerPlan } from '../natsServer/serverPlan.js';
import { saysReady } from './childLog.js';
import type { ProcessPlan } from './supervisedProcess.js';

/** How many of each. */
export interface ClusterSize {
  /** NATS servers; 0 where others' are used. */
  readonly servers: number;
  readonly coordinators: number;
  readonly shards: number;
}

/** A part of the cluster as a person is shown it. */
export interface Part {
  /** `n1`, `c1`, `s1`. */
  readonly name: string;
  /** Of its process, in the list of running ones. */
  readonly process: string;
  /** A server's pages about itself, a coordinator's metrics. */
  readonly url?: string | undefined;
}

export interface ClusterLayout {
  readonly servers: readonly Part[];
  readonly coordinators: readonly Part[];
  readonly shards: readonly Part[];
}

const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;

const SHARD = entry('shard/main.js');
const COORDINATOR = entry('coordinator/main.js');

const numbered = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);

/** `plans`: in the order of their names. */
export const serverParts = (plans: readonly ServerPlan[]): Part[] =>
  plans.map(({ name, monitorUrl }) => ({
    name: plans.length === 1 ? 'n1' : name,
    process: plans.length === 1 ? 'nats-server' : `nats ${name}`,
    url: monitorUrl,
  }));

export const shardParts = (count: number): Part[] =>
  numbered('s', count).map((name) => ({ name, process: `shard ${name}` }));

/** `metrics`: where each serves them; undefined: beside the API. */
export const coordinatorParts = (count: number, apiUrl: string, metrics: readonly MetricsAddress[]): Part[] =>
  numbered('c', count).map((name, i) => ({
    name,
    process: count === 1 ? 'coordinator' : `coordinator ${name}`,
    url: `${metrics[i] === undefined ? apiUrl : `http://${urlHost(metrics[i].host)}:${metrics[i].port}`}/metrics`,
  }));

export type MetricsAddress = NonNullable<Config['metrics']>;

/** As a variable of the environment says it. */
export const addressText = ({ host, port }: MetricsAddress): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

export const natsPlan = (name: string, { program, args }: ServerPlan, restartAfterMs?: number): ProcessPlan => ({
  name,
  program,
  args,
  env: process.env,
  isReady: (line) => line.includes(READY_TEXT),
  startWithinMs: START_WITHIN_MS,
  stopWithinMs: STOP_WITHIN_MS,
  restartAfterMs,
});

export const shardPlan = ({ name, process }: Part, env: NodeJS.ProcessEnv, restartAfterMs?: number): ProcessPlan =>
  ourPlan(process, [SHARD, '--name', name], env, restartAfterMs);

export const coordinatorPlan = (
  { name, process }: Part,
  env: NodeJS.ProcessEnv,
  restartAfterMs?: number,
): ProcessPlan => ourPlan(process, [COORDINATOR, '--name', name], env, restartAfterMs);

const ourPlan = (
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  restartAfterMs: number | undefined,
): ProcessPlan => ({
  name,
  program: process.execPath,
  args,
  env,
  isReady: saysReady,
  startWithinMs: START_WITHIN_MS,
  stopWithinMs: STOP_WITHIN_MS,
  restartAfterMs,
});

/** Children say at level info that they are ready, so they log at least that; the files hold what was asked for. */
export function childEnvironment(
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
    VOUCH_REPLICAS: String(config.nats.replicas),
    VOUCH_LOG_LEVEL: level,
  };
}

/** Where one reaches a service that listens on `host`: an address for everybody is no address to call. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Of the compiled program; this file runs as dist/scripts/supervisor/clusterPlans.js. */
function entry(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
