/**
 * A collection that moves to a new shard while it is searched and written to. Each client sends its next request right after an
 * answer, so the longest wait is the longest time without an answer. A failed request fails the measurement.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Progress } from '../../scripts/terminal/progress.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { ownershipOf } from '../../shared/registry/owners.js';
import { type BenchCluster, withCluster } from '../cluster.js';
import type { Client } from '../httpClient.js';
import { percentile, runLoad, runUntil } from '../httpLoad.js';
import { K } from '../inProcess.js';
import type { Sizes } from '../options.js';
import { type Row, rowAbout } from '../row.js';
import { digitRows, digits } from './digits.js';
import { withPlatform } from './platform.js';

/** Two collections: with a single one a new shard would get none. */
const COLLECTIONS = ['stays', 'moves'] as const;
const DIMENSION = 128;
const INSERTS_IN_FLIGHT = 4;
const MS = 1e3;
const MOVED_WITHIN_MS = 120_000;
const NEW_SHARD = 's2';

/** Durations of answers to searches and inserts. */
interface Waits {
  readonly search: Float64Array;
  readonly insert: Float64Array;
}

export async function benchWarmMoves(sizes: Sizes, progress: Progress): Promise<Row[]> {
  const { moveRecords, moveSeconds, movePauseMs } = sizes;
  const rows: Row[] = [];
  for (const records of moveRecords) {
    const measure = async (client: Client, cluster: BenchCluster): Promise<void> => {
      for (const name of COLLECTIONS) await fill(client, name, records);
      const still = await underLoad(client, movePauseMs, () => delay(MS * moveSeconds));
      const moving = await underLoad(client, movePauseMs, async () => {
        await joinAndMove(cluster);
        await delay((MS * moveSeconds) / 2);
      });
      rows.push(...rowsOf(records, still, moving));
    };
    await withCluster(measure, { VOUCH_SHARDS: '1' });
    progress.advance(1);
  }
  return rows;
}

async function fill(client: Client, collection: string, records: number): Promise<void> {
  await client.createCollection(collection, DIMENSION);
  const requests = digitRows(DIMENSION, records).map((batch) =>
    client.requestText('/v1/vectors/batch-insert', `{"collection":"${collection}","batch":${batch}}`),
  );
  const request = (i: number): Buffer => requests[i]!;
  await runLoad({ ...client.address, inFlight: INSERTS_IN_FLIGHT, requests: requests.length, request });
}

/** Runs one searching and one inserting client for each collection during `work`. */
async function underLoad(client: Client, pauseMs: number, work: () => Promise<void>): Promise<Waits> {
  let isOver = false;
  const lane = (path: string, body: (collection: string) => unknown): Promise<Float64Array[]> =>
    Promise.all(
      COLLECTIONS.map((collection) =>
        runUntil(client.address, client.request(path, body(collection)), pauseMs, () => isOver),
      ),
    );
  const vector = digits(DIMENSION, 0);
  const searches = lane('/v1/search', (collection) => ({ collection, query: vector, k: K }));
  const inserts = lane('/v1/records', (collection) => ({ collection, values: vector }));
  try {
    await Promise.race([work(), searches, inserts]);
  } finally {
    isOver = true;
    await Promise.allSettled([searches, inserts]);
  }
  return { search: ascending(await searches), insert: ascending(await inserts) };
}

const ascending = (lanes: readonly Float64Array[]): Float64Array =>
  Float64Array.from(lanes.flatMap((lane) => [...lane])).sort();

async function joinAndMove(cluster: BenchCluster): Promise<void> {
  await withPlatform(cluster, async (platform) => {
    const owners = await platform.bucket(BUCKETS.owners);
    const moved = new Promise<void>((resolve, reject) => {
      void owners
        .watch(({ entry }) => {
          if (entry !== undefined && ownershipOf(entry).shard === NEW_SHARD) resolve();
        })
        .catch(reject);
    });
    await cluster.join(NEW_SHARD);
    const late = delay(MOVED_WITHIN_MS, true, { ref: false });
    if (await Promise.race([moved, late])) throw new Error(`nothing moved to a new shard in ${MOVED_WITHIN_MS} ms`);
  });
}

function rowsOf(records: number, still: Waits, moving: Waits): Row[] {
  const row = rowAbout('scale', `${records} × ${DIMENSION}`);
  return (['search', 'insert'] as const).flatMap((op) => [
    row(`longest time without an answer to a client that waits for its ${op}, nothing moves`, still[op].at(-1)!, 'ms'),
    row(`longest time without an answer to a client that waits for its ${op}, a move`, moving[op].at(-1)!, 'ms'),
    row(`${op} p50 during a move`, percentile(moving[op], 0.5), 'ms'),
  ]);
}
