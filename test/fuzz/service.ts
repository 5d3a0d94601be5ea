/** The whole service in this process, without NATS, for fuzzed messages and requests. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.js';
import { type RunningCoordinator, runCoordinator } from '../../coordinator/coordinator.js';
import { type RunningShard, runShard } from '../../shard/shard.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { silentLogger } from '../../shared/logger.js';
import type { Platform } from '../../shared/platform/platform.js';
import { openStandalone } from '../../shared/platform/standalonePlatform.js';
import { createKey } from '../../shared/registry/keys.js';
import { Client } from '../support/launch/client.js';

export class FuzzedService {
  private constructor(
    readonly platform: Platform,
    readonly url: string,
    private readonly folder: string,
    private readonly shard: RunningShard,
    private readonly coordinator: RunningCoordinator,
  ) {}

  static async start(): Promise<FuzzedService> {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-fuzz-'));
    const overrides = { mode: 'standalone', http: { port: 0 }, dataDir: folder, rateLimits: 'off' } as const;
    const config = loadConfig({}, overrides);
    const logger = silentLogger;
    const platform = await openStandalone({ dataDir: folder, logger });
    const shard = await runShard({ config, name: 's1', platform, logger });
    const coordinator = await runCoordinator({ config, platform, logger });
    return new FuzzedService(platform, coordinator.url, folder, shard, coordinator);
  }

  /** A client of the project, which is created for it. */
  async client(project: string): Promise<Client> {
    const keys = await this.platform.bucket(BUCKETS.keys);
    const { key } = await createKey(keys, { project, scope: 'read_write' }, systemClock, systemEntropy);
    return new Client(this.url, key);
  }

  async stop(): Promise<void> {
    await this.coordinator.stop();
    await this.shard.stop();
    await this.platform.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
