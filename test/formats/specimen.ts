/**
 * Parts of a specimen. Its README lists the content of the archive, which `makeSpecimen.ts` makes and
 * `specimen.long.test.ts` reads.
 */
import { Vouch } from '../../client/index.js';
import { IndexedByHttp, type KINDS } from '../support/launch/indexClient.js';
import type { Client, Service } from '../support/launch/service.js';
import { answered, portrait } from '../support/rigs/backups.js';

export const PROJECT = 'p1';
export const COLLECTION = 'everything';
export const ORIGIN_URL = 'http://specimen.example';
/** Files of a data folder that belong to a running process. */
export const OF_A_PROCESS = ['folder/lock', 'folder/logs', 'folder/runtime.json', 'witness1/lock'];
/** Collections named after the kind of their index. */
export const INDEXED = ['hnsw', 'ivf', 'bq'] as const satisfies typeof KINDS;
export const INDEX_DIMENSION = 2;
const QUERIES = [
  [0, 0],
  [3.25, -1.5],
  [-7, 9.75],
];

/** A message of a JetStream stream. `body` is base64. */
export interface StreamMessage {
  readonly stream: string;
  readonly sequence: number;
  readonly subject: string;
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  readonly body: string;
}

/**
 * Client of the package `@vouch/client` for a service at any address. The package keeps its memory by address, so the
 * address is always ORIGIN_URL.
 */
export const clientOf = (url: string, apiKey: string): Vouch =>
  new Vouch({
    url: ORIGIN_URL,
    apiKey,
    fetch: (asked, init) => fetch(String(asked).replace(ORIGIN_URL, url), init),
  });

interface Ids {
  readonly encrypted: number;
  readonly shredded: number;
}

/** Answers of the service of a specimen, once its indexes serve. */
export async function answersOf(service: Service, client: Client, ids: Ids): Promise<object> {
  const search = async (collection: string): Promise<unknown[]> =>
    Promise.all(
      QUERIES.map(async (query) => answered(await client.post('/v1/search', { collection, query, k: 10 })).results),
    );
  const state = async (collection: string): Promise<unknown> =>
    answered(await client.get(`/v1/proof/state?collection=${collection}`));
  const read = async (id: number): Promise<unknown> => {
    const { status, body } = await client.get(`/v1/records/encrypted/${id}?collection=${COLLECTION}`);
    return status === 200 ? { status, body } : { status, code: body.code };
  };
  for (const name of INDEXED) await new IndexedByHttp(service, client, name).settled(name);
  const indexed = await Promise.all(
    INDEXED.map(async (name) => [name, { state: await state(name), results: await search(name) }] as const),
  );
  return {
    everything: await portrait(client, COLLECTION),
    encrypted: await read(ids.encrypted),
    shredded: await read(ids.shredded),
    ids,
    indexed: Object.fromEntries(indexed),
  };
}
