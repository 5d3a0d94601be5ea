/** Recall and latency of each index kind over HTTP, in a cluster: the view of a client. */
import type { Progress } from '../scripts/terminal/progress.js';
import { withCluster } from './cluster.js';
import type { Client } from './httpClient.js';
import { percentile, runLoad } from './httpLoad.js';
import { SETTINGS, type Setting } from './indexSettings.js';
import { idsIn, ingestBatches } from './ingest.js';
import { K } from './inProcess.js';
import type { Sizes } from './options.js';
import { recallAmong } from './recall.js';
import { type Row, rowAbout } from './row.js';
import { type Settling, settled } from './settled.js';
import { jsonRows, setText, type VectorSet } from './vectors.js';

const COLLECTION = 'indexed';

export const benchIndexesOverHttp = (set: VectorSet, { indexSearches }: Sizes, progress: Progress): Promise<Row[]> =>
  withCluster(async (client) => {
    await client.createCollection(COLLECTION, set.dimension);
    await ingestBatches(client, COLLECTION, set, 1);
    const row = rowAbout('index', setText(set));
    const exact = await search(client, set, indexSearches);
    const rows = [row('exact scan: search p50 over HTTP', percentile(exact.latenciesMs, 0.5), 'ms')];
    for (const setting of SETTINGS) {
      await configure(client, setting);
      const { ids, latenciesMs } = await search(client, set, indexSearches);
      rows.push(
        row(`${setting.name}: recall@10 over HTTP`, recallAmong(exact.ids, ids), ''),
        row(`${setting.name}: search p50 over HTTP`, percentile(latenciesMs, 0.5), 'ms'),
      );
      progress.advance(1);
    }
    return rows;
  });

async function configure(client: Client, { kind, parameters }: Setting): Promise<void> {
  const { efSearch, nList, nProbe, candidates } = parameters;
  const named = { ef_search: efSearch, n_list: nList, n_probe: nProbe, candidates };
  const path = `/v1/namespaces/${COLLECTION}/index`;
  await client.post(path, { type: kind, parameters: named });
  await settled(async () => (await client.get(path)) as Settling);
}

/** Searches one at a time. */
async function search(client: Client, set: VectorSet, searches: number) {
  const requests = jsonRows(set, set.queries, 0, Math.min(searches, set.queryCount)).map((query) =>
    client.request('/v1/search', { collection: COLLECTION, query, k: K, rerank: false }),
  );
  const request = (i: number): Buffer => requests[i % requests.length] as Buffer;
  const { answers, latenciesMs } = await runLoad({ ...client.address, inFlight: 1, requests: searches, request });
  return { ids: answers.map(idsIn), latenciesMs };
}
