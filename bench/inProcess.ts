/** A shard over the local log, and a coordinator's backend, in this process: the service without HTTP and NATS. */
import type { Config } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import type { Collection } from '../coordinator/cluster/catalog/collection.js';
import { ClusterBackend } from '../coordinator/cluster/clusterBackend.js';
import { float64sOf } from '../coordinator/handlers/hits.js';
import { samplesOf } from '../scripts/local/clusterView/watch/figures.js';
import { runShard } from '../shard/shard.js';
import { type Clock, systemClock } from '../shared/clock.js';
import { silentLogger } from '../shared/logger.js';
import { Metrics } from '../shared/metrics/metrics.js';
import { joinMetricTexts } from '../shared/metrics/metricsText.js';
import { openStandalone } from '../shared/platform/standalonePlatform.js';
import type { Envelope } from '../shared/transport/transport.js';
import { inFolder } from './folder.js';
import { liveHeapBytes } from './heap.js';
import { type TimedSearches, timedSearches } from './timedSearches.js';
import { fixedBytes, type VectorSet } from './vectors.js';

const BATCH = 1_000;
/** Hits of every search. */
export const K = 10;

export const envelope = (): Envelope => ({ requestId: 'bench', deadlineMs: systemClock.nowMs() + 600_000 });

export class Engine {
  private constructor(readonly backend: ClusterBackend) {}

  /**
   * Runs an engine during `work`. `clock`: the shard's clock, which gives records their times. `snapshots`: by default from the
   * settings.
   */
  static async run<T>(
    dataDir: string,
    work: (engine: Engine) => Promise<T>,
    clock: Clock = systemClock,
    snapshots?: Config['snapshots'],
  ): Promise<T> {
    const config = loadConfig(
      {},
      { mode: 'standalone', dataDir, limits: { maxRecords: 4_000_000_000, maxBytes: 2 ** 50 }, snapshots },
    );
    const platform = await openStandalone({ dataDir, logger: silentLogger });
    const shard = await runShard({ config, name: 's1', platform, logger: silentLogger, clock });
    const backend = await ClusterBackend.start(config, platform, {
      metrics: new Metrics('coordinator'),
      clock: systemClock,
      logger: silentLogger,
    });
    try {
      return await work(new Engine(backend));
    } finally {
      await backend.stop();
      await shard.stop();
      await platform.close();
    }
  }

  /** Ingests the set. Returns the seconds that the engine took, without the client's preparation. */
  async ingest(collection: Collection, { base, dimension, count }: VectorSet): Promise<number> {
    let ms = 0;
    for (let from = 0; from < count; from += BATCH) {
      const to = Math.min(from + BATCH, count);
      const vectors = fixedBytes(base, dimension, from, to);
      const records = { count: to - from, vectors, metadata: null, texts: null, requestIds: null };
      const startedMs = systemClock.monotonicMs();
      await this.backend.call(collection, { op: 'insertBatch', ...records }, envelope());
      ms += systemClock.monotonicMs() - startedMs;
    }
    return ms / 1000;
  }

  /** Memory of the collections: JavaScript's heap, and the vectors. */
  async memoryBytes(): Promise<number> {
    return liveHeapBytes() + (await this.#vectorBytes());
  }

  search(collection: Collection, set: VectorSet, searches: number): Promise<TimedSearches> {
    return timedSearches(set, searches, async (query) => {
      const found = await this.backend.call(collection, { op: 'search', query, k: K }, envelope());
      return float64sOf(found.ids);
    });
  }

  async #vectorBytes(): Promise<number> {
    const text = joinMetricTexts(await this.backend.shardMetrics());
    return samplesOf(text, new Set(['vouch_vector_bytes']))[0]?.value ?? Number.NaN;
  }
}

/** Runs an engine over a temporary folder during `work`. */
export const inEngine = <T>(work: (engine: Engine) => Promise<T>, clock?: Clock): Promise<T> =>
  inFolder((dataDir) => Engine.run(dataDir, work, clock));
