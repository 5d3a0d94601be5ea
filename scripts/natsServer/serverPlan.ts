/** What has to be there before a nats-server can run on a data folder, and how it is run then. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '../../shared/clock.js';
import { codeOf, isRunning, makeDirectory, replaceFile } from '../../shared/durable.js';
import { messageOf } from '../../shared/errors.js';
import type { NatsBinary } from './binary.js';
import { runProgram } from './program.js';
import { type ServerSettings, serverConfig } from './serverConfig.js';

export interface ServerOptions {
  readonly binary: NatsBinary;
  /** The server's own; what an earlier run left there is served again. */
  readonly dataDir: string;
  readonly port: number;
  readonly host?: string;
  /** One of a kind within a cluster, and the same at every start. */
  readonly name?: string;
  readonly cluster?: ServerSettings['cluster'];
  readonly monitorPort?: number | undefined;
  /** `file`: nats-server.log in the data folder; `stderr`: for whoever runs it to read. */
  readonly log?: 'file' | 'stderr';
  /** How long a server of an earlier run, which may be about to end, is waited for. */
  readonly predecessorWithinMs?: number;
}

export interface ServerPlan {
  readonly program: string;
  readonly args: readonly string[];
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** For clients. */
  readonly url: string;
  readonly logFile: string | undefined;
  /** Of its pages about itself, where it has them. */
  readonly monitorUrl: string | undefined;
}

/** In the line that nats-server logs once it takes clients and JetStream has recovered. */
export const READY_TEXT = 'Server is ready';

const PREDECESSOR_MS = 5_000;
const CHECK_MS = 50;
const ASK_MS = 5_000;

/** Writes the server's configuration. Throws an Error with one line where the folder or the port is in use. */
export async function planServer(options: ServerOptions, clock: Clock = systemClock): Promise<ServerPlan> {
  const { binary, dataDir, port, host = '127.0.0.1', name = 'vouch', cluster, monitorPort, log = 'file' } = options;
  const configFile = join(dataDir, 'nats-server.conf');
  const pidFile = join(dataDir, 'nats-server.pid');
  const logFile = log === 'file' ? join(dataDir, 'nats-server.log') : undefined;
  await makeDirectory(dataDir);
  await awaitPredecessor(pidFile, configFile, options.predecessorWithinMs ?? PREDECESSOR_MS, clock);
  await assertPortFree(host, port);
  const { version } = binary;
  const storeDir = join(dataDir, 'store');
  const own = { name, host, port, storeDir, pidFile, logFile, version, monitorPort };
  const settings = cluster ? { ...own, cluster } : own;
  await replaceFile(configFile, serverConfig(settings));
  const address = host.includes(':') ? `[${host}]` : host;
  return {
    program: binary.path,
    args: ['-c', configFile],
    name,
    host,
    port,
    url: `nats://${address}:${port}`,
    logFile,
    monitorUrl: monitorPort === undefined ? undefined : `http://${address}:${monitorPort}`,
  };
}

/** Two servers on one store would destroy it. */
async function awaitPredecessor(pidFile: string, configFile: string, withinMs: number, clock: Clock): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => '')) || undefined;
  const giveUpMs = clock.monotonicMs() + withinMs;
  while (pid !== undefined && isRunning(pid) && (await commandOf(pid)).includes(configFile)) {
    if (clock.monotonicMs() >= giveUpMs)
      throw new Error(`another nats-server (process ${pid}) runs with ${configFile}; stop it first`);
    await delay(CHECK_MS);
  }
}

/** The command line of a process; empty where it has ended. */
async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return (await runProgram('ps', ['-o', 'command=', '-p', String(pid)], { timeoutMs: ASK_MS })).output;
}

async function assertPortFree(host: string, port: number): Promise<void> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject);
      probe.listen({ host, port, exclusive: true }, resolve);
    });
  } catch (error) {
    const why = codeOf(error) === 'EADDRINUSE' ? 'is in use' : `cannot be used: ${messageOf(error)}`;
    throw new Error(
      `port ${port} of ${host}, for nats-server, ${why}; stop what listens there, or set VOUCH_NATS_URL to use that server`,
    );
  } finally {
    await new Promise<void>((resolve) => {
      probe.close(() => resolve());
    });
  }
}
