/** Cost of chain, log tree and state tree in batch ingest: measured with and without them, in turns. */
import { fileURLToPath } from 'node:url';
import type { Progress } from '../scripts/terminal/progress.js';
import { withCluster } from './cluster.js';
import { withDelays } from './delays.js';
import { ingestBatches } from './ingest.js';
import { envelope, inEngine } from './inProcess.js';
import type { Sizes } from './options.js';
import { median, type Row, rowAbout } from './row.js';
import { fixedBytes, randomVectors, type VectorSet } from './vectors.js';
import { takeAuditOut } from './withoutAudit.js';

const PROJECT = 'bench';
const DIMENSION = 128;
const IN_FLIGHT = 4;
/** Largest number of records of one batch; a frame has room for fewer of this dimension. */
const LARGE_BATCH = 16_384;
const PERCENT = 100;

const WITHOUT = fileURLToPath(new URL('./withoutAudit.js', import.meta.url));

export const auditMeasurements = ({ auditRounds }: Sizes): number => 2 * 2 * auditRounds + 1;

export async function benchAuditCost({ ingestRecords, auditRounds }: Sizes, progress: Progress): Promise<Row[]> {
  const set = randomVectors(DIMENSION, ingestRecords);
  const row = rowAbout('proof', `${set.count} × ${DIMENSION}`);
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

/** Ingests the set, and returns the seconds that took. */
function ingestInEngine(set: VectorSet, isAudited: boolean): Promise<number> {
  return inEngine(async (engine) => {
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

const ingestOverHttp = (set: VectorSet, isAudited: boolean): Promise<number> =>
  withCluster(
    async (client) => {
      await client.createCollection('audited', DIMENSION);
      return ingestBatches(client, 'audited', set, IN_FLIGHT);
    },
    isAudited ? {} : { NODE_OPTIONS: `--import=${WITHOUT}` },
  );

/** Delay of a shard's event loop during batches of the largest size. */
function benchDelay(set: VectorSet, row: ReturnType<typeof rowAbout>): Promise<Row[]> {
  return inEngine(async (engine) => {
    const { backend } = engine;
    const wanted = { name: 'large', dimension: DIMENSION, index: 'brute' } as const;
    const { collection } = await backend.create(PROJECT, wanted, envelope());
    const count = Math.min(LARGE_BATCH, Math.floor(backend.maxCommitBytes / (1_024 + 4 * DIMENSION)), set.count);
    const batches: Uint8Array[] = [];
    for (let from = 0; from + count <= set.count; from += count)
      batches.push(fixedBytes(set.base, DIMENSION, from, from + count));
    const records = { count, metadata: null, texts: null, requestIds: null };
    const { ms, p99Ms, maxMs } = await withDelays(async () => {
      for (const vectors of batches)
        await backend.call(collection, { op: 'insertBatch', ...records, vectors }, envelope());
    });
    return [
      row(`one batch of ${count}`, ms / batches.length, 'ms'),
      row(`event-loop delay p99 during batches of ${count}`, p99Ms, 'ms'),
      row(`event-loop delay max during batches of ${count}`, maxMs, 'ms'),
    ];
  });
}
