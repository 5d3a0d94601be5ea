/**
 * Index searches of Vouch compared with those of pgvector, over the same vectors and queries. The services take turns, and each is asked
 * by its own Node client. Both use HNSW with m 16 and ef_construction 200, at the smallest measured width that finds enough of the
 * nearest rows.
 */
import postgres from 'postgres';
import { Vouch } from '../client/index.js';
import type { Progress } from '../scripts/terminal/progress.js';
import { systemClock } from '../shared/clock.js';
import { percentile } from './httpLoad.js';
import { WIDTHS } from './indexSettings.js';
import { K } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { recallAmong } from './recall.js';
import { median, type Row, rowAbout } from './row.js';
import { type Mode, StartedService } from './startedService.js';
import { clusteredVectors, setText, type VectorSet } from './vectors.js';

const DIMENSION = 128;
const BATCH = 1_000;
const GRAPH = { m: 16, ef_construction: 200 };
const RECALL_MIN = 0.99;
const IN_FLIGHT = [1, 8, 32] as const;
const CONNECTIONS = Math.max(...IN_FLIGHT);
const TABLE = 'vouch_bench_peers';
const COLLECTION = 'peers';

/** A service that is filled and indexed. */
interface Peer {
  readonly name: string;
  /** The ids of the nearest rows, at the present width. */
  search(query: readonly number[]): Promise<number[]>;
  setWidth(width: number): Promise<void>;
  close(): Promise<void>;
}

interface Turn {
  readonly p50Ms: number;
  readonly perSecond: number;
}

/** `url`: a PostgreSQL database in which the extension `vector` can be created. Without one, nothing is measured. */
export async function benchPeers(sizes: Sizes, url: string | undefined): Promise<Row[]> {
  if (url === undefined) {
    process.stderr.write('  peers         skipped: --postgres <URL> names a database with pgvector\n');
    return [];
  }
  const set = clusteredVectors(DIMENSION, sizes.peerRecords);
  return measured('peers', 3 + IN_FLIGHT.length, async (progress) => {
    const peers: Peer[] = [];
    try {
      for (const open of [() => pgvector(url, set), () => vouch('standalone', set), () => vouch('cluster', set)]) {
        peers.push(await open());
        progress.advance(1);
      }
      return await compared(peers, set, sizes, progress);
    } finally {
      for (const peer of peers) await peer.close();
    }
  });
}

async function compared(peers: readonly Peer[], set: VectorSet, sizes: Sizes, progress: Progress): Promise<Row[]> {
  const queries = Array.from({ length: set.queryCount }, (_, row) => rowOf(set.queries, row));
  const nearest = queries.map((query) => nearestIds(set, query));
  const row = rowAbout('peers', setText(set));
  const rows: Row[] = [];
  for (const peer of peers) rows.push(...(await widened(peer, queries, nearest)).map((each) => row(...each)));
  for (const inFlight of IN_FLIGHT) {
    const turns = peers.map((): Turn[] => []);
    // The first turn of each opens the connections.
    for (let round = -1; round < sizes.peerRounds; round++)
      for (const [i, peer] of peers.entries()) {
        const taken = await turn(peer, queries, inFlight, sizes.peerSearches);
        if (round >= 0) turns[i]!.push(taken);
      }
    const [other, ...own] = peers.map((peer, i) => ({ name: peer.name, turns: turns[i]! }));
    for (const { name, turns: each } of [other!, ...own]) {
      const about = `${name}: ${inFlight} in flight`;
      rows.push(row(`${about}, p50`, median(each.map(({ p50Ms }) => p50Ms)), 'ms'));
      rows.push(row(`${about}, searches`, median(each.map(({ perSecond }) => perSecond)), '/s'));
      if (name === other!.name) continue;
      const ratios = each.map(({ perSecond }, round) => perSecond / other!.turns[round]!.perSecond);
      rows.push(row(`${about}, searches / ${other!.name}'s`, median(ratios), 'times'));
    }
    progress.advance(1);
  }
  return rows;
}

/** Sets the smallest width that finds enough, and returns it with its recall. */
async function widened(
  peer: Peer,
  queries: readonly number[][],
  nearest: readonly number[][],
): Promise<[string, number, string][]> {
  for (const width of WIDTHS) {
    await peer.setWidth(width);
    const found: number[][] = [];
    for (const query of queries) found.push(await peer.search(query));
    const recall = recallAmong(nearest, found);
    if (recall < RECALL_MIN && width !== WIDTHS.at(-1)) continue;
    return [
      [`${peer.name}: ef_search`, width, ''],
      [`${peer.name}: recall@${K}`, recall, ''],
    ];
  }
  return [];
}

async function turn(peer: Peer, queries: readonly number[][], inFlight: number, searches: number): Promise<Turn> {
  const latenciesMs = new Float64Array(searches);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < searches) {
      const i = next++;
      const startedMs = systemClock.monotonicMs();
      await peer.search(queries[i % queries.length]!);
      latenciesMs[i] = systemClock.monotonicMs() - startedMs;
    }
  };
  const startedMs = systemClock.monotonicMs();
  await Promise.all(Array.from({ length: inFlight }, lane));
  const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
  return { p50Ms: percentile(latenciesMs.sort(), 1 / 2), perSecond: searches / seconds };
}

async function pgvector(url: string, set: VectorSet): Promise<Peer> {
  const sql = postgres(url, { max: CONNECTIONS, onnotice: () => {} });
  const drop = () => sql`DROP TABLE IF EXISTS ${sql(TABLE)}`;
  await sql`CREATE EXTENSION IF NOT EXISTS vector`;
  await drop();
  await sql`CREATE TABLE ${sql(TABLE)} (id bigint PRIMARY KEY, embedding vector(${sql.unsafe(String(DIMENSION))}))`;
  for (let from = 0; from < set.count; from += BATCH) {
    const ids = Array.from({ length: Math.min(BATCH, set.count - from) }, (_, i) => from + i + 1);
    const vectors = ids.map((id) => JSON.stringify(rowOf(set.base, id - 1)));
    await sql`INSERT INTO ${sql(TABLE)} SELECT * FROM unnest(${ids}::bigint[], ${vectors}::text[]::vector[])`;
  }
  await sql.begin(async (own) => {
    await own`SET LOCAL maintenance_work_mem = '1GB'`;
    const options = own.unsafe(`m = ${GRAPH.m}, ef_construction = ${GRAPH.ef_construction}`);
    await own`CREATE INDEX ON ${own(TABLE)} USING hnsw (embedding vector_l2_ops) WITH (${options})`;
  });
  await sql`ANALYZE ${sql(TABLE)}`;
  const [{ extversion }] = (await sql`SELECT extversion FROM pg_extension WHERE extname = 'vector'`) as [
    { extversion: string },
  ];
  const [{ database }] = (await sql`SELECT current_database() AS database`) as [{ database: string }];
  let searching = sql;
  return {
    name: `pgvector ${extversion}`,
    async search(query) {
      const vector = JSON.stringify(query);
      const found = await searching<{ id: string }[]>`
        SELECT id FROM ${searching(TABLE)} ORDER BY embedding <-> ${vector}::vector LIMIT ${K}`;
      return found.map(({ id }) => Number(id));
    },
    async setWidth(width) {
      if (searching !== sql) await searching.end();
      searching = postgres(url, { max: CONNECTIONS, database, connection: { 'hnsw.ef_search': width } });
    },
    async close() {
      if (searching !== sql) await searching.end();
      await drop();
      await sql.end();
    },
  };
}

async function vouch(mode: Mode, set: VectorSet): Promise<Peer> {
  const service = await StartedService.start(mode);
  const client = new Vouch({ url: service.url, apiKey: service.key });
  await client.createCollection({ name: COLLECTION, dimension: set.dimension, metric: 'squared_l2' });
  const collection = client.collection(COLLECTION);
  for (let from = 0; from < set.count; from += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, set.count - from) }, (_, i) => rowOf(set.base, from + i));
    await collection.batchInsert({ batch: rows });
  }
  return {
    name: `Vouch ${mode}`,
    async search(query) {
      const { results } = await collection.search({ query, k: K, rerank: false });
      return results.map(({ id }) => id);
    },
    async setWidth(width) {
      await collection.configureIndex({
        type: 'hnsw',
        parameters: { m: GRAPH.m, efConstruction: GRAPH.ef_construction, efSearch: width },
      });
      await collection.waitForIndex();
    },
    close: () => service.stop(),
  };
}

const rowOf = (values: Float32Array, row: number): number[] =>
  Array.from(values.subarray(row * DIMENSION, (row + 1) * DIMENSION));

/** The ids of the nearest rows, found by a scan. */
function nearestIds({ base, count }: VectorSet, query: readonly number[]): number[] {
  const distances = Float64Array.from({ length: count }, (_, row) => {
    let sum = 0;
    for (let i = 0; i < DIMENSION; i++) sum += (base[row * DIMENSION + i]! - query[i]!) ** 2;
    return sum;
  });
  const farthest = distances.slice().sort()[Math.min(K, count) - 1]!;
  return [...distances.keys()].filter((row) => distances[row]! <= farthest).map((row) => row + 1);
}
