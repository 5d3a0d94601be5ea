/** Inserts under existing vault keys over HTTP, in turns with inserts into a collection without keys. */
import type { Progress } from '../scripts/terminal/progress.js';
import { Client } from './httpClient.js';
import { percentile, runLoad } from './httpLoad.js';
import type { Sizes } from './options.js';
import { cpuSeconds } from './processCpu.js';
import { median, type Row, rowAbout } from './row.js';
import { type Mode, StartedService } from './startedService.js';
import { DIMENSION, KEYS, keyOf } from './underKeys.js';
import { jsonRows, randomVectors, type VectorSet } from './vectors.js';

const IN_FLIGHT = 8;
/** Keys that one request creates. */
const KEYS_AT_ONCE = 100;
const MICROSECONDS = 1e6;
/** Records of a request, and requests of a turn as a part of `erasureRequests`. */
const SHAPES = [
  { batch: 1, part: 1 },
  { batch: 100, part: 1 / 10 },
  { batch: 1_000, part: 1 / 80 },
] as const;
const KINDS = ['plain', 'keyed'] as const;
type Kind = (typeof KINDS)[number];

interface Turn {
  readonly p50Ms: number;
  /** Processor time of all processes of the service, per record. */
  readonly microseconds: number;
}

export const INSERT_MEASUREMENTS = SHAPES.length;

export async function insertsUnderKeys(mode: Mode, sizes: Sizes, progress: Progress): Promise<Row[]> {
  const set = randomVectors(DIMENSION, KEYS);
  const service = await StartedService.start(mode);
  try {
    const client = new Client(service.url, service.key);
    for (const kind of KINDS) {
      await client.createCollection(kind, DIMENSION);
      // The keys exist afterwards.
      const requests = requestsOf(client, set, kind, KEYS_AT_ONCE);
      await runLoad({ ...client.address, inFlight: 1, requests: requests.length, request: (i) => requests[i]! });
    }
    const rows: Row[] = [];
    for (const { batch, part } of SHAPES) {
      const requests = Math.max(IN_FLIGHT, Math.round(sizes.erasureRequests * part));
      rows.push(...(await inTurns(service, client, { mode, set, batch, requests, rounds: sizes.erasureRounds })));
      progress.advance(1);
    }
    return rows;
  } finally {
    await service.stop();
  }
}

interface Turns {
  readonly mode: Mode;
  readonly set: VectorSet;
  readonly batch: number;
  readonly requests: number;
  readonly rounds: number;
}

async function inTurns(service: StartedService, client: Client, turns: Turns): Promise<Row[]> {
  const { mode, set, batch, requests, rounds } = turns;
  const processIds = await service.processIds();
  const spent = async (): Promise<number> =>
    [...(await cpuSeconds(processIds)).values()].reduce((sum, seconds) => sum + seconds, 0);
  const ready = Object.fromEntries(KINDS.map((kind) => [kind, requestsOf(client, set, kind, batch)]));
  const take = async (kind: Kind): Promise<Turn> => {
    const request = (i: number): Buffer => ready[kind]![i % ready[kind]!.length]!;
    const before = await spent();
    const { latenciesMs } = await runLoad({ ...client.address, inFlight: IN_FLIGHT, requests, request });
    const microseconds = (MICROSECONDS * ((await spent()) - before)) / (requests * batch);
    return { p50Ms: percentile(latenciesMs, 1 / 2), microseconds };
  };
  const taken: Record<Kind, Turn[]> = { plain: [], keyed: [] };
  // The first turn of each warms the service up.
  for (let round = -1; round < rounds; round++)
    for (const kind of KINDS) {
      const turn = await take(kind);
      if (round >= 0) taken[kind].push(turn);
    }
  const row = rowAbout('erasure', `${batch} × ${DIMENSION} a request, ${IN_FLIGHT} in flight, ${mode}`);
  const figures = KINDS.flatMap((kind) => [
    row(`insert, ${kind}, p50`, median(taken[kind].map(({ p50Ms }) => p50Ms)), 'ms'),
    row(`insert, ${kind}, processor time`, median(taken[kind].map(({ microseconds }) => microseconds)), 'µs/record'),
  ]);
  const ratio = (of: keyof Turn): number => median(taken.keyed.map((turn, i) => turn[of] / taken.plain[i]![of]));
  return [
    ...figures,
    row('insert, keyed ÷ plain, p50', ratio('p50Ms'), ''),
    row('insert, keyed ÷ plain, processor time', ratio('microseconds'), ''),
  ];
}

/** All vectors of the set, in requests of `batch` records. */
function requestsOf(client: Client, set: VectorSet, kind: Kind, batch: number): Buffer[] {
  const requests: Buffer[] = [];
  for (let from = 0; from < set.count; from += batch)
    requests.push(
      batch > 1
        ? client.request('/v1/vectors/batch-insert', batchOf(set, kind, from, batch))
        : client.request('/v1/records', recordOf(set, kind, from)),
    );
  return requests;
}

function recordOf(set: VectorSet, kind: Kind, from: number): object {
  const [values] = jsonRows(set, set.base, from, from + 1);
  return { collection: kind, values, ...(kind === 'keyed' && { key_id: keyOf(from) }) };
}

function batchOf(set: VectorSet, kind: Kind, from: number, batch: number): object {
  const keyIds = Array.from({ length: batch }, (_, i) => keyOf(from + i));
  const rows = jsonRows(set, set.base, from, from + batch);
  return { collection: kind, batch: rows, ...(kind === 'keyed' && { key_ids: keyIds }) };
}
