/** A collection with all kinds of content, all that users can read of it, and its export and import. */
import { expect } from 'chai';
import { checkedFrames, framesIn, joinFrames } from '../../../coordinator/body/frames.js';
import type { BeginImportRequest, ExportResponse, ImportResponse } from '../../../coordinator/contract/backup.js';
import { EMPTY_LOG, type LogEnd } from '../../../shared/log/chain.js';
import { type Event, genesisOf } from '../../../shared/log/event.js';
import { buildFrame } from '../../../shared/log/frame.js';
import { actorOf, SYSTEM } from '../../../shared/model/actor.js';
import { atOnce } from '../../../shared/scheduling/slice.js';
import type { Answer, Client } from '../launch/client.js';

export interface Exported {
  readonly facts: ExportResponse;
  readonly frames: readonly Uint8Array[];
}

export const DIMENSION = 3;
const VECTOR = [1, 2, 3] as const;

export function answered({ status, text, body }: Answer): Answer['body'] {
  expect(status, text).to.equal(200);
  return body;
}

/** 32 hex characters. */
export const requestIdOf = (n: number): string => n.toString(16).padStart(32, '0');

/** Writes every kind of event, each in its own commit. */
export async function fill(rw: Client, collection: string): Promise<void> {
  answered(await rw.post('/v1/namespaces', { name: collection, dimension: DIMENSION, metric: 'squared_l2' }));
  const post = async (path: string, body: object): Promise<Answer['body']> =>
    answered(await rw.post(path, { collection, ...body }));
  for (let n = 1; n <= 6; n++)
    await post('/v1/records', {
      values: [n, 0, 0],
      tag: n,
      text: n % 2 ? `red fish ${n}` : `blue bird ${n}`,
      metadata: [...Buffer.from(JSON.stringify({ n, even: n % 2 === 0 }))],
      request_id: requestIdOf(n),
    });
  await post('/v1/vectors/batch-insert', {
    batch: Array.from({ length: 40 }, (_, i) => [i, i, 1]),
    metadata: Array.from({ length: 40 }, (_, i) => (i % 3 ? { n: i } : null)),
    request_ids: Array.from({ length: 40 }, (_, i) => (i % 5 ? null : requestIdOf(100 + i))),
  });
  await post('/v1/soft-delete', { id: 2 });
  const documents = (n: number, ...external_ids: string[]): Promise<Answer['body']> =>
    post('/v1/vectors/batch-upsert', {
      batch: external_ids.map((_, i) => [n, i, 2]),
      metadata: external_ids.map((id) => ({ n, id })),
      texts: external_ids.map((id) => `red ${id}`),
      tags: external_ids.map((_, i) => n + i),
      external_ids,
    });
  await documents(1, 'a', 'b', 'č/3');
  await documents(2, 'b', 'd');
  await post('/v1/soft-delete', { id: 47 });
  await documents(3, 'a', 'e', 'd');
  await post('/v1/records/delete', { external_ids: ['č/3', 'gone'] });
  await post('/v1/records/delete', { ids: [10, 11] });
  await post('/v1/records/delete', { metadata_filter: { n: 13 } });
  const { node_id: from } = await post('/v1/graph/node', { kind: 5, record_id: 1 });
  const { node_id: to } = await post('/v1/graph/node', { kind: 6, record_id: 3 });
  const { node_id: lone } = await post('/v1/graph/node', { kind: 1 });
  await post('/v1/graph/edge', { from, to, kind: 4 });
  const { edge_id } = await post('/v1/graph/edge', { from: to, to: lone, kind: 1 });
  answered(await rw.delete(`/v1/graph/edge/${edge_id}?collection=${collection}`));
  answered(await rw.delete(`/v1/graph/node/${lone}?collection=${collection}`));
  answered(await rw.patch(`/v1/records/5/metadata?collection=${collection}`, { n: 55, changed: true }));
  await post('/v1/delete', { id: 4 });
  await post('/v1/records/encrypted', { payload: Buffer.from('a secret').toString('base64') });
  const { key_id } = await post('/v1/records/encrypted', { payload: Buffer.from('another').toString('base64') });
  answered(await rw.delete(`/v1/crypto/shred/${key_id}`));
}

/** Everything readable, for comparison, without what names the collection itself. */
export async function portrait(client: Client, collection: string): Promise<object> {
  const at = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}collection=${collection}`;
  const read = async (path: string): Promise<unknown> => {
    const { status, body } = await client.get(at(path));
    return [status, body?.code ?? body];
  };
  const search = async (options: object): Promise<unknown> =>
    answered(await client.post('/v1/search', { collection, k: 100, query: VECTOR, ...options })).results;
  const list = answered(await client.get('/v1/namespaces')).collections;
  const { record_count, index } = list.find((one: { name: string }) => one.name === collection);
  const state = answered(await client.get(at('/v1/proof/state')));
  const many = async (count: number, path: (n: number) => string): Promise<unknown[]> =>
    Promise.all(Array.from({ length: count }, (_, n) => read(path(n + 1))));
  const nodes = answered(await client.get(at('/v1/graph/nodes'))).nodes;
  return {
    ...{ record_count, index, state },
    records: await many(60, (n) => `/v1/records/${n}`),
    receipts: await many(state.sequence, (n) => `/v1/proof/receipt?sequence=${n}`),
    inclusion: await read(`/v1/proof/inclusion?sequence=${Math.min(3, state.sequence)}`),
    timeline: await read('/v1/timeline?limit=1000'),
    nearest: await search({}),
    worded: await search({ query_text: 'red fish' }),
    filtered: await search({ metadata_filter: { n: { gte: 3 } } }),
    near: await search({ graph_rerank: { weight: 1 } }),
    past: await Promise.all(
      [0, 3, 7, 20, state.sequence].map((n) => search({ as_of_log_index: Math.min(n, state.sequence) })),
    ),
    nodes: nodes.map(({ namespace_id: _, ...node }: { namespace_id: number }) => node),
    subgraph: await read('/v1/graph/subgraph?root=1'),
  };
}

/** The export, read page by page like a client does. */
export async function exported(client: Client, collection: string): Promise<Exported> {
  const facts: ExportResponse = answered(await client.get(`/v1/export?collection=${collection}`));
  const frames: Uint8Array[] = [];
  for (let last = 0; last < facts.sequence; ) {
    const from = last === 0 ? 0 : last + 1;
    const page = await client.get(`/v1/export/log?collection=${collection}&from=${from}`);
    expect(page.status, page.text).to.equal(200);
    expect(page.headers.get('content-type')).to.equal('application/octet-stream');
    frames.push(...framesIn(checkedFrames(page.bytes)));
    last = Number(page.headers.get('vouch-last-sequence'));
    expect(Number(page.headers.get('vouch-log-sequence'))).to.be.at.least(last);
  }
  return { facts, frames };
}

export function announcement({ facts }: Exported, name?: string): BeginImportRequest {
  const { origin, dimension, metric, normalise, text, created_at_ms, created_by, index } = facts;
  const { ttl_secs, sequence, chain_head, state_hash } = facts;
  const stated = {
    ...{
      origin,
      dimension,
      metric,
      ...(normalise && { normalise }),
      ...(text && { text }),
      ...(ttl_secs && { ttl_secs }),
    },
    ...{ created_at_ms, ...(created_by && { created_by }), index: index!, sequence, chain_head, state_hash },
  };
  return name === undefined ? stated : { ...stated, name };
}

export const begin = (client: Client, of: Exported, name: string): Promise<Answer> =>
  client.post('/v1/import', announcement(of, name));

export const send = (client: Client, name: string, frames: readonly Uint8Array[]): Promise<Answer> =>
  client.postBytes(`/v1/import/${name}/log`, atOnce(joinFrames(frames)));

export const finish = (client: Client, name: string): Promise<Answer> =>
  client.raw('POST', `/v1/import/${name}/finish`, undefined);

export async function imported(client: Client, of: Exported, name: string): Promise<ImportResponse> {
  answered(await begin(client, of, name));
  answered(await send(client, name, of.frames));
  return answered(await finish(client, name));
}

/** A frame that verifies and continues the log, with events that no service would write. */
export async function forged(
  facts: ExportResponse,
  before: LogEnd,
  events: readonly Partial<Event>[],
  live: number,
): Promise<Uint8Array> {
  const { origin, dimension, created_at_ms, created_by } = facts;
  const createdBy = created_by && { createdBy: actorOf(created_by) };
  const genesis = genesisOf({ ...origin, dimension, metric: 'squared_l2', createdAtMs: created_at_ms, ...createdBy });
  const from = Math.max(before.nextSequence, 1);
  const dated = events.map(
    (event, i) =>
      ({ actor: SYSTEM, ...event, sequence: from + i, timeMs: before.lastTimeMs || created_at_ms }) as Event,
  );
  return (await buildFrame(before === EMPTY_LOG ? [genesis, ...dated] : dated, before, live, async () => undefined))
    .bytes;
}
