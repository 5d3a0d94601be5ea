/** Plans nats-servers of this machine, a single one or a cluster: their data folders, ports and command lines. */
import { readdir, readFile, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock, systemEntropy } from '../../../shared/clock.js';
import { messageOf } from '../../../shared/errors/errors.js';
import { codeOf, ifThere, makeDirectory, replaceFile } from '../../../shared/files/durable.js';
import { isRunning } from '../../../shared/files/isRunning.js';
import { toHex } from '../../../shared/hashing/hash.js';
import { poll, RETRY_MS } from '../../../shared/scheduling/retry.js';
import { bracketed, probePort } from '../port.js';
import type { NatsBinary } from './binary.js';
import { runProgram } from './program.js';
import { type ServerSettings, serverConfig } from './serverConfig.js';
import { type NatsUsers, natsUsers, usersFolder } from './users.js';

export interface ServerOptions {
  readonly binary: NatsBinary;
  /** The server's own folder; data of an earlier run is served again. */
  readonly dataDir: string;
  readonly port: number;
  readonly host?: string;
  /** Unique in a cluster, and unchanged from start to start. */
  readonly name?: string;
  readonly cluster?: ServerSettings['cluster'];
  readonly monitorPort?: number | undefined;
  readonly users?: NatsUsers | undefined;
  /** The number of servers with data on this disk; by default 1. */
  readonly neighbours?: number;
  /** `file`: nats-server.log in the data folder; `stderr`: for the parent process to read. */
  readonly log?: 'file' | 'stderr';
  /** Time that the server of an earlier run has to end. */
  readonly predecessorWithinMs?: number;
}

export interface ServerPlan {
  readonly program: string;
  readonly args: readonly string[];
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** The address for clients. */
  readonly url: string;
  readonly logFile: string | undefined;
  /** Largest number of bytes of its streams. */
  readonly storeBytes: number;
  /** The address of its status pages, if it has any. */
  readonly monitorUrl: string | undefined;
}

/** The ports of one server; all different. */
interface ServerPorts {
  readonly client: number;
  /** For the other servers. */
  readonly route: number;
  /** For its status pages; undefined without them. */
  readonly monitor: number | undefined;
}

/** A part of the line that nats-server logs when it accepts clients and JetStream has recovered. */
export const READY_TEXT = 'Server is ready';

const HOST = '127.0.0.1';
const CLUSTER = 'vouch';
const STORE = 'store';
/** Share of the free disk that a store may take. */
const STORE_PART = 0.75;
const PREDECESSOR_MS = 5_000;
const ASK_MS = 5_000;
/** Random bytes in the path of the status pages, which serves as a password. */
const MONITOR_PATH_BYTES = 16;

export const serverNames = (count: number): string[] => Array.from({ length: count }, (_, i) => `n${i + 1}`);

/** The replicas for so many servers: one a server, at most three, since more cost more than they save. */
export const replicasFor = (servers: number): number => Math.min(3, servers);

/**
 * Plans a server for each of `ports`, in the folder `nats` of the data folder: a single one in that, several in a folder each.
 * Throws an Error of one line if the data is from another number of servers, or a port is in use.
 */
export async function planServers(
  binary: NatsBinary,
  folder: string,
  ports: readonly ServerPorts[],
): Promise<ServerPlan[]> {
  const dataDir = join(folder, 'nats');
  await assertSameServers(dataDir, ports.length);
  const users = await natsUsers(usersFolder(folder));
  const names = serverNames(ports.length);
  const plan = ({ client: port, monitor: monitorPort, route }: ServerPorts, i: number): Promise<ServerPlan> => {
    const options = { binary, port, monitorPort, users, neighbours: ports.length, log: 'stderr' } as const;
    if (ports.length === 1) return planServer({ ...options, dataDir });
    const name = names[i]!;
    const routes = ports.filter((_, other) => other !== i).map((other) => `${HOST}:${other.route}`);
    const cluster = { name: CLUSTER, host: HOST, port: route, routes };
    return planServer({ ...options, dataDir: join(dataDir, name), name, cluster });
  };
  return Promise.all(ports.map(plan));
}

/** Refuses another number of servers than before: these would start without data, or never find a majority. */
async function assertSameServers(dataDir: string, count: number): Promise<void> {
  const found = (await ifThere(readdir(dataDir))) ?? [];
  const clustered = found.filter((name) => /^n\d+$/.test(name)).length;
  const before = clustered > 0 ? clustered : found.includes(STORE) ? 1 : count;
  if (before !== count)
    throw new Error(
      `${dataDir} holds the data of ${before} NATS server${before === 1 ? '' : 's'}, not of ${count}; start as many, or set another data folder`,
    );
}

/** Writes the server's configuration. Throws an Error of one line if the folder or the port is in use. */
export async function planServer(options: ServerOptions, clock: Clock = systemClock): Promise<ServerPlan> {
  const { binary, dataDir, port, host = HOST, name = 'vouch', cluster, monitorPort, users, log = 'file' } = options;
  const configFile = join(dataDir, 'nats-server.conf');
  const pidFile = join(dataDir, 'nats-server.pid');
  const logFile = log === 'file' ? join(dataDir, 'nats-server.log') : undefined;
  await makeDirectory(dataDir);
  await awaitPredecessor(pidFile, configFile, options.predecessorWithinMs ?? PREDECESSOR_MS, clock);
  await assertPortFree(host, port);
  const path = `/${toHex(systemEntropy(MONITOR_PATH_BYTES))}`;
  const monitor = monitorPort === undefined ? undefined : { port: monitorPort, path };
  const storeDir = join(dataDir, STORE);
  const storeBytes = await storeSizeBytes(dataDir, storeDir, options.neighbours ?? 1);
  const settings = { name, host, port, storeDir, storeBytes, pidFile, logFile, monitor, users };
  await replaceFile(configFile, serverConfig({ ...settings, ...(cluster && { cluster }) }));
  return {
    program: binary.path,
    args: ['-c', configFile],
    name,
    host,
    port,
    url: `nats://${bracketed(host)}:${port}`,
    logFile,
    storeBytes,
    monitorUrl: monitor && `http://${bracketed(host)}:${monitor.port}${monitor.path}`,
  };
}

/**
 * The size limit of a store: its present size, plus the server's part of three quarters of the free disk. The default of nats-server
 * ignores the present size: a store that fills half of the disk would be full after a restart.
 */
async function storeSizeBytes(dataDir: string, storeDir: string, servers: number): Promise<number> {
  const { bavail, bsize } = await statfs(dataDir);
  let sizeBytes = Math.floor((STORE_PART * bavail * bsize) / servers);
  // The server itself reports a store that is not a folder.
  if (!(await ifThere(stat(storeDir)))?.isDirectory()) return sizeBytes;
  for (const name of await readdir(storeDir, { recursive: true })) {
    const file = await ifThere(stat(join(storeDir, name)));
    if (file?.isFile()) sizeBytes += file.size;
  }
  return sizeBytes;
}

/** Waits for the server of an earlier run to end: two servers on one store would destroy it. */
async function awaitPredecessor(pidFile: string, configFile: string, withinMs: number, clock: Clock): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => '')) || undefined;
  const hasEnded = async (): Promise<true | undefined> =>
    pid !== undefined && isRunning(pid) && (await commandOf(pid)).includes(configFile) ? undefined : true;
  if ((await poll(hasEnded, { everyMs: RETRY_MS.process, withinMs, clock })) === undefined)
    throw new Error(`another nats-server (process ${pid}) runs with ${configFile}; stop it first`);
}

/** The command line of a process; empty if it has ended. */
const commandOf = (pid: number): Promise<string> =>
  (process.platform === 'linux'
    ? readFile(`/proc/${pid}/cmdline`, 'utf8')
    : runProgram('ps', ['-o', 'command=', '-p', String(pid)], { timeoutMs: ASK_MS })
  ).catch(() => '');

async function assertPortFree(host: string, port: number): Promise<void> {
  try {
    await probePort(host, port);
  } catch (error) {
    const why = codeOf(error) === 'EADDRINUSE' ? 'is in use' : `cannot be used: ${messageOf(error)}`;
    throw new Error(
      `port ${port} of ${host}, for nats-server, ${why}; stop what listens there, or set VOUCH_NATS_URL to use that server`,
    );
  }
}
