/** Samples records from the whole range of a collection's ids, in a few requests. */
import type { GetRecordsResponse, ListedRecord, ListRecordsResponse } from '../../coordinator/contract/records.js';
import { pathOf, type Service } from '../service.js';
import type { Plane, Points } from './projection.js';

const RECORDS_MAX = 1_000;
/** The most ids that one request may name. */
const IDS_MAX = 1_000;
const COMPONENTS_MAX = 1_000_000;
/** Keeps an answer below the service's 8 MiB. */
const ANSWER_COMPONENTS_MAX = 500_000;
/** The most requests of one map: each counts against the rate limit of the project. */
const REQUESTS_MAX = 4;

export interface MappedRecords {
  readonly records: readonly ListedRecord[];
  readonly plane: Plane;
}

interface Sampled {
  readonly name: string;
  readonly dimension: number;
  readonly record_count: number;
}

interface Reading {
  readonly service: Service;
  readonly collection: Sampled;
  readonly signal: AbortSignal;
}

/**
 * Returns at most a thousand records: all of a small collection, or those in `besides` and a sample of a large one. Calls
 * `lastId`, which gives an id that no record exceeds, for large collections only.
 */
export async function sampled(
  reading: Reading,
  lastId: () => Promise<number>,
  besides: readonly number[],
): Promise<MappedRecords> {
  const { collection, signal } = reading;
  const { dimension, record_count: count } = collection;
  const most = Math.max(1, Math.min(RECORDS_MAX, Math.floor(COMPONENTS_MAX / dimension)));
  const records =
    count <= most
      ? await firstRecords(reading, most)
      : await recordsOf(reading, sampledIds(await lastId(), count, most, besides), most);
  return { records, plane: await projected(pointsOf(records, dimension), signal) };
}

const perAnswer = ({ dimension }: Sampled): number => Math.max(1, Math.floor(ANSWER_COMPONENTS_MAX / dimension));

async function firstRecords({ service, collection, signal }: Reading, most: number): Promise<ListedRecord[]> {
  const found: ListedRecord[] = [];
  let after: ListRecordsResponse['next'] = 0;
  for (let request = 0; request < REQUESTS_MAX && after !== null && found.length < most; request++) {
    const limit = Math.min(perAnswer(collection), most - found.length);
    const path = pathOf('/v1/records', { collection: collection.name, limit, after, with: 'vector,text' });
    const page: ListRecordsResponse = await service.call('GET', path, undefined, signal);
    found.push(...page.records);
    after = page.next;
  }
  return found;
}

/** Returns `besides`, then ids at equal distances, enough to make up for ids without a record. */
function sampledIds(lastId: number, count: number, most: number, besides: readonly number[]): number[] {
  const wanted = Math.min(lastId, Math.ceil((most * lastId) / count));
  const step = lastId / wanted;
  const spread = Array.from({ length: wanted }, (_, i) => 1 + Math.floor(i * step));
  return [...new Set([...besides.slice(0, most), ...shuffledByStride(spread)])];
}

/** Reorders the ids, so that the first ones are spread over the whole list, however many are taken. */
function shuffledByStride(ids: readonly number[]): number[] {
  const stride = Math.ceil(ids.length / IDS_MAX);
  return Array.from({ length: stride }, (_, first) => ids.filter((_, i) => i % stride === first)).flat();
}

async function recordsOf(
  { service, collection, signal }: Reading,
  ids: readonly number[],
  most: number,
): Promise<ListedRecord[]> {
  const found: ListedRecord[] = [];
  const size = Math.min(IDS_MAX, perAnswer(collection));
  for (let request = 0; request < REQUESTS_MAX && found.length < most; request++) {
    const some = ids.slice(request * size, (request + 1) * size);
    if (some.length === 0) break;
    const asked = { collection: collection.name, ids: some, with: ['vector', 'text'] };
    const { records } = await service.call<GetRecordsResponse>('POST', '/v1/records/get', asked, signal);
    found.push(...records);
  }
  return found.slice(0, most);
}

function pointsOf(records: readonly ListedRecord[], dimension: number): Points {
  const rows = new Float32Array(records.length * dimension);
  for (const [row, { vector }] of records.entries()) rows.set(vector!, row * dimension);
  return { rows, count: records.length, dimension };
}

function projected(points: Points, signal: AbortSignal): Promise<Plane> {
  const worker = new Worker(document.querySelector<HTMLMetaElement>('meta[name=map-worker]')!.content, {
    type: 'module',
  });
  return new Promise<Plane>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Plane>) => resolve(data);
    worker.onerror = () => reject(new Error('The browser could not compute the map.'));
    signal.addEventListener('abort', () => reject(signal.reason));
    worker.postMessage(points, [points.rows.buffer]);
  }).finally(() => worker.terminate());
}
