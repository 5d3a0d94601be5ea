/**
 * The same way with nothing in it: uWebSockets.js, NATS and msgpack in two processes that check, log and search nothing.
 * What a round trip of it takes is what this machine asks for six wake-ups and six socket writes; the service is
 * measured against it in the same run.
 */

import { App, us_socket_local_port } from 'uWebSockets.js';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { pack, unpack } from 'msgpackr';
import { connect } from 'nats';

const ROLES = ['bare-coordinator', 'bare-shard'] as const;
type Role = (typeof ROLES)[number];
const SUBJECT = 'vouch.bench.bare';
const REQUEST_MS = 5_000;
const BENCH = fileURLToPath(new URL('../bench.js', import.meta.url));

export const isBareRole = (word: string | undefined): word is Role => ROLES.some((role) => role === word);

/** Runs one of the two processes until it is killed. Prints a line when it serves: its port, of the coordinator. */
export async function runBareRole(role: Role, natsUrl: string): Promise<void> {
  const nc = await connect({ servers: natsUrl });
  if (role === 'bare-shard') {
    nc.subscribe(SUBJECT, {
      callback: (_error, msg) => void msg.respond(pack({ results: [], asked: unpack(msg.data) })),
    });
    await nc.flush();
    process.stdout.write('0\n');
    return;
  }
  App()
    .post('/*', (res) => {
      let body = '';
      res.onAborted(() => {});
      res.onData(async (chunk, isLast) => {
        body += Buffer.from(chunk).toString();
        if (!isLast) return;
        const answer = await nc.request(SUBJECT, pack(JSON.parse(body)), { timeout: REQUEST_MS });
        const text = JSON.stringify(unpack(answer.data));
        res.cork(() => res.writeHeader('content-type', 'application/json').end(text));
      });
    })
    .listen('127.0.0.1', 0, (socket) => {
      process.stdout.write(`${socket ? us_socket_local_port(socket) : 0}\n`);
    });
}

export class BareStack {
  private constructor(
    private readonly processes: readonly ChildProcess[],
    readonly port: number,
  ) {}

  static async start(natsUrl: string): Promise<BareStack> {
    const processes = ROLES.map((role) =>
      spawn(process.execPath, [BENCH, role, natsUrl], { stdio: ['ignore', 'pipe', 'inherit'] }),
    );
    const lines = await Promise.all(processes.map(({ stdout }) => once(stdout, 'data')));
    return new BareStack(processes, Number(String(lines[0]?.[0])));
  }

  async stop(): Promise<void> {
    const ended = this.processes.map((process) => once(process, 'exit'));
    for (const process of this.processes) process.kill('SIGKILL');
    await Promise.all(ended);
  }
}
