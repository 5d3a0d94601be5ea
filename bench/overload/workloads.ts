/** The workloads that overload a service. */
import type { Client } from '../httpClient.js';
import { ingestBatches } from '../ingest.js';
import type { Sizes } from '../options.js';
import { jsonRows, randomVectors, type VectorSet } from '../vectors.js';

export interface Workload {
  readonly name: string;
  readonly requests: readonly Uint8Array[];
  readonly kinds: readonly string[];
  /** Numbers of requests in flight to try; the best throughput counts. */
  readonly atOnce: readonly number[];
}

const DIMENSION = 128;
const TINY_RECORDS = 100;
const BATCH = 200;
const K = 10;
const QUERIES = 64;
const INGEST_IN_FLIGHT = 2;

export async function prepareWorkloads(client: Client, sizes: Sizes): Promise<Workload[]> {
  const tiny = randomVectors(DIMENSION, TINY_RECORDS, QUERIES);
  const large = randomVectors(DIMENSION, sizes.overloadRecords, QUERIES);
  for (const name of ['tiny', 'growing', 'batches']) await client.createCollection(name, DIMENSION);
  await client.insertBatch('tiny', rows(tiny, tiny.base, tiny.count));
  const largeName = `${large.name}-${DIMENSION}-${INGEST_IN_FLIGHT}`;
  await client.createCollection(largeName, DIMENSION);
  await ingestBatches(client, largeName, large, INGEST_IN_FLIGHT);

  const searches = (collection: string, set: VectorSet): Uint8Array[] =>
    rows(set, set.queries, QUERIES).map((query) => client.request('/v1/search', { collection, query, k: K }));
  const cheap = searches('tiny', tiny);
  const expensive = searches(largeName, large);
  const inserts = rows(tiny, tiny.base, TINY_RECORDS).map((values) =>
    client.request('/v1/records', { collection: 'growing', values }),
  );
  const batch = client.request('/v1/vectors/batch-insert', {
    collection: 'batches',
    batch: rows(large, large.base, BATCH),
  });
  const one = (name: string, requests: readonly Uint8Array[], atOnce: readonly number[]): Workload => ({
    name,
    requests,
    kinds: requests.map(() => name),
    atOnce,
  });
  const search = `search of ${TINY_RECORDS} records`;
  const scan = `search of ${sizes.overloadRecords.toLocaleString('en')} records`;
  return [
    one(search, cheap, [16, 64, 256]),
    one(scan, expensive, [4, 16]),
    one('insert', inserts, [16, 64, 256]),
    one(`batch of ${BATCH}`, [batch], [4, 16]),
    mixed([
      { kind: search, requests: cheap, share: 28 },
      { kind: 'insert', requests: inserts, share: 10 },
      { kind: scan, requests: expensive, share: 1 },
      { kind: `batch of ${BATCH}`, requests: [batch], share: 1 },
    ]),
  ];
}

const rows = (set: VectorSet, of: Float32Array, count: number): (readonly number[])[] =>
  jsonRows(set, of, 0, count).map((row) => row);

interface Part {
  readonly kind: string;
  readonly requests: readonly Uint8Array[];
  readonly share: number;
}

/** Mixes the kinds of requests as evenly as their shares allow. */
function mixed(parts: readonly Part[]): Workload {
  const total = parts.reduce((sum, { share }) => sum + share, 0);
  const owed = parts.map(() => 0);
  const kinds: string[] = [];
  const requests: Uint8Array[] = [];
  for (let i = 0; i < total * QUERIES; i++) {
    for (const [at, { share }] of parts.entries()) owed[at]! += share;
    const next = owed.indexOf(Math.max(...owed));
    owed[next]! -= total;
    const part = parts[next] as Part;
    kinds.push(part.kind);
    requests.push(part.requests[i % part.requests.length] as Uint8Array);
  }
  return { name: 'mixed', requests, kinds, atOnce: [16, 64] };
}
