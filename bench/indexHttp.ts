/** Recall against latency of each kind over HTTP, in a cluster: what a client of the service sees. */
import type { Progress } from '../scripts/terminal/progress.js';
import { BenchCluster } from './cluster.js';
import { Client } from './httpClient.js';
import { percentile, runLoad } from './httpLoad.js';
import { SETTINGS, type Setting } from './indexSettings.js';
import { idsIn, ingestBatches } from './ingest.js';
import { K } from './inProcess.js';
import type { Sizes } from './options.js';
import { recallAmong } from './recall.js';
import type { Row } from './row.js';
import { type Settling, settled } from './settled.js';
import { jsonRows, type VectorSet } from './vectors.js';

const COLLECTION = 'indexed';

export async function benchIndexesOverHttp(
  set: VectorSet,
  { indexSearches }: Sizes,
  progress: Progress,
): Promise<Row[]> {
  const { cluster, url, key } = await BenchCluster.start();
  try {
    const client = new Client(url, key);
    await client.createCollection(COLLECTION, set.dimension);
    await ingestBatches(client, COLLECTION, set, 1);
    const rows: Row[] = [];
    const add = (figure: string, value: number, unit: string): void => {
      const what = `${set.name} ${set.count} × ${set.dimension}`;
      rows.push({ part: 'index', name: `${figure} over HTTP, ${what}`, value, unit });
    };
    const exact = await search(client, set, indexSearches);
    add('exact scan: search p50', percentile(exact.latenciesMs, 0.5), 'ms');
    for (const setting of SETTINGS) {
      await configure(client, setting);
      const { ids, latenciesMs } = await search(client, set, indexSearches);
      add(`${setting.name}: recall@10`, recallAmong(exact.ids, ids), '');
      add(`${setting.name}: search p50`, percentile(latenciesMs, 0.5), 'ms');
      progress.advance(1);
    }
    return rows;
  } finally {
    await cluster.stop();
  }
}

async function configure(client: Client, { kind, parameters }: Setting): Promise<void> {
  const { efSearch, nList, nProbe, candidates } = parameters;
  const named = { ef_search: efSearch, n_list: nList, n_probe: nProbe, candidates };
  const path = `/v1/namespaces/${COLLECTION}/index`;
  await client.post(path, { type: kind, parameters: named });
  await settled(async () => (await client.get(path)) as Settling);
}

/** One at a time. */
async function search(client: Client, set: VectorSet, searches: number) {
  const requests = jsonRows(set, set.queries, 0, Math.min(searches, set.queryCount)).map((query) =>
    client.request('/v1/search', { collection: COLLECTION, query, k: K, rerank: false }),
  );
  const request = (i: number): Buffer => requests[i % requests.length] as Buffer;
  const { answers, latenciesMs } = await runLoad({ ...client.address, inFlight: 1, requests: searches, request });
  return { ids: answers.map(idsIn), latenciesMs };
}
