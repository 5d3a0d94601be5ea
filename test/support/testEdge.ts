/** The HTTP edge over a fake backend and a key store in memory, with a clock that the test moves. */
import type { Config } from '../../config/config.js';
import { type ConfigOverrides, loadConfig } from '../../config/load.js';
import { type Edge, startEdge } from '../../coordinator/edge.js';
import { LocalLimiter } from '../../coordinator/limits/limiter.js';
import { MemoryBucket } from '../../shared/bucket/memory.js';
import { type Clock, systemClock, systemEntropy } from '../../shared/clock.js';
import { createKey, type Scope } from '../../shared/keys.js';
import { type Logger, silentLogger } from '../../shared/logger.js';
import { Client } from './client.js';
import { FakeBackend } from './fakeBackend.js';

export class TestClock implements Clock {
  #ms = 0;

  advance(ms: number): void {
    this.#ms += ms;
  }

  nowMs(): number {
    return 1_800_000_000_000 + this.#ms;
  }

  monotonicMs(): number {
    return 5_000 + this.#ms;
  }
}

interface TestParts {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly keys?: MemoryBucket;
}

export class TestEdge {
  private constructor(
    readonly edge: Edge,
    readonly backend: FakeBackend,
    readonly keys: MemoryBucket,
  ) {}

  static async start(
    overrides: ConfigOverrides = {},
    { clock = systemClock, logger = silentLogger, keys = new MemoryBucket({ logger: silentLogger }) }: TestParts = {},
  ): Promise<TestEdge> {
    const config: Config = loadConfig({}, { http: { port: 0 }, rateLimits: 'off', ...overrides });
    const backend = new FakeBackend();
    const platform = { bucket: async () => keys };
    const limiter = new LocalLimiter(config.rateLimits, clock);
    const edge = await startEdge({ config, backend, limiter, platform, logger, clock, version: '1.2.3' });
    return new TestEdge(edge, backend, keys);
  }

  async key(scope: Scope = 'read_write', project = 'p'): Promise<string> {
    return (await createKey(this.keys, { project, scope }, systemClock, systemEntropy)).key;
  }

  async client(scope?: Scope, project?: string): Promise<Client> {
    return new Client(this.edge.url, await this.key(scope, project));
  }

  async stop(): Promise<void> {
    await this.edge.stop();
    this.keys.close();
  }
}
