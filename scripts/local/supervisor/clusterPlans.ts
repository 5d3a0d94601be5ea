/** The processes of a cluster on one machine: their names, command lines and addresses. */

import { fileURLToPath } from 'node:url';
import type { Config } from '../../../config/config.js';
import { strayVariables } from '../../../config/load.js';
import { systemMemoryBytes } from '../../../shared/process/memoryLimit.js';
import { READY_TEXT, type ServerPlan } from '../natsServer/serverPlan.js';
import { bracketed } from '../port.js';
import type { ProcessPlan } from './supervisedProcess.js';

/** A part of the cluster in the view. */
export interface ClusterPart {
  /** `n1`, `c1`, `s1`. */
  readonly name: string;
  /** The name of its process. */
  readonly process: string;
  /** The status pages of a server, the metrics of a coordinator. */
  readonly url?: string | undefined;
}

export interface ClusterLayout {
  readonly servers: readonly ClusterPart[];
  readonly coordinators: readonly ClusterPart[];
  readonly shards: readonly ClusterPart[];
}

export type MetricsAddress = NonNullable<Config['metrics']>;

const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 10_000;

const numbered = (letter: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);

export const serverParts = (plans: readonly ServerPlan[]): ClusterPart[] =>
  numbered('n', plans.length).map((name, i) => ({
    name,
    process: plans.length === 1 ? 'nats-server' : `nats ${name}`,
    url: plans[i]!.monitorUrl,
  }));

export const shardParts = (count: number): ClusterPart[] =>
  numbered('s', count).map((name) => ({ name, process: `shard ${name}` }));

/** `metrics`: the addresses of coordinators that do not serve their metrics beside the API. */
export const coordinatorParts = (count: number, metrics: readonly MetricsAddress[]): ClusterPart[] =>
  numbered('c', count).map((name, i) => ({
    name,
    process: count === 1 ? 'coordinator' : `coordinator ${name}`,
    url: metrics[i] && `http://${urlHost(metrics[i].host)}:${metrics[i].port}/metrics`,
  }));

const TIMES = { startWithinMs: START_WITHIN_MS, stopWithinMs: STOP_WITHIN_MS };

/**
 * Flags of Node. The size is in MiB: young objects take up to three times as many, long after the load that made them. Compared
 * with 8, an insert with 4 takes 5 to 9% more processor time, in garbage collections, and a search up to 6%.
 *
 * A garbage collection waits for V8's helping threads. With a heap of 700 MiB that takes up to 400 ms if other threads use the
 * processors. Without helping threads the collection takes 20 ms.
 */
export const NODE_FLAGS = ['--max-semi-space-size=8', '--single-threaded-gc'];
/**
 * Variables of glibc. By default it keeps memory that threads have freed, in eight arenas for each processor, and memory between
 * used bytes. With these, pieces of 128 KiB and more have pages of their own.
 */
export const NODE_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '1048576',
};

/**
 * How much later than asked Linux may end a sleep of a NATS server; by default 50 µs. Go's thread `sysmon` sleeps for 20 µs at a
 * time while there is work. With a millisecond the server takes 0.75 of the processor time. With four, writes to many collections
 * are slower: the thread also replaces a thread that waits for an fsync.
 */
const TIMER_SLACK_NS = 1_000_000;
/** Sets the slack of the shell, which the program inherits. Other systems than Linux have no such file. */
const SLACKENED = `{ echo ${TIMER_SLACK_NS} >/proc/self/timerslack_ns; } 2>/dev/null; exec "$0" "$@"`;

/**
 * The plan of a NATS server, with Go's defaults. With GOGC=50 a batch takes 1.5 times the processor time. The server keeps the
 * writes of ten seconds in memory; with a memory limit below that, it mostly collects garbage.
 */
export const natsPlan = (
  name: string,
  { program, args }: Pick<ServerPlan, 'program' | 'args'>,
  restartAfterMs?: number,
): ProcessPlan => ({
  name,
  program: 'sh',
  args: ['-c', SLACKENED, program, ...args],
  env: process.env,
  restartAfterMs,
  ...TIMES,
  isReady: (line) => line.includes(READY_TEXT),
});

export const nodePlan = (
  role: 'shard' | 'coordinator',
  part: ClusterPart,
  env: NodeJS.ProcessEnv,
  restartAfterMs?: number,
): ProcessPlan => ({
  ...{ name: part.process, program: process.execPath, env: { ...NODE_ENVIRONMENT, ...env }, restartAfterMs, ...TIMES },
  // This runs as dist/scripts/local/supervisor/clusterPlans.js.
  args: [...NODE_FLAGS, fileURLToPath(new URL(`../../../${role}/main.js`, import.meta.url)), '--name', part.name],
  isReady: (line) => line.startsWith('{') && line.includes('"msg":"ready"'),
});

/** The environment of a child, with log level info or lower, since the child logs at info that it is ready. */
export function childEnvironment(
  { dataDir, signingKeyFile, serviceLog, nats, logLevel }: Config,
  environment: NodeJS.ProcessEnv,
  settings: Record<string, string>,
): NodeJS.ProcessEnv {
  // The start has warned of them: its children need not.
  const stray = Object.fromEntries(strayVariables(environment).map((name) => [name, undefined]));
  return {
    ...environment,
    ...stray,
    ...settings,
    VOUCH_MODE: 'cluster',
    VOUCH_DATA_DIR: dataDir,
    VOUCH_SIGNING_KEY_FILE: signingKeyFile,
    VOUCH_LOG_KEY_FILE: serviceLog.keyFile,
    VOUCH_WITNESSES: serviceLog.witnesses,
    VOUCH_REPLICAS: String(nats.replicas),
    VOUCH_LOG_LEVEL: logLevel === 'trace' || logLevel === 'debug' ? logLevel : 'info',
  };
}

/** Settings for shards of one machine: their part of its memory, and the size of the store. */
export function shardSizes({ limits }: Config, shards: number, storeBytes: number): Record<string, string> {
  const memoryBytes = limits.memoryBytes || Math.floor(systemMemoryBytes() / shards);
  return { VOUCH_MEMORY_BYTES: String(memoryBytes), VOUCH_STORE_BYTES: String(limits.storeBytes || storeBytes) };
}

/** The host to call for a service that listens on `host`, which may be a wildcard. */
export const urlHost = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : bracketed(host);
