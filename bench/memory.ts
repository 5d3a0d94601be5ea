/** Memory of the processes of `npm start`, with a collection and its graph, in each mode. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Progress } from '../scripts/terminal/progress.js';
import { Client } from './httpClient.js';
import { runLoad } from './httpLoad.js';
import { ingestBatches } from './ingest.js';
import { K } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { residentBytes } from './processMemory.js';
import type { Row } from './row.js';
import { type Settling, settled } from './settled.js';
import { type Mode, StartedService } from './startedService.js';
import { jsonRows, randomVectors } from './vectors.js';

const MODES: readonly Mode[] = ['standalone', 'cluster'];
const COLLECTION = 'measured';
const DIMENSION = 128;
const INGEST_IN_FLIGHT = 4;
const SEARCHES_IN_FLIGHT = 8;
const MIB = 1 << 20;

export const benchMemory = (sizes: Sizes) =>
  measured('memory', 3 * MODES.length, async (progress) => {
    const rows: Row[] = [];
    for (const mode of MODES) rows.push(...(await benchMode(mode, sizes, progress)));
    return rows;
  });

async function benchMode(mode: Mode, sizes: Sizes, progress: Progress): Promise<Row[]> {
  const service = await StartedService.start(mode);
  const rows: Row[] = [];
  const atRest = async (when: string): Promise<void> => {
    await delay(1000 * sizes.memoryRestSeconds);
    const resident = await residentBytes(await service.processIds());
    const all = [...resident.values()].reduce((sum, bytes) => sum + bytes, 0);
    for (const [name, bytes] of [...resident, ['all', all] as const])
      rows.push({ part: 'memory', name: `${mode}, ${when}: ${name}`, value: bytes / MIB, unit: 'MiB' });
    progress.advance(1);
  };
  try {
    const client = new Client(service.url, service.key);
    await atRest('empty');
    const set = randomVectors(DIMENSION, sizes.memoryRecords);
    await client.createCollection(COLLECTION, DIMENSION);
    await ingestBatches(client, COLLECTION, set, INGEST_IN_FLIGHT);
    const path = `/v1/namespaces/${COLLECTION}/index`;
    await client.post(path, { type: 'hnsw' });
    await settled(async () => (await client.get(path)) as Settling);
    const what = `${set.count} × ${DIMENSION} and a graph`;
    await atRest(what);
    const requests = jsonRows(set, set.queries, 0, set.queryCount).map((query) =>
      client.request('/v1/search', { collection: COLLECTION, query, k: K }),
    );
    await runLoad({
      ...client.address,
      inFlight: SEARCHES_IN_FLIGHT,
      requests: sizes.memorySearches,
      request: (i) => requests[i % requests.length]!,
    });
    await atRest(`${what}, after ${sizes.memorySearches} searches`);
    return rows;
  } finally {
    await service.stop();
  }
}
