/** Cost of a request with hardly any work in it. */
import type { Config } from '../config/config.js';
import { BareStack } from './bareStack.js';
import type { Client } from './httpClient.js';
import { percentile, runLoad } from './httpLoad.js';
import type { Sizes } from './options.js';
import { median, type Row } from './row.js';
import { jsonRows, randomVectors } from './vectors.js';

const COLLECTION = 'tiny';
/** Another collection for inserts, so that the searched one keeps its few records. */
const GROWING = 'growing';
const DIMENSION = 4;
const RECORDS = 10;

const SEARCHES_IN_FLIGHT = [1, 8, 32] as const;
const INSERTS_IN_FLIGHT = [1, 32] as const;
/** The number of requests grows with the number of clients up to this one: eight clients need about the time of one. */
const LANES_MAX = 8;
const BARE_ROUNDS = 5;

export async function benchRoundTrips(client: Client, nats: Config['nats'], { httpRequests }: Sizes): Promise<Row[]> {
  for (const name of [COLLECTION, GROWING]) await client.createCollection(name, DIMENSION);
  const set = randomVectors(DIMENSION, RECORDS);
  await client.insertBatch(COLLECTION, jsonRows(set, set.base, 0, RECORDS));

  const measure = async (what: string, inFlight: number, request: Buffer): Promise<Row[]> => {
    const requests = httpRequests * Math.min(inFlight, LANES_MAX);
    const { latenciesMs, seconds } = await runLoad({ ...client.address, inFlight, requests, request: () => request });
    const name = `${what}, ${inFlight} in flight`;
    return [
      { part: 'http', name: `${name}, p50`, value: percentile(latenciesMs, 0.5), unit: 'ms' },
      { part: 'http', name: `${name}, p99`, value: percentile(latenciesMs, 0.99), unit: 'ms' },
      { part: 'http', name, value: requests / seconds, unit: 'requests/s' },
    ];
  };

  const search = client.request('/v1/search', { collection: COLLECTION, query: [0, 0, 0, 0], k: 1 });
  const insert = client.request('/v1/records', { collection: GROWING, values: [0, 0, 0, 0] });
  // A warm-up, so that every process runs compiled code.
  await runLoad({ ...client.address, inFlight: 1, requests: httpRequests, request: () => search });
  const rows: Row[] = [];
  for (const inFlight of SEARCHES_IN_FLIGHT)
    rows.push(...(await measure(`search of ${RECORDS} records`, inFlight, search)));
  for (const inFlight of INSERTS_IN_FLIGHT) rows.push(...(await measure('insert with receipt', inFlight, insert)));
  return [...rows, ...(await againstBareStack(client, nats, search, httpRequests))];
}

/** Compares with the bare stack, in turns, so that the machine's load affects both alike. */
async function againstBareStack(
  client: Client,
  nats: Config['nats'],
  request: Buffer,
  requests: number,
): Promise<Row[]> {
  const bare = await BareStack.start(nats);
  try {
    const p50 = async (port: number): Promise<number> => {
      const { latenciesMs } = await runLoad({ ...client.address, port, inFlight: 1, requests, request: () => request });
      return percentile(latenciesMs, 0.5);
    };
    await p50(bare.port);
    const rounds: { bareMs: number; ownMs: number }[] = [];
    for (let i = 0; i < BARE_ROUNDS; i++)
      rounds.push({ bareMs: await p50(bare.port), ownMs: await p50(client.address.port) });
    const name = 'round trip of the same stack without the service, 1 in flight';
    return [
      { part: 'http', name: `${name}, p50`, value: median(rounds.map(({ bareMs }) => bareMs)), unit: 'ms' },
      { part: 'http', name: `search / ${name}`, value: median(rounds.map((one) => one.ownMs / one.bareMs)), unit: '' },
    ];
  } finally {
    await bare.stop();
  }
}
