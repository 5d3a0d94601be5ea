/**
 * Searches spread over many collections, in a cluster of one shard and in one of two. Both clusters run all the time and are
 * measured in turns, so that the machine's load affects both alike. The idle cluster takes hardly any processor time.
 */
import type { Progress } from '../../scripts/terminal/progress.js';
import { BenchCluster } from '../cluster.js';
import { Client } from '../httpClient.js';
import { runLoad } from '../httpLoad.js';
import { K } from '../inProcess.js';
import type { Sizes } from '../options.js';
import { cpuSeconds } from '../processCpu.js';
import { median, type Row, rowAbout } from '../row.js';
import { digitRows, digits } from './digits.js';
import { byKind, grown, KINDS, type Kind } from './kinds.js';

const COLLECTIONS = 32;
const DIMENSION = 128;
const IN_FLIGHT = 16;
const INSERTS_IN_FLIGHT = 4;
const ROUNDS = 5;
const MICROSECONDS = 1e6;
const PERCENT = 100;

const SHARDS = [1, 2] as const;
export const SPREAD_MEASUREMENTS = SHARDS.length + 1;

type Part = Kind | 'load generator';
const PARTS: readonly Part[] = [...KINDS, 'load generator'];

interface Round {
  readonly perSecond: number;
  /** Busy share of one processor, by part. */
  readonly busy: ReadonlyMap<Part, number>;
}

interface Measured {
  readonly shards: number;
  readonly cluster: BenchCluster;
  readonly client: Client;
  readonly rounds: Round[];
}

export async function benchSpreadSearches(sizes: Sizes, progress: Progress): Promise<Row[]> {
  const clusters: Measured[] = [];
  try {
    for (const shards of SHARDS) {
      const { cluster, url, key } = await BenchCluster.start({ VOUCH_SHARDS: String(shards) });
      clusters.push({ shards, cluster, client: new Client(url, key), rounds: [] });
      await fill(clusters.at(-1)!.client, sizes.spreadRecords);
      progress.advance(1);
    }
    for (const one of clusters) await measureRound(one, sizes.spreadSearches);
    for (let round = 0; round < ROUNDS; round++)
      for (const one of clusters) one.rounds.push(await measureRound(one, sizes.spreadSearches));
    progress.advance(1);
    return rowsOf(clusters, `${COLLECTIONS} collections of ${sizes.spreadRecords} × ${DIMENSION}`);
  } finally {
    for (const { cluster } of clusters) await cluster.stop();
  }
}

const nameOf = (i: number): string => `spread-${i % COLLECTIONS}`;

async function fill(client: Client, records: number): Promise<void> {
  const batches = digitRows(DIMENSION, records);
  const requests: Buffer[] = [];
  for (let i = 0; i < COLLECTIONS; i++) {
    await client.createCollection(nameOf(i), DIMENSION);
    for (const batch of batches)
      requests.push(client.requestText('/v1/vectors/batch-insert', `{"collection":"${nameOf(i)}","batch":${batch}}`));
  }
  const request = (i: number): Buffer => requests[i]!;
  await runLoad({ ...client.address, inFlight: INSERTS_IN_FLIGHT, requests: requests.length, request });
}

async function measureRound({ cluster, client }: Measured, searches: number): Promise<Round> {
  const processIds = await cluster.processIds();
  const requests = Array.from({ length: COLLECTIONS }, (_, i) =>
    client.request('/v1/search', { collection: nameOf(i), query: digits(DIMENSION, i), k: K }),
  );
  const request = (i: number): Buffer => requests[i % COLLECTIONS]!;
  const before = byKind(await cpuSeconds(processIds));
  const ownBefore = process.cpuUsage();
  const { seconds } = await runLoad({ ...client.address, inFlight: IN_FLIGHT, requests: searches, request });
  const own = process.cpuUsage(ownBefore);
  const spent = new Map<Part, number>(grown(before, byKind(await cpuSeconds(processIds))));
  spent.set('load generator', (own.user + own.system) / MICROSECONDS);
  return { perSecond: searches / seconds, busy: new Map(PARTS.map((part) => [part, spent.get(part)! / seconds])) };
}

function rowsOf(clusters: readonly Measured[], what: string): Row[] {
  const row = rowAbout('scale');
  const rows = clusters.flatMap(({ shards, rounds }) => {
    const where = `${shards} ${shards === 1 ? 'shard' : 'shards'}`;
    const share = (part: Part): number => PERCENT * median(rounds.map(({ busy }) => busy.get(part)!));
    return [
      row(`searches over ${what}, ${where}`, median(rounds.map(({ perSecond }) => perSecond)), 'requests/s'),
      ...PARTS.map((part) => row(`searches over ${what}, ${where}: ${part}`, share(part), '% of one core')),
    ];
  });
  const [one, two] = clusters.map(({ rounds }) => rounds);
  const ratio = median(two!.map(({ perSecond }, i) => perSecond / one![i]!.perSecond));
  return [...rows, row(`searches over ${what}: 2 shards / 1 shard`, ratio, '')];
}
