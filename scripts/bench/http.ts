/** The whole way: JSON over HTTP, coordinator, NATS, shard, log, and back. The load comes from this same machine. */

import type { Progress } from '../terminal/progress.js';
import { Client } from './httpClient.js';
import { percentile, requestBytes, runLoad } from './httpLoad.js';
import type { Row } from './row.js';
import { randomVectors, rowOf } from './vectors.js';

const BATCH = 1_000;
const K = 10;

export interface HttpBench {
  readonly url: string;
  readonly key: string;
  readonly searches: number;
  readonly ingestRecords: number;
}

export async function benchHttp(options: HttpBench, progress: Progress): Promise<Row[]> {
  const rows: Row[] = [];
  const client = new Client(options.url, options.key);
  const { hostname: host, port } = new URL(options.url);
  const load = { host, port: Number(port) };
  const row = (name: string, value: number, unit: string): void => {
    rows.push({ part: 'http', name, value, unit });
  };

  const tiny = randomVectors(4, 10);
  await client.createCollection('tiny', 4);
  await client.insertBatch(
    'tiny',
    [...Array(10).keys()].map((i) => rowOf(tiny.base, 4, i)),
  );
  const searchTiny = requestBytes(
    '/v1/search',
    options.key,
    JSON.stringify({ collection: 'tiny', query: [0, 0, 0, 0], k: 1 }),
  );
  await runLoad({ ...load, inFlight: 1, requests: options.searches, request: () => searchTiny });
  for (const inFlight of [1, 8, 32]) {
    const requests = options.searches * Math.min(inFlight, 8);
    const { latenciesMs, seconds } = await runLoad({ ...load, inFlight, requests, request: () => searchTiny });
    row(`search of 10 records, ${inFlight} in flight, p50`, percentile(latenciesMs, 0.5), 'ms');
    row(`search of 10 records, ${inFlight} in flight, p99`, percentile(latenciesMs, 0.99), 'ms');
    row(`search of 10 records, ${inFlight} in flight`, requests / seconds, 'requests/s');
  }
  progress.advance(1);

  const insertOne = requestBytes(
    '/v1/records',
    options.key,
    JSON.stringify({ collection: 'tiny', values: [0, 0, 0, 0] }),
  );
  for (const inFlight of [1, 32]) {
    const requests = options.searches;
    const { latenciesMs, seconds } = await runLoad({ ...load, inFlight, requests, request: () => insertOne });
    row(`single insert with receipt, ${inFlight} in flight, p50`, percentile(latenciesMs, 0.5), 'ms');
    row(`single insert with receipt, ${inFlight} in flight`, requests / seconds, 'requests/s');
  }
  progress.advance(1);

  for (const dimension of [100, 128, 768]) {
    const name = `d${dimension}`;
    await client.createCollection(name, dimension);
    const set = randomVectors(dimension, BATCH);
    const batch = Array.from({ length: BATCH }, (_, i) =>
      rowOf(set.base, dimension, i).map((value) => Number(value.toFixed(6))),
    );
    const insert = requestBytes('/v1/vectors/batch-insert', options.key, JSON.stringify({ collection: name, batch }));
    const requests = Math.max(2, Math.round((options.ingestRecords * Math.min(1, 128 / dimension)) / BATCH));
    for (const inFlight of [1, 4]) {
      const { seconds } = await runLoad({ ...load, inFlight, requests, request: () => insert });
      row(
        `ingest ${dimension} dimensions, batches of 1,000, ${inFlight} in flight`,
        (requests * BATCH) / seconds,
        'records/s',
      );
    }
    const search = requestBytes('/v1/search', options.key, JSON.stringify({ collection: name, query: batch[0], k: K }));
    const found = await runLoad({
      ...load,
      inFlight: 1,
      requests: Math.ceil(options.searches / 10),
      request: () => search,
    });
    const records = 2 * requests * BATCH;
    row(`search of ${records} × ${dimension}, p50`, percentile(found.latenciesMs, 0.5), 'ms');
    row(`search of ${records} × ${dimension}, p99`, percentile(found.latenciesMs, 0.99), 'ms');
    progress.advance(1);
  }
  return rows;
}
