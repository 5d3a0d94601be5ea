/** The whole way: JSON over HTTP, coordinator, NATS, shard, log, and back. The load comes from this same machine. */
import type { Progress } from '../terminal/progress.js';
import { BenchCluster } from './cluster.js';
import { benchEmptyCollections } from './emptyCollections.js';
import { Client } from './httpClient.js';
import { benchIngest } from './ingest.js';
import type { Sizes } from './options.js';
import { benchRoundTrips } from './roundTrips.js';
import type { Row } from './row.js';
import { randomVectors, realVectors, type VectorSet } from './vectors.js';

/** What each of them needs to know of the service. */
export interface Service {
  readonly cluster: BenchCluster;
  readonly client: Client;
}

/** Vectors are all sent as JSON: sets of one size in bytes are what can be compared. */
const INGEST_DIMENSION = 128;

export const httpSteps = ({ dimensions }: Sizes, dataFolder: string | undefined): number =>
  dimensions.length + (dataFolder === undefined ? 0 : 1) + 2;

export async function benchHttp(sizes: Sizes, dataFolder: string | undefined, progress: Progress): Promise<Row[]> {
  const { cluster, url, key } = await BenchCluster.start();
  try {
    const service: Service = { cluster, client: new Client(url, key) };
    const rows = await benchRoundTrips(service, sizes);
    progress.advance(1);
    for (const make of vectorSets(sizes, dataFolder)) {
      rows.push(...(await benchIngest(service, await make(), sizes)));
      progress.advance(1);
    }
    rows.push(...(await benchEmptyCollections(service, sizes)));
    progress.advance(1);
    return rows;
  } finally {
    await cluster.stop();
  }
}

function vectorSets(sizes: Sizes, dataFolder: string | undefined): (() => Promise<VectorSet>)[] {
  const sets = sizes.dimensions.map((dimension) => async () => {
    const records = sizes.ingestRecords * Math.min(1, INGEST_DIMENSION / dimension);
    return randomVectors(dimension, Math.round(records));
  });
  return dataFolder === undefined ? sets : [...sets, () => realVectors(dataFolder)];
}
