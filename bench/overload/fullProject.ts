/**
 * Measures what a project whose bytes are used up costs the others. It keeps sending batches, which are all refused, while
 * another project searches. For comparison, a project with room sends these batches. Searches alone and beside either
 * project take turns, so that the machine's load affects all alike.
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
/** Quota of the full project for each record of one pass. A record takes less, so the project is full only after the pass. */
const BYTES_PER_RECORD = 2048;
const BYTES_MIN = 1 << 20;
const FULL_PROJECT = 'project-0';
const BATCHES_IN_FLIGHT = 2;
const ROUNDS = 5;
/** Pause between an answer and the next batch. */
const PAUSE_MS = 1;
const INSERT = '/v1/vectors/batch-insert';
const TAKEN = 200;
const REFUSED = 507;

export async function benchFullProject(sizes: Sizes, progress: Progress): Promise<Row[]> {
  const bytes = Math.max(BYTES_MIN, BYTES_PER_RECORD * sizes.spreadRecords);
  const { cluster, url } = await BenchCluster.start({
    VOUCH_MAX_BYTES_OF_PROJECTS: JSON.stringify({ [FULL_PROJECT]: bytes }),
  });
  try {
    const [full, other, roomy] = (await clientsOfProjects(cluster, url, 3)) as [Client, Client, Client];
    for (const client of [full, other, roomy]) await client.createCollection('c', DIMENSION);
    const bodies = digitRows(DIMENSION, sizes.spreadRecords).map((batch) => `{"collection":"c","batch":${batch}}`);
    await insert(other, bodies);
    let refused: string | undefined;
    while (refused === undefined) refused = await insert(full, bodies);
    const rounds: Record<'alone' | 'besideRefused' | 'besideTaken', Float64Array>[] = [];
    const searched = (): Promise<Float64Array> => search(other, sizes.spreadSearches / ROUNDS);
    for (let round = 0; round < ROUNDS; round++)
      rounds.push({
        alone: await searched(),
        besideRefused: await besideBatches(full, refused, REFUSED, searched),
        besideTaken: await besideBatches(roomy, refused, TAKEN, searched),
      });
    progress.advance(1);
    const row = (what: 'besideRefused' | 'besideTaken', sender: string, share: number): Row => ({
      part: 'overload',
      name: `search beside batches of a project ${sender}, over a search alone: p${100 * share}`,
      value: median(rounds.map((round) => percentile(round[what], share) / percentile(round.alone, share))),
      unit: 'times',
    });
    return [0.5, 0.99].flatMap((share) => [
      row('besideRefused', 'whose bytes are used up', share),
      row('besideTaken', 'that has room for them', share),
    ]);
  } finally {
    await cluster.stop();
  }
}

/** Returns the batch that is refused for lack of bytes; undefined if all are accepted. */
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

async function besideBatches<T>(client: Client, body: string, answer: number, work: () => Promise<T>): Promise<T> {
  let isOver = false;
  const request = client.requestText(INSERT, body);
  const lane = (): Promise<unknown> =>
    runUntil({ ...client.address, expected: answer }, request, PAUSE_MS, () => isOver);
  const lanes = Promise.all(Array.from({ length: BATCHES_IN_FLIGHT }, lane));
  try {
    return await work();
  } finally {
    isOver = true;
    await lanes;
  }
}
