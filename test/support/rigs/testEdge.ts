/** The HTTP edge over a fake backend and a key store in memory, with a clock that the test moves. */

import type { Config } from '../../../config/config.js';
import { type ConfigOverrides, loadConfig } from '../../../config/load.js';
import { type Edge, startEdge } from '../../../coordinator/edge.js';
import { LocalLimiter } from '../../../coordinator/limits/limiter.js';
import type { ServedLog } from '../../../coordinator/serviceLog/serviceLog.js';
import { MemoryBucket } from '../../../shared/bucket/memory.js';
import { type Clock, systemClock, systemEntropy } from '../../../shared/clock.js';
import { type Logger, silentLogger } from '../../../shared/logger.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import { createKey, type Scope } from '../../../shared/registry/keys.js';
import { Client } from '../launch/client.js';
import { type EngineName, whyNoUws } from '../launch/engines.js';
import { skip } from '../skip.js';
import { FakeBackend } from './fakeBackend.js';

export class TestClock implements Clock {
  #ms = 0;
  #jumpedMs = 0;

  advance(ms: number): void {
    this.#ms += ms;
  }

  /** Moves the wall clock forward or back. */
  jump(ms: number): void {
    this.#jumpedMs += ms;
  }

  nowMs(): number {
    return 1_800_000_000_000 + this.#ms + this.#jumpedMs;
  }

  monotonicMs(): number {
    return 5_000 + this.#ms;
  }
}

/** A service log without an entry. */
export const EMPTY_LOG: ServedLog = {
  checkpoint: undefined,
  tile: async () => undefined,
  proveNewest: async () => undefined,
  proveAccess: async () => undefined,
  untilAccessLogged: async () => undefined,
  untilLogged: async () => undefined,
};

/** Declares the suite once per engine: uWebSockets.js if it runs here, and Node's own. */
export function overEngines(title: string, suite: (engine: EngineName) => void): void {
  for (const engine of ['uws', 'node'] as const)
    describe(`${title} (${engine})`, () => {
      before(async function () {
        const reason = engine === 'uws' ? await whyNoUws() : undefined;
        if (reason !== undefined) skip(this, reason);
      });
      suite(engine);
    });
}

/** Resolves when `condition` holds; fails after five seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await condition()); turn++) {
    if (turn > 500) throw new Error('the condition was not met in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

interface TestParts {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly keys?: MemoryBucket;
  readonly serviceLog?: ServedLog;
}

export class TestEdge {
  private constructor(
    readonly edge: Edge,
    readonly backend: FakeBackend,
    readonly keys: MemoryBucket,
  ) {}

  static async start(
    overrides: ConfigOverrides = {},
    {
      clock = systemClock,
      logger = silentLogger,
      keys = new MemoryBucket({ logger: silentLogger }),
      serviceLog = EMPTY_LOG,
    }: TestParts = {},
  ): Promise<TestEdge> {
    const { http, ...others } = overrides;
    const config: Config = loadConfig({}, { http: { port: 0, ...http }, rateLimits: 'off', ...others });
    const backend = new FakeBackend();
    const platform = { bucket: async () => keys };
    const limiter = new LocalLimiter(config.rateLimits, clock);
    const metrics = new Metrics('coordinator');
    const edge = await startEdge({
      ...{ config, backend, limiter, serviceLog, platform, metrics, logger, clock },
      version: '1.2.3',
    });
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
