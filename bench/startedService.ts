/** A service in the processes of `npm start`, over a folder that is deleted in the end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '../scripts/local/supervisor/clusterPlans.js';
import { guarded } from '../scripts/local/supervisor/guarded.js';
import { readRuntime } from '../scripts/local/supervisor/runtimeFile.js';
import { EXIT_INTERRUPTED } from '../scripts/terminal/signals.js';
import { deleteTree, ifThere } from '../shared/files/durable.js';
import { SETTINGS } from './cluster.js';
import { newFolder } from './folder.js';

const START = fileURLToPath(new URL('../scripts/start.js', import.meta.url));
const LOOK_MS = 50;

export type Mode = 'standalone' | 'cluster';

export class StartedService {
  readonly #interrupted = (): void => void this.stop().finally(() => process.exit(EXIT_INTERRUPTED));

  private constructor(
    private readonly child: ChildProcess,
    readonly dataDir: string,
    readonly url: string,
    readonly key: string,
  ) {
    process.on('SIGINT', this.#interrupted).on('SIGTERM', this.#interrupted);
  }

  /** Starts a service; a cluster gets one shard. Throws an Error if it ends before it answers. */
  static async start(mode: Mode): Promise<StartedService> {
    const dataDir = await newFolder();
    const own = { VOUCH_MODE: mode, VOUCH_SHARDS: '1', VOUCH_DATA_DIR: dataDir };
    const env = { ...process.env, ...NODE_ENVIRONMENT, ...SETTINGS, ...own };
    const child = guarded(spawn(process.execPath, [...NODE_FLAGS, START], { env, stdio: 'ignore' }));
    for (;;) {
      const url = (await readRuntime(dataDir))?.url;
      const key = await ifThere(readFile(join(dataDir, 'keys', 'default.key'), 'utf8'));
      if (url && key) return new StartedService(child, dataDir, url, key.trim());
      if (child.exitCode !== null) {
        await deleteTree(dataDir);
        throw new Error(`the service ended with ${child.exitCode} before it answered`);
      }
      await delay(LOOK_MS);
    }
  }

  /** Process ids by the names of the processes. */
  async processIds(): Promise<Readonly<Record<string, number>>> {
    const runtime = (await readRuntime(this.dataDir))!;
    return { service: runtime.pid, ...runtime.processes };
  }

  async stop(): Promise<void> {
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
    await deleteTree(this.dataDir);
    process.off('SIGINT', this.#interrupted).off('SIGTERM', this.#interrupted);
  }
}
