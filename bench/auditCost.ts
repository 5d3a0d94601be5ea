/** What chain, log tree and state tree take of batch ingest, measured with them and without, in turns. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { Progress } from '../scripts/terminal/progress.js';
import { systemClock } from '../shared/clock.js';
import { deleteTree } from '../shared/files/durable.js';
import { BenchCluster } from './cluster.js';
import { Client } from './httpClient.js';
import { ingestBatches } from './ingest.js';
import { Engine, envelope } from './inProcess.js';
import type { Sizes } from './options.js';
import { median, type Row } from './row.js';
import { fixedBytes, randomVectors, type VectorSet } from './vectors.js';
import { takeAuditOut } from './withoutAudit.js';

const PROJECT = 'bench';
const DIMENSION = 128;
const IN_FLIGHT = 4;
/** As many as one batch may hold; what a frame holds of this dimension is less. */
const LARGE_BATCH = 16_384;
const NANOSECONDS = 1e6;
const PERCENT = 100;

const WITHOUT = fileURLToPath(new URL('./withoutAudit.js', import.meta.url));

export const auditMeasurements = ({ auditRounds }: Sizes): number => 2 * 2 * auditRounds + 1;

export async function benchAuditCost({ ingestRecords, auditRounds }: Sizes, progress: Progress): Promise<Row[]> {
  const set = randomVectors(DIMENSION, ingestRecords);
  const what = `${set.count} × ${DIMENSION}`;
  const row = (name: string, value: number, unit: string): Row => ({
    part: 'proof',
    name: `${name}, ${what}`,
    value,
    unit,
  });
  const rows: Row[] = [];
  for (const [where, ingest] of [
    ['in the engine', ingestInEngine],
    [`over HTTP, ${IN_FLIGHT} in flight`, ingestOverHttp],
  ] as const) {
    const speeds = { with: [] as number[], without: [] as number[] };
    for (let round = 0; round < auditRounds; round++)
      for (const audit of ['with', 'without'] as const) {
        speeds[audit].push(set.count / (await ingest(set, audit === 'with')));
        progress.advance(1);
      }
    const [proving, plain] = [median(speeds.with), median(speeds.without)];
    rows.push(row(`ingest ${where}, audited`, proving, 'records/s'));
    rows.push(row(`ingest ${where}, without chain and trees`, plain, 'records/s'));
    rows.push(row(`cost of chain and trees ${where}`, PERCENT * (1 - proving / plain), '% of the throughput'));
  }
  rows.push(...(await benchDelay(set, row)));
  progress.advance(1);
  return rows;
}

async function withEngine<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vouch-bench-'));
  try {
    const engine = await Engine.start(dataDir);
    try {
      return await work(engine);
    } finally {
      await engine.stop();
    }
  } finally {
    await deleteTree(dataDir);
  }
}

/** Returns seconds. */
function ingestInEngine(set: VectorSet, isAudited: boolean): Promise<number> {
  return withEngine(async (engine) => {
    const wanted = { name: 'audited', dimension: DIMENSION, index: 'brute' } as const;
    const { collection } = await engine.backend.create(PROJECT, wanted, envelope());
    const putBack = isAudited ? undefined : takeAuditOut();
    try {
      return await engine.ingest(collection, set);
    } finally {
      putBack?.();
    }
  });
}

async function ingestOverHttp(set: VectorSet, isAudited: boolean): Promise<number> {
  const environment = isAudited ? {} : { NODE_OPTIONS: `--import=${WITHOUT}` };
  const { cluster, url, key } = await BenchCluster.start(environment);
  try {
    const client = new Client(url, key);
    await client.createCollection('audited', DIMENSION);
    return await ingestBatches(client, 'audited', set, IN_FLIGHT);
  } finally {
    await cluster.stop();
  }
}

/** How long the event loop of a shard is held up while it takes batches as large as they may be. */
function benchDelay(set: VectorSet, row: (name: string, value: number, unit: string) => Row): Promise<Row[]> {
  return withEngine(async (engine) => {
    const { backend } = engine;
    const wanted = { name: 'large', dimension: DIMENSION, index: 'brute' } as const;
    const { collection } = await backend.create(PROJECT, wanted, envelope());
    const count = Math.min(LARGE_BATCH, Math.floor(backend.maxCommitBytes / (1_024 + 4 * DIMENSION)), set.count);
    const batches: Uint8Array[] = [];
    for (let from = 0; from + count <= set.count; from += count)
      batches.push(fixedBytes(set.base, DIMENSION, from, from + count));
    const records = { count, metadata: null, texts: null, requestIds: null };
    const delays = monitorEventLoopDelay({ resolution: 1 });
    const startedMs = systemClock.monotonicMs();
    delays.enable();
    for (const vectors of batches)
      await backend.call(collection, { op: 'insertBatch', ...records, vectors }, envelope());
    delays.disable();
    const perBatchMs = (systemClock.monotonicMs() - startedMs) / batches.length;
    return [
      row(`one batch of ${count}`, perBatchMs, 'ms'),
      row(`event-loop delay p99 during batches of ${count}`, delays.percentile(99) / NANOSECONDS, 'ms'),
      row(`event-loop delay max during batches of ${count}`, delays.max / NANOSECONDS, 'ms'),
    ];
  });
}
