/** The engine without HTTP and NATS: one shard over the local log, called in process. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.js';
import type { Collection } from '../../coordinator/backend.js';
import { ClusterBackend } from '../../coordinator/cluster/clusterBackend.js';
import { runShard } from '../../shard/main.js';
import { systemClock } from '../../shared/clock.js';
import { silentLogger } from '../../shared/logger.js';
import { openStandalone } from '../../shared/standalonePlatform.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { Progress } from '../terminal/progress.js';
import { percentile } from './httpLoad.js';
import type { Row } from './row.js';
import { fixedBytes, gloveVectors, randomVectors, type VectorSet } from './vectors.js';

const BATCH = 1_000;
const K = 10;
const PROJECT = 'bench';

export interface EngineBench {
  /** Records in the large collections. */
  readonly records: number;
  readonly searches: number;
  /** A folder with real vectors, or undefined. */
  readonly dataFolder: string | undefined;
}

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

export async function benchEngine(options: EngineBench, progress: Progress): Promise<Row[]> {
  const sets = [100, 128, 768].map((dimension) => () => Promise.resolve(randomVectors(dimension, options.records)));
  const { dataFolder } = options;
  if (dataFolder !== undefined) sets.push(() => gloveVectors(dataFolder));
  const rows: Row[] = [];
  for (const make of sets) {
    rows.push(...(await benchSet(await make(), options.searches)));
    progress.advance(1);
  }
  return rows;
}

async function benchSet(set: VectorSet, searches: number): Promise<Row[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vouch-bench-'));
  const what = `${set.name} ${set.count} × ${set.dimension}`;
  const row = (name: string, value: number, unit: string): Row => ({
    part: 'engine',
    name: `${name}, ${what}`,
    value,
    unit,
  });
  try {
    const engine = await Engine.start(dataDir);
    const { collection } = await engine.backend.create(
      PROJECT,
      { name: 'c', dimension: set.dimension, index: 'brute' },
      envelope(),
    );
    const rssBefore = process.memoryUsage.rss();
    const ingestSeconds = await engine.ingest(collection, set);
    const memoryBytes = process.memoryUsage.rss() - rssBefore;
    const { ids, latenciesMs } = await engine.search(collection, set, searches);
    await engine.stop();
    const again = await Engine.start(dataDir);
    const startedMs = systemClock.monotonicMs();
    await again.search(await again.backend.find(PROJECT, 'c'), set, 1);
    const replaySeconds = (systemClock.monotonicMs() - startedMs) / 1000;
    await again.stop();
    return [
      row('ingest, batches of 1,000', set.count / ingestSeconds, 'records/s'),
      row('search p50', percentile(latenciesMs, 0.5), 'ms'),
      row('search p99', percentile(latenciesMs, 0.99), 'ms'),
      row('memory a record (growth of the process)', memoryBytes / set.count, 'bytes'),
      row('replay at a restart', set.count / replaySeconds, 'records/s'),
      ...exactness(set, ids, row),
    ];
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** The share of results that are the known exact ones, at their place: 1, or something is broken. */
function exactness(
  set: VectorSet,
  found: readonly Float64Array[],
  row: (name: string, value: number, unit: string) => Row,
): Row[] {
  const { nearest } = set;
  if (nearest === undefined) return [];
  let right = 0;
  found.forEach((ids, query) => {
    const wanted = nearest.subarray((query % set.queryCount) * 100);
    ids.forEach((id, place) => {
      if (id === (wanted[place] as number) + 1) right++;
    });
  });
  return [row('recall@10 against the exact ground truth', right / (found.length * K), '')];
}
