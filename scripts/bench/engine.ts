/** The engine without HTTP and NATS: one shard over the local log, called in process. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.js';
import type { Collection } from '../../coordinator/backend.js';
import { ClusterBackend } from '../../coordinator/cluster/clusterBackend.js';
import { runShard } from '../../shard/main.js';
import { systemClock } from '../../shared/clock.js';
import { deleteTree } from '../../shared/durable.js';
import { silentLogger } from '../../shared/logger.js';
import { openStandalone } from '../../shared/standalonePlatform.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Progress } from '../terminal/progress.js';
import { percentile } from './httpLoad.js';
import type { Sizes } from './options.js';
import { recall } from './recall.js';
import type { Row } from './row.js';
import { fixedBytes, randomVectors, realVectors, type VectorSet } from './vectors.js';

const BATCH = 1_000;
const K = 10;
const PROJECT = 'bench';
const COLLECTION = 'measured';

const envelope = (): Envelope => ({ requestId: 'bench', deadlineMs: systemClock.nowMs() + 600_000 });

class Engine {
  private constructor(
    readonly backend: ClusterBackend,
    private readonly stopAll: () => Promise<void>,
  ) {}

  static async start(dataDir: string): Promise<Engine> {
    const config = loadConfig({}, { mode: 'standalone', dataDir, limits: { maxRecords: 4_000_000_000 } });
    const platform = await openStandalone({ dataDir, logger: silentLogger });
    const shard = await runShard({ config, name: 's1', platform, logger: silentLogger });
    const backend = await ClusterBackend.start(config, platform, systemClock, silentLogger);
    return new Engine(backend, async () => {
      await backend.stop();
      await shard.stop();
      await platform.close();
    });
  }

  stop(): Promise<void> {
    return this.stopAll();
  }

  /** Returns seconds. */
  async ingest(collection: Collection, set: VectorSet): Promise<number> {
    const startedMs = systemClock.monotonicMs();
    for (let from = 0; from < set.count; from += BATCH) {
      const to = Math.min(from + BATCH, set.count);
      const vectors = fixedBytes(set.base, set.dimension, from, to);
      const call = {
        op: 'insertBatch',
        count: to - from,
        vectors,
        metadata: null,
        texts: null,
        requestIds: null,
      } as const;
      await this.backend.call(collection, call, envelope());
    }
    return (systemClock.monotonicMs() - startedMs) / 1000;
  }

  /** Ids found for each query, and latencies in ms, ascending. */
  async search(
    collection: Collection,
    set: VectorSet,
    searches: number,
  ): Promise<{ ids: Float64Array[]; latenciesMs: Float64Array }> {
    const latenciesMs = new Float64Array(searches);
    const ids: Float64Array[] = [];
    for (let i = 0; i < searches; i++) {
      const row = i % set.queryCount;
      const query = fixedBytes(set.queries, set.dimension, row, row + 1);
      const startedMs = systemClock.monotonicMs();
      const found = await this.backend.call(collection, { op: 'search', query, k: K }, envelope());
      latenciesMs[i] = systemClock.monotonicMs() - startedMs;
      ids.push(new Float64Array(found.ids.slice().buffer));
    }
    return { ids, latenciesMs: latenciesMs.sort() };
  }
}

export const engineSteps = ({ dimensions }: Sizes, dataFolder: string | undefined): number =>
  dimensions.length + (dataFolder === undefined ? 0 : 1);

export async function benchEngine(sizes: Sizes, dataFolder: string | undefined, progress: Progress): Promise<Row[]> {
  const rows: Row[] = [];
  const measure = async (set: VectorSet): Promise<void> => {
    rows.push(...(await benchSet(set, sizes.engineSearches)));
    progress.advance(1);
  };
  for (const dimension of sizes.dimensions) await measure(randomVectors(dimension, sizes.engineRecords));
  if (dataFolder !== undefined) await measure(await realVectors(dataFolder));
  return rows;
}

async function benchSet(set: VectorSet, searches: number): Promise<Row[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vouch-bench-'));
  try {
    return [...(await benchFresh(dataDir, set, searches)), await benchReplay(dataDir, set)];
  } finally {
    await deleteTree(dataDir);
  }
}

const rowOf = (set: VectorSet, name: string, value: number, unit: string): Row => {
  return { part: 'engine', name: `${name}, ${set.name} ${set.count} × ${set.dimension}`, value, unit };
};

async function benchFresh(dataDir: string, set: VectorSet, searches: number): Promise<Row[]> {
  const engine = await Engine.start(dataDir);
  try {
    const wanted = { name: COLLECTION, dimension: set.dimension, index: 'brute' } as const;
    const { collection } = await engine.backend.create(PROJECT, wanted, envelope());
    const rssBefore = process.memoryUsage.rss();
    const ingestSeconds = await engine.ingest(collection, set);
    const memoryBytes = process.memoryUsage.rss() - rssBefore;
    const { ids, latenciesMs } = await engine.search(collection, set, searches);
    const right = recall(set, ids);
    return [
      rowOf(set, 'ingest, batches of 1,000', set.count / ingestSeconds, 'records/s'),
      rowOf(set, 'search p50', percentile(latenciesMs, 0.5), 'ms'),
      rowOf(set, 'search p99', percentile(latenciesMs, 0.99), 'ms'),
      rowOf(set, 'memory a record, its vector included', memoryBytes / set.count, 'bytes'),
      ...(right === undefined ? [] : [rowOf(set, 'recall@10 against the exact ground truth', right, '')]),
    ];
  } finally {
    await engine.stop();
  }
}

/** A collection is opened by the first call that needs it. */
async function benchReplay(dataDir: string, set: VectorSet): Promise<Row> {
  const engine = await Engine.start(dataDir);
  try {
    const startedMs = systemClock.monotonicMs();
    await engine.search(await engine.backend.find(PROJECT, COLLECTION), set, 1);
    const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
    return rowOf(set, 'replay at a restart', set.count / seconds, 'records/s');
  } finally {
    await engine.stop();
  }
}
