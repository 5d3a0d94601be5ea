/**
 * A standalone service over a data folder, in this process and without HTTP: it starts and stops in a tenth of a
 * second.
 */
import { join } from 'node:path';
import type { Config } from '../../../config/config.js';
import { type ConfigOverrides, loadConfig } from '../../../config/load.js';
import type { Collection, WantedCollection } from '../../../coordinator/cluster/catalog/collection.js';
import { ClusterBackend } from '../../../coordinator/cluster/clusterBackend.js';
import type { Health } from '../../../coordinator/cluster/reports/clusterHealth.js';
import { type RunningShard, runShard } from '../../../shard/shard.js';
import { systemClock } from '../../../shared/clock.js';
import { LocalLogs } from '../../../shared/log/segments.js';
import { silentLogger } from '../../../shared/logger.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import type { DamagedPart } from '../../../shared/model/damage.js';
import type { Platform } from '../../../shared/platform/platform.js';
import { openStandalone } from '../../../shared/platform/standalonePlatform.js';
import type { Call, ResultOf } from '../../../shared/protocol/calls.js';
import { samplesNamed } from '../launch/metricSamples.js';
import { soon } from './engine.js';

/** Name of the shard and of its folder. */
const SHARD = 's1';
export const SHARD_FOLDER = Buffer.from(SHARD).toString('hex');

export interface FolderServiceOptions extends ConfigOverrides {
  /** Size of new segments; without it, the product's default. */
  readonly segmentBytes?: number;
}

/** The parts of a running service; `stops` ends all of them, in this order. */
interface Running {
  readonly shard: RunningShard;
  readonly backend: ClusterBackend;
  readonly stops: readonly (() => Promise<void>)[];
}

export class FolderService {
  private constructor(
    readonly config: Config,
    readonly platform: Platform,
    private readonly running: Running,
  ) {}

  /** Throws the error of a refused start. */
  static async start(
    dataDir: string,
    { segmentBytes, ...overrides }: FolderServiceOptions = {},
  ): Promise<FolderService> {
    const logger = silentLogger;
    const config = loadConfig({}, { mode: 'standalone', dataDir, placement: { heartbeatMs: 20 }, ...overrides });
    const stops: (() => Promise<void>)[] = [];
    try {
      const standalone = await openStandalone({ dataDir, logger });
      stops.unshift(() => standalone.close());
      const platform = segmentBytes === undefined ? standalone : await withSegments(standalone, dataDir, segmentBytes);
      if (platform !== standalone) stops.unshift(() => (platform.logs as LocalLogs).close());
      const shard = await runShard({ config, name: SHARD, platform, logger });
      stops.unshift(() => shard.stop());
      const backend = await ClusterBackend.start(config, platform, {
        metrics: new Metrics('coordinator'),
        clock: systemClock,
        logger,
      });
      stops.unshift(() => backend.stop());
      return new FolderService(config, platform, { shard, backend, stops });
    } catch (error) {
      for (const stop of stops) await stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const stop of this.running.stops) await stop();
  }

  async create(project: string, wanted: WantedCollection): Promise<Collection> {
    return (await this.running.backend.create(project, wanted, soon())).collection;
  }

  find(project: string, name: string): Promise<Collection> {
    return this.running.backend.find(project, name);
  }

  call<C extends Call>(collection: Collection, call: C): Promise<ResultOf<C>> {
    return this.running.backend.call(collection, call, soon());
  }

  health(): Promise<Health> {
    return this.running.backend.health();
  }

  get collections(): number {
    return this.running.shard.status().collections;
  }

  /** Number of collections with damage, by damaged part, according to the metrics. */
  async damaged(): Promise<Partial<Record<DamagedPart, number>>> {
    const samples = samplesNamed('vouch_damaged', ...(await this.running.backend.shardMetrics()));
    return Object.fromEntries(
      samples.filter(({ value }) => value > 0).map(({ value, labels }) => [labels.part as DamagedPart, value]),
    );
  }
}

/** The platform with smaller log segments. */
async function withSegments(platform: Platform, dataDir: string, segmentBytes: number): Promise<Platform> {
  const logs = await LocalLogs.open({ folder: join(dataDir, 'collections'), segmentBytes });
  return {
    mode: platform.mode,
    transport: platform.transport,
    logs,
    losses: logs,
    bucket: (...asked) => platform.bucket(...asked),
    vault: () => platform.vault(),
    serviceLog: () => platform.serviceLog(),
    storeRoom: () => platform.storeRoom(),
    refusesWrites: (error) => platform.refusesWrites(error),
    missing: () => platform.missing(),
    natsServers: (timeoutMs) => platform.natsServers(timeoutMs),
    close: () => platform.close(),
  };
}
