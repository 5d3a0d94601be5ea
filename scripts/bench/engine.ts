/** The engine without HTTP and NATS: one shard over the local log, called in process. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.js';
import type { Collection } from '../../coordinator/backend.js';
import { ClusterBackend } from '../../coordinator/cluster/clusterBackend.js';
import { numbersOf } from '../../coordinator/handlers/numbers.js';
import { runShard } from '../../shard/main.js';
import { systemClock } from '../../shared/clock.js';
import { deleteTree } from '../../shared/durable.js';
import { silentLogger } from '../../shared/logger.js';
import { openStandalone } from '../../shared/standalonePlatform.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { liveHeapBytes } from './heap.js';
import { percentile } from './httpLoad.js';
import { measured } from './measured.js';
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

  /** Returns the seconds that the engine took; what a client prepares is not counted. */
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

  /** What is kept for the collections: JavaScript's memory, and the vectors'. */
  async memoryBytes(): Promise<number> {
    return liveHeapBytes() + (await this.#vectorBytes());
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
      ids.push(numbersOf(found.ids));
    }
    return { ids, latenciesMs: latenciesMs.sort() };
  }

  async #vectorBytes(): Promise<number> {
    const [shard] = await this.backend.shardMetrics();
    const metrics = shard?.json as { name: string; values: { value: number }[] }[];
    return metrics.find(({ name }) => name === 'vouch_vector_bytes')?.values[0]?.value ?? Number.NaN;
  }
}

export const benchEngine = ({ dimensions, engineRecords, engineSearches }: Sizes, dataFolder: string | undefined) => {
  const sets = dimensions.map((dimension) => async () => randomVectors(dimension, engineRecords));
  if (dataFolder !== undefined) sets.push(() => realVectors(dataFolder));
  return measured('engine', sets.length, async (progress) => {
    const rows: Row[] = [];
    for (const make of sets) {
      rows.push(...(await benchSet(await make(), engineSearches)));
      progress.advance(1);
    }
    return rows;
  });
};

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
    const bytesBefore = await engine.memoryBytes();
    const ingestSeconds = await engine.ingest(collection, set);
    const memoryBytes = (await engine.memoryBytes()) - bytesBefore;
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
