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
import type { Bucket } from '../shared/bucket/bucket.js';
import { BUCKETS } from '../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../shared/clock.js';
import { deleteTree, ifThere } from '../shared/files/durable.js';
import { silentLogger } from '../shared/logger.js';
import { openRegistryBucket } from '../shared/platform/standalonePlatform.js';
import { createKey } from '../shared/registry/keys.js';
import { SETTINGS } from './cluster.js';
import { newFolder } from './folder.js';
import { secondsOf } from './measured.js';

const START = fileURLToPath(new URL('../scripts/start.js', import.meta.url));
const LOOK_MS = 50;

export type Mode = 'standalone' | 'cluster';

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string;
}

export class StartedService {
  readonly #interrupted = (): void => void this.stop().finally(() => process.exit(EXIT_INTERRUPTED));

  private constructor(
    private readonly mode: Mode,
    readonly dataDir: string,
    private running: Running,
  ) {
    process.on('SIGINT', this.#interrupted).on('SIGTERM', this.#interrupted);
  }

  /** Starts a service; a cluster gets one shard. Throws an Error if it ends before it answers. */
  static async start(mode: Mode): Promise<StartedService> {
    const dataDir = await newFolder();
    try {
      return new StartedService(mode, dataDir, await run(mode, dataDir));
    } catch (error) {
      await deleteTree(dataDir);
      throw error;
    }
  }

  get url(): string {
    return this.running.url;
  }

  get key(): string {
    return this.running.key;
  }

  /** Returns a new key of scope `admin` of a standalone service. */
  async newKey(project: string): Promise<string> {
    const keys = await openRegistryBucket({ dataDir: this.dataDir, logger: silentLogger }, BUCKETS.keys);
    try {
      return await adminKey(keys, project);
    } finally {
      await keys.close();
    }
  }

  /** Process ids by the names of the processes. */
  async processIds(): Promise<Readonly<Record<string, number>>> {
    const runtime = (await readRuntime(this.dataDir))!;
    return { service: runtime.pid, ...runtime.processes };
  }

  /** Stops the service and starts it again over the same folder. Returns the seconds of the stop and of the start. */
  async restart(): Promise<{ readonly stop: number; readonly start: number }> {
    const stop = await secondsOf(() => this.#end());
    const start = await secondsOf(async () => {
      this.running = await run(this.mode, this.dataDir);
    });
    return { stop, start };
  }

  async stop(): Promise<void> {
    await this.#end();
    await deleteTree(this.dataDir);
    process.off('SIGINT', this.#interrupted).off('SIGTERM', this.#interrupted);
  }

  async #end(): Promise<void> {
    const { child } = this.running;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }
}

export const adminKey = async (keys: Bucket, project: string): Promise<string> =>
  (await createKey(keys, { project, scope: 'admin' }, systemClock, systemEntropy)).key;

/** Starts the processes over a folder. Resolves when the service answers. */
async function run(mode: Mode, dataDir: string): Promise<Running> {
  const own = { VOUCH_MODE: mode, VOUCH_SHARDS: '1', VOUCH_DATA_DIR: dataDir };
  const env = { ...process.env, ...NODE_ENVIRONMENT, ...SETTINGS, ...own };
  const child = guarded(spawn(process.execPath, [...NODE_FLAGS, START], { env, stdio: 'ignore' }));
  for (;;) {
    const url = (await readRuntime(dataDir))?.url;
    const key = await ifThere(readFile(join(dataDir, 'keys', 'default.key'), 'utf8'));
    if (url && key) return { child, url, key: key.trim() };
    if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode} before it answered`);
    await delay(LOOK_MS);
  }
}
