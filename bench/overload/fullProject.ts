/**
 * What a project that has used up its bytes costs others: it goes on sending batches, all of which are refused, while another
 * project searches. Searches with and without that take turns, so that both meet the same machine.
 */
import type { Progress } from '../../scripts/terminal/progress.js';
import { BenchCluster } from '../cluster.js';
import type { Client } from '../httpClient.js';
import { percentile, runLoad, runUntil } from '../httpLoad.js';
import { K } from '../inProcess.js';
import type { Sizes } from '../options.js';
import { median, type Row } from '../row.js';
import { digitRows, digits } from '../scale/digits.js';
import { clientsOfProjects } from '../scale/projects.js';

const DIMENSION = 128;
/** More than a record takes, so that the other project's records fit. */
const BYTES_PER_RECORD = 2048;
const BYTES_MIN = 1 << 20;
const FULL_PROJECT = 'project-0';
const BATCHES_IN_FLIGHT = 2;
const ROUNDS = 5;
/** Between an answer and the next batch. */
const PAUSE_MS = 1;
const INSERT = '/v1/vectors/batch-insert';
const REFUSED = 507;

export async function benchFullProject(sizes: Sizes, progress: Progress): Promise<Row[]> {
  const bytes = Math.max(BYTES_MIN, BYTES_PER_RECORD * sizes.spreadRecords);
  const { cluster, url } = await BenchCluster.start({
    VOUCH_MAX_BYTES_OF_PROJECTS: JSON.stringify({ [FULL_PROJECT]: bytes }),
  });
  try {
    const [full, other] = (await clientsOfProjects(cluster, url, 2)) as [Client, Client];
    for (const client of [full, other]) await client.createCollection('c', DIMENSION);
    const bodies = digitRows(DIMENSION, sizes.spreadRecords).map((batch) => `{"collection":"c","batch":${batch}}`);
    await insert(other, bodies);
    let refused: string | undefined;
    while (refused === undefined) refused = await insert(full, bodies);
    const rounds: { alone: Float64Array; beside: Float64Array }[] = [];
    const searched = (): Promise<Float64Array> => search(other, sizes.spreadSearches / ROUNDS);
    for (let round = 0; round < ROUNDS; round++)
      rounds.push({ alone: await searched(), beside: await besideBatches(full, refused, searched) });
    progress.advance(1);
    const ratio = (share: number): number =>
      median(rounds.map(({ alone, beside }) => percentile(beside, share) / percentile(alone, share)));
    return [0.5, 0.99].map((share) => ({
      part: 'overload',
      name: `search while another project, whose bytes are used up, sends batches / alone: p${100 * share}`,
      value: ratio(share),
      unit: 'times',
    }));
  } finally {
    await cluster.stop();
  }
}

/** Returns the batch that is refused for want of bytes; undefined where none is. */
async function insert(client: Client, bodies: readonly string[]): Promise<string | undefined> {
  for (const body of bodies) {
    try {
      await client.post(INSERT, JSON.parse(body));
    } catch (error) {
      if (error instanceof Error && error.message.includes(` ${REFUSED}: `)) return body;
      throw error;
    }
  }
  return undefined;
}

async function search(client: Client, searches: number): Promise<Float64Array> {
  const requests = Math.max(1, Math.round(searches));
  const request = (i: number): Buffer =>
    client.request('/v1/search', { collection: 'c', query: digits(DIMENSION, i), k: K });
  return (await runLoad({ ...client.address, inFlight: 1, requests, request })).latenciesMs;
}

async function besideBatches<T>(client: Client, body: string, work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const request = client.requestText(INSERT, body);
  const lane = (): Promise<unknown> => runUntil(client.address, request, PAUSE_MS, () => isOver, REFUSED);
  const lanes = Promise.all(Array.from({ length: BATCHES_IN_FLIGHT }, lane));
  try {
    return await work();
  } finally {
    isOver = true;
    await lanes;
  }
}
