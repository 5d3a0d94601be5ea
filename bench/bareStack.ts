/**
 * The service's stack without its work: uWebSockets.js, NATS and msgpack in two processes that check, log and search nothing.
 * A round trip through it costs what this machine takes for six wake-ups and six socket writes. The service is measured
 * against it in one run.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config/config.js';
import { guarded } from '../scripts/local/supervisor/guarded.js';

const ROLES = ['bare-coordinator', 'bare-shard'] as const;
const PROCESS = fileURLToPath(new URL('./bareProcess.js', import.meta.url));

export class BareStack {
  private constructor(
    private readonly processes: readonly ChildProcess[],
    readonly port: number,
  ) {}

  static async start({ url, nkey }: Config['nats']): Promise<BareStack> {
    const env = { ...process.env, VOUCH_NATS_NKEY: nkey };
    const processes = ROLES.map((role) =>
      guarded(spawn(process.execPath, [PROCESS, role, url!], { env, stdio: ['ignore', 'pipe', 'inherit'] })),
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
