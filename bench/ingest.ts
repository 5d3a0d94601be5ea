/** Batches of records into collections, durable and chained, and searches of them afterwards. */
import type { Client } from './httpClient.js';
import { percentile, runLoad } from './httpLoad.js';
import { K } from './inProcess.js';
import type { Sizes } from './options.js';
import { recall } from './recall.js';
import { type Row, rowAbout } from './row.js';
import { jsonRows, setText, type VectorSet } from './vectors.js';

const BATCH = 1_000;
const IN_FLIGHT = [1, 4] as const;
/** Share of the usual number of searches: a search of a large collection takes so much longer than one of a tiny one. */
const SEARCHES_SHARE = 1 / 10;

export async function benchIngest(client: Client, set: VectorSet, { httpRequests }: Sizes): Promise<Row[]> {
  const row = rowAbout('http', setText(set));
  const rows: Row[] = [];
  for (const inFlight of IN_FLIGHT) {
    const name = nameOf(set, inFlight);
    await client.createCollection(name, set.dimension);
    const seconds = await ingestBatches(client, name, set, inFlight);
    rows.push(row(`ingest, batches of 1,000, ${inFlight} in flight`, set.count / seconds, 'records/s'));
  }
  // The collection of sequential batches: concurrent ones get their ids in an arbitrary order.
  const { latenciesMs, answers } = await search(client, nameOf(set, 1), set, Math.ceil(httpRequests * SEARCHES_SHARE));
  rows.push(row('search p50', percentile(latenciesMs, 0.5), 'ms'));
  rows.push(row('search p99', percentile(latenciesMs, 0.99), 'ms'));
  const right = recall(set, answers.map(idsIn));
  if (right !== undefined) rows.push(row('recall@10 against the exact ground truth', right, ''));
  return rows;
}

const nameOf = (set: VectorSet, inFlight: number): string => `${set.name}-${set.dimension}-${inFlight}`;

/** Returns the seconds of the ingest. All requests are prepared before the first is sent. */
export async function ingestBatches(
  client: Client,
  collection: string,
  set: VectorSet,
  inFlight: number,
): Promise<number> {
  const requests: Buffer[] = [];
  for (let from = 0; from < set.count; from += BATCH) {
    const batch = jsonRows(set, set.base, from, Math.min(from + BATCH, set.count));
    requests.push(client.request('/v1/vectors/batch-insert', { collection, batch }));
  }
  const request = (i: number): Buffer => requests[i] as Buffer;
  return (await runLoad({ ...client.address, inFlight, requests: requests.length, request })).seconds;
}

function search(client: Client, collection: string, set: VectorSet, searches: number) {
  const requests = jsonRows(set, set.queries, 0, Math.min(searches, set.queryCount)).map((query) =>
    client.request('/v1/search', { collection, query, k: K }),
  );
  const request = (i: number): Buffer => requests[i % requests.length] as Buffer;
  return runLoad({ ...client.address, inFlight: 1, requests: searches, request });
}

/** The ids in the body of a search's answer. */
export const idsIn = (answer: string): number[] =>
  (JSON.parse(answer) as { results: { id: number }[] }).results.map(({ id }) => id);
