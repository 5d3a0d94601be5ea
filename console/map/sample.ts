/** A sample of the records of a collection, from all over it. */
import type { GetRecordsResponse, ListedRecord, ListRecordsResponse } from '../../coordinator/contract/records.js';
import { pathOf, type Service } from '../service.js';
import type { Plane, Points } from './projection.js';

/** Pages that begin at ids which are equally far apart. */
const PAGES = 10;
const RECORDS = 1_000;
/** Vectors of many components are fewer: a page is about this many numbers. */
const PAGE_COMPONENTS = 100_000;

export interface MappedRecords {
  readonly records: readonly ListedRecord[];
  readonly plane: Plane;
}

/** At most some thousand records, and those with the ids in `besides`. `lastId`: none is greater. */
export async function sampled(
  service: Service,
  collection: { readonly name: string; readonly dimension: number },
  lastId: number,
  besides: readonly number[],
  signal: AbortSignal,
): Promise<MappedRecords> {
  const { name, dimension } = collection;
  const limit = Math.max(1, Math.min(RECORDS / PAGES, Math.floor(PAGE_COMPONENTS / dimension)));
  const found = new Map<number, ListedRecord>();
  for (let page = 0; page < PAGES; page++) {
    const after = Math.floor((lastId * page) / PAGES);
    const path = pathOf('/v1/records', { collection: name, limit, after, with: 'vector,text' });
    const { records } = await service.call<ListRecordsResponse>('GET', path, undefined, signal);
    for (const record of records) found.set(record.id, record);
  }
  const lacking = besides.filter((id) => !found.has(id));
  if (lacking.length > 0) {
    const asked = { collection: name, ids: lacking, with: ['vector', 'text'] };
    const { records } = await service.call<GetRecordsResponse>('POST', '/v1/records/get', asked, signal);
    for (const record of records) found.set(record.id, record);
  }
  const records = [...found.values()];
  return { records, plane: await projected(pointsOf(records, dimension), signal) };
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
    worker.onerror = () => reject(new Error('the map could not be computed'));
    signal.addEventListener('abort', () => reject(signal.reason));
    worker.postMessage(points, [points.rows.buffer]);
  }).finally(() => worker.terminate());
}
