/**
 * HTTP requests, bodies and query strings. Each gets a status that its endpoint documents and, for an error, a code of
 * the registry. It never gets 500, and never destroys other data.
 */
import { ERRORS } from '../../../shared/errors/errorTable.js';
import type { Answer, Client } from '../../support/launch/client.js';
import { FuzzedService } from '../service.js';
import type { FuzzTarget } from '../target.js';

const BODIES: readonly (readonly [method: string, path: string, body: unknown])[] = [
  ['POST', '/v1/records', { collection: 'c', values: [0.5, -1], request_id: '0'.repeat(32), tag: 7, text: 'a b' }],
  ['POST', '/v1/records', { collection: 'c', values: [0, 1], expires_at: 4_102_444_800 }],
  ['POST', '/v1/records', { collection: 'c', values: [1, 2], metadata: [123, 125], request_id: Array(16).fill(3) }],
  ['POST', '/v1/records/encrypted', { collection: 'c', payload: 'c2VjcmV0', tag: 1, key_id: 'ab'.repeat(16) }],
  [
    'POST',
    '/v1/vectors/batch-insert',
    {
      collection: 'c',
      batch: [
        [1, 2],
        [3, 4],
      ],
      metadata: [{ a: [1] }, null],
      texts: ['x', null],
      request_ids: [null, '1'.repeat(32)],
      expires_at: [null, 4_102_444_800],
      key_ids: ['new', 'cd'.repeat(16)],
    },
  ],
  ['POST', '/v1/records', { collection: 'd', values: [1, 2], key_id: 'ef'.repeat(16), metadata: { a: 1 }, text: 'x' }],
  ['PATCH', '/v1/records/1/metadata?collection=c', { a: { b: [1, 'x', null, true] } }],
  ['POST', '/v1/soft-delete', { collection: 'c', id: 99 }],
  ['POST', '/v1/delete', { collection: 'c', id: 99 }],
  [
    'POST',
    '/v1/search',
    { collection: 'c', query: [0, 1], k: 3, rerank: true, query_text: 'a', hybrid: true, decay_half_life_secs: 60 },
  ],
  [
    'POST',
    '/v1/search',
    {
      collection: 'c',
      query: [0, 1],
      k: 3,
      metadata_filter: { a: { gte: 1, lt: 5 }, 'b.c': { in: [1, 'x'] }, $or: [{ d: null }, { $not: { e: [1] } }] },
    },
  ],
  [
    'POST',
    '/v1/search',
    {
      collection: 'c',
      query: [0, 1],
      k: 3,
      graph_rerank: { weight: 0.5, seed_count: 2, max_depth: 3, direction: 'both' },
      as_of_log_index: 1,
    },
  ],
  ['POST', '/v1/search', { collection: 'c', query: [0, 1], k: 3, as_of: '2026-01-02T03:04:05.678Z' }],
  [
    'POST',
    '/v1/search',
    { collection: 'd', query: [0, 1], k: 3, query_text: 'a', hybrid: { text_weight: 0.5, fusion: 'rrf' } },
  ],
  [
    'POST',
    '/v1/search',
    { collection: 'd', query: [0, 1], k: 3, diversity: 0.5, like: null, with: ['text', 'vector'] },
  ],
  [
    'POST',
    '/v1/search/text',
    { collection: 'd', query_text: 'running houses', k: 3, with: ['text'], as_of_log_index: 1 },
  ],
  [
    'POST',
    '/v1/records/list',
    {
      collection: 'd',
      limit: 3,
      order_by: 'a.b',
      order: 'desc',
      with: ['log_index'],
      metadata_filter: {
        $text: { words: { phrase: 'a b' } },
        t: { words: { any: 'x y' }, prefix: 'x', contains: 'y' },
      },
    },
  ],
  ['PATCH', '/v1/records/1/metadata?collection=c&if_log_index=1', { a: 1 }],
  ['POST', '/v1/records/metadata', { collection: 'd', ids: [1, 2], merge: { a: null, b: { c: 1 } }, if_log_index: 3 }],
  ['POST', '/v1/delete', { collection: 'c', external_id: 'x', if_log_index: 1 }],
  [
    'POST',
    '/v1/vectors/batch-upsert',
    { collection: 'd', batch: [[1, 2]], external_ids: ['x'], texts: ['running houses'], if_log_index: 0 },
  ],
  ['POST', '/v1/erasures', { key_ids: ['ab'.repeat(16)], logged: false }],
  ['POST', '/v1/erasures', { collection: 'd', metadata_filter: { a: 1 } }],
  ['POST', '/v1/search/multi', { collections: ['c', 'd'], query: [0, 1], k: 3, metadata_filter: { a: 1 } }],
  ['POST', '/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2', index: 'auto' }],
  [
    'POST',
    '/v1/namespaces',
    {
      ...{ name: 'd', dimension: 2, metric: 'squared_l2', normalise: true },
      ...{ text: { language: 'english' }, ttl_secs: 9, erasable: true },
    },
  ],
  ['PUT', '/v1/aliases/x', { collection: 'c' }],
  ['POST', '/v1/namespaces/c/index', { type: null, parameters: { m: 4 } }],
  ['POST', '/v1/graph/node', { collection: 'c', kind: 1, record_id: 1 }],
  ['POST', '/v1/graph/edge', { collection: 'c', from: 1, to: 2, kind: 3 }],
]; // prettier-ignore

const READS: readonly string[] = [
  '/v1/records/1?collection=c',
  '/v1/aliases',
  '/v1/records?collection=d&order_by=a&order=asc&limit=2&with=text,log_index',
  '/v1/records/1?collection=d&with=text,log_index',
  '/v1/records/encrypted/3?collection=c',
  '/v1/graph/nodes?collection=c&kind=1&offset=0&limit=5',
  '/v1/graph/query?collection=c&start=1&direction=both&edge_kind=3&node_kind=1&depth=2&limit=10',
  '/v1/graph/subgraph?collection=c&root=1&depth=2',
  '/v1/graph/edges/1?collection=c',
  '/v1/proof/state?collection=c',
  '/v1/proof/event-log?collection=c',
  '/v1/proof/receipt?collection=c&sequence=1',
  '/v1/proof/inclusion?collection=c&sequence=1&size=2',
  '/v1/proof/consistency?collection=c&from=1&to=2',
  '/v1/proof/checkpoint?collection=c',
  '/v1/timeline?collection=c&from=2026-01-02T03:04:05Z&to=4000000000&limit=5&after=0',
  '/v1/crypto/status/abababababababababababababababab',
  '/v1/namespaces/c/index',
];

const KEPT = { values: [7, 7], tag: 1, text: 'kept' };

/** One line of text: a method, a path, and the body if there is one. */
const bodyLine = ([method, path, body]: (typeof BODIES)[number]): string =>
  `${method} ${path}\n${JSON.stringify(body)}`;

export const requests: FuzzTarget = {
  name: 'requests',
  open: async () => {
    const service = await FuzzedService.start();
    const client = await service.client('p');
    const other = await service.client('other');
    const plain = { dimension: 2, metric: 'squared_l2' };
    await client.post('/v1/namespaces', { name: 'c', ...plain });
    await client.post('/v1/namespaces', { name: 'd', ...plain, normalise: true, text: { language: 'english' } });
    const texts = ['running houses', 'a b'];
    await client.post('/v1/vectors/batch-insert', {
      collection: 'd',
      batch: [
        [1, 2],
        [3, 4],
      ],
      texts,
    }); // prettier-ignore
    await other.post('/v1/namespaces', { name: 'kept', dimension: 2, metric: 'squared_l2' });
    const kept = await other.post('/v1/records', { collection: 'kept', ...KEPT });
    const lines = [...BODIES.map(bodyLine), ...READS.map((path) => `GET ${path}`)];
    return {
      samples: lines.map((line) => Buffer.from(line)),
      tryOne: async (input) => {
        const answer = await send(client, input);
        if (answer === undefined) return 'refused';
        assertProper(answer);
        return answer.status < 300 ? 'taken' : 'refused';
      },
      close: async () => {
        const state = await other.get('/v1/records/1?collection=kept');
        const proof = await other.get('/v1/proof/state?collection=kept');
        await service.stop();
        if (state.body?.tag !== 1) throw new Error(`another project's record is gone: ${state.text}`);
        if (proof.body?.final_state_hash !== kept.body?.receipt?.state_hash)
          throw new Error("another project's collection has changed");
      },
    };
  },
};

/** Undefined if no client could send it. */
async function send(client: Client, input: Uint8Array): Promise<Answer | undefined> {
  const text = Buffer.from(input).toString('latin1');
  const end = text.indexOf('\n');
  const head = end < 0 ? text : text.slice(0, end);
  const body = end < 0 ? undefined : Buffer.from(input).subarray(end + 1);
  const [method = '', ...rest] = head.split(' ');
  const path = rest.join(' ');
  const isKnown = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method);
  if (!isKnown || !path.startsWith('/') || (method === 'GET' && body !== undefined)) return undefined;
  try {
    return await client.raw(method, path, body?.toString());
  } catch (error) {
    // `fetch` itself refuses to send it.
    if (error instanceof TypeError && !(error.cause instanceof Error && 'code' in error.cause)) return undefined;
    throw error;
  }
}

function assertProper({ status, body, text, headers }: Answer): void {
  if (status < 300) return;
  if (status >= 500 && status !== 503) throw new Error(`answered ${status}: ${text}`);
  const { code, error } = (body ?? {}) as { code?: keyof typeof ERRORS; error?: unknown };
  if (code === undefined || ERRORS[code]?.status !== status || typeof error !== 'string' || error === '')
    throw new Error(`answered ${status} with an unknown error body: ${text}`);
  if (headers.get('x-request-id') === null) throw new Error(`answered ${status} without a request id`);
}
