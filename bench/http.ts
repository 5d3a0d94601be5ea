/** The whole way: JSON over HTTP, coordinator, NATS, shard, log, and back. The load comes from this machine too. */
import { withCluster } from './cluster.js';
import { benchEmptyCollections } from './emptyCollections.js';
import { benchIngest } from './ingest.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { benchRoundTrips } from './roundTrips.js';
import type { Row } from './row.js';
import { randomVectors, realVectors, type VectorSet } from './vectors.js';

/** Largest dimension with the full number of records. Larger dimensions get fewer, so that their sets have equal bytes. */
const INGEST_DIMENSION = 128;

export async function benchHttp(sizes: Sizes, dataFolder: string | undefined): Promise<Row[]> {
  const sets = vectorSets(sizes, dataFolder);
  const rows = await withCluster((client, cluster) =>
    measured('http', sets.length + 1, async (progress) => {
      const figures = await benchRoundTrips(client, cluster.natsAs('admin'), sizes);
      progress.advance(1);
      for (const make of sets) {
        figures.push(...(await benchIngest(client, await make(), sizes)));
        progress.advance(1);
      }
      return figures;
    }),
  );
  // In a new cluster: a used one may return memory to the system meanwhile, which would hide the cost of a collection.
  const empty = await withCluster((client, cluster) => benchEmptyCollections(client, cluster, sizes));
  return [...rows, ...empty];
}

function vectorSets(sizes: Sizes, dataFolder: string | undefined): (() => Promise<VectorSet>)[] {
  const sets = sizes.dimensions.map((dimension) => async () => {
    const records = sizes.ingestRecords * Math.min(1, INGEST_DIMENSION / dimension);
    return randomVectors(dimension, Math.round(records));
  });
  return dataFolder === undefined ? sets : [...sets, () => realVectors(dataFolder)];
}
