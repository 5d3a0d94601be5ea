// Covers: client/http.ts, client/ending.ts, client/signals.ts, client/transport.ts, client/nodeTransport.ts, client/spelling.ts, client/values.ts, client/errors.ts, scripts/setup/builds/clientTypes.mjs
/** Requests of the client package, their retries and their errors, against a scripted server. */
import { getEventListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { unpack } from 'msgpackr';
import {
  ConflictError,
  ConnectionError,
  DeadlineError,
  ERROR_CLASSES,
  RateLimitedError,
  RecordNotFoundError,
  UnavailableError,
  UnexpectedAnswerError,
  Vouch,
  type VouchError,
} from '../../../client/index.js';
import { ERRORS } from '../../../shared/errors/errorTable.js';
import { rejection } from '../../support/expectations.js';

interface Seen {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly key: string | string[] | undefined;
  readonly authorization: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape right after reading it
  readonly body: any;
}
type Script = (response: ServerResponse, request: IncomingMessage) => void;

const json =
  (status: number, body: object, headers = {}): Script =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const broken: Script = (_, request) => void request.socket.destroy();
const silent: Script = () => undefined;
const busy = json(503, { error: 'busy', code: 'unavailable' }, { 'retry-after': '0', 'x-request-id': 'r-1' });
const INSERTED = { id: 1, deduplicated: false, receipt: { record_id: 1, old_root: 'a' } };

const requestsBy = (fetch?: typeof globalThis.fetch) => () => {
  let server: Server;
  let seen: Seen[];
  let scripts: Script[];
  let vouch: Vouch;
  beforeEach(async () => {
    [seen, scripts] = [[], []];
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method, url: path, headers } = request;
        const { authorization, 'idempotency-key': key } = headers;
        const bytes = Buffer.concat(chunks);
        const isPacked = headers['content-type'] === 'application/msgpack';
        const body = bytes.length === 0 ? undefined : isPacked ? unpack(bytes) : JSON.parse(bytes.toString());
        seen.push({ method, path, key, authorization, body });
        (scripts.length > 1 ? scripts.shift()! : scripts[0]!)(response, request);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    vouch = new Vouch({ url: `http://127.0.0.1:${port}/`, apiKey: 'k', fetch });
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });
  const docs = () => vouch.collection('docs');

  it('use the spelling of the API, answers the spelling of the package, and keys of callers are unchanged', async () => {
    const metadata = { snake_case: { camelCase: 1 } };
    scripts = [json(200, { results: [{ id: 1, score: 0, external_id: 'a', decay_factor: 1, metadata }] })];
    const { results } = await docs().search({
      ...{ query: Float64Array.of(1, 0.5), k: 2, decayHalfLifeSecs: 7, groupBy: 'a_b' },
      metadataFilter: { snake_case: { gte: 1 }, camelCase: 'x' },
    });
    expect(results).to.deep.equal([{ id: 1, score: 0, externalId: 'a', decayFactor: 1, metadata }]);
    expect(seen).to.deep.equal([
      {
        ...{ method: 'POST', path: '/v1/search', key: undefined, authorization: 'Bearer k' },
        body: {
          ...{ query: [1, 0.5], k: 2, decay_half_life_secs: 7, group_by: 'a_b', collection: 'docs' },
          metadata_filter: { snake_case: { gte: 1 }, camelCase: 'x' },
        },
      },
    ]);
  });

  it('carry vectors as bytes if float32 holds all of them, otherwise as decimals', async () => {
    scripts = [json(200, { ids: [1, 2], results: [] })];
    const [one, two] = [Float32Array.of(1, 0.1), Float32Array.of(2, -0.1)];
    await docs().batchInsert({ batch: [one, two], metadata: [{ camelCase: 1 }, null] });
    const uneven = [2, -0.1];
    await docs().batchInsert({ batch: [one, uneven] });
    const list = [...two];
    await docs().insert({ values: list, metadata: { list } });
    await docs().search({ query: [2, 1e39], k: 1 });
    await docs().search({ query: one, k: 1, metadataFilter: { a_b: 1 } });
    await docs().searchBatch({
      searches: [
        { query: one, k: 1 },
        { like: 1, k: 1 },
      ],
    });
    await vouch.searchMulti({ query: two, k: 1, collections: ['docs'] });
    const bytes = (vector: Float32Array) => Buffer.from(vector.buffer);
    expect(seen.map(({ body }) => body)).to.deep.equal([
      { batch: [bytes(one), bytes(two)], metadata: [{ camelCase: 1 }, null], collection: 'docs' },
      { batch: [[...one], uneven], collection: 'docs' },
      { values: bytes(two), metadata: { list }, request_id: seen[2]!.body.request_id, collection: 'docs' },
      { query: [2, 1e39], k: 1, collection: 'docs' },
      { query: bytes(one), k: 1, metadata_filter: { a_b: 1 }, collection: 'docs' },
      {
        searches: [
          { query: bytes(one), k: 1 },
          { like: 1, k: 1 },
        ],
        collection: 'docs',
      },
      { query: bytes(two), k: 1, collections: ['docs'] },
    ]);
  });

  it('fail with a TypeError if a vector contains a number that JSON lacks', async () => {
    for (const query of [[1, Number.NaN], Float32Array.of(1, Number.POSITIVE_INFINITY)]) {
      const error = await rejection(docs().search({ query, k: 1 }));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.match(/^query\[1\] is (NaN|Infinity), which cannot be sent/);
    }
    expect(seen).to.deep.equal([]);
  });

  it('carry a generated id for an insert, equal at each attempt, after any failure', async () => {
    scripts = [broken, busy, json(502, {}), json(200, INSERTED)];
    expect(await docs().insert({ values: [1] })).to.deep.include({ id: 1, deduplicated: false });
    expect(seen).to.have.length(4);
    expect(new Set(seen.map(({ body }) => body.request_id)).size).to.equal(1);
    expect(seen[0]!.body.request_id).to.match(/^[0-9a-f]{32}$/);
    [seen, scripts] = [[], [broken, json(200, { ids: [1] })]];
    await docs().batchInsert({ batch: [[1]] });
    expect(new Set(seen.map(({ key }) => key)).size).to.equal(1);
    expect(seen[0]!.key).to.match(/^[0-9a-f]{32}$/);
  });

  it('are retried under one key, given or generated, if they insert encrypted records', async () => {
    for (const options of [{}, { idempotencyKey: 'ab'.repeat(16) }]) {
      [seen, scripts] = [[], [broken, busy, json(200, { id: 1, key_id: 'k' })]];
      expect(await docs().insertEncrypted({ payload: 'AAAA' }, options)).to.deep.equal({ id: 1, keyId: 'k' });
      const [key] = new Set(seen.map(({ key }) => key));
      expect(seen.map(({ path, key, body }) => [path, key, body])).to.deep.equal(
        Array(3).fill(['/v1/records/encrypted', key, { payload: 'AAAA', collection: 'docs' }]),
      );
      expect(key).to.match(/^[0-9a-f]{32}$/);
      if (options.idempotencyKey !== undefined) expect(key).to.equal(options.idempotencyKey);
    }
  });

  it('are retried under one request id if they delete many records, by ids or by a filter', async () => {
    for (const of of [{ ids: [1] }, { metadataFilter: { a: 1 } }, { ids: [1], requestId: 'cd'.repeat(16) }]) {
      [seen, scripts] = [[], [broken, json(200, { deleted: 1, log_index: 9, deduplicated: true })]];
      expect(await docs().deleteMany(of)).to.deep.equal({ deleted: 1, logIndex: 9, deduplicated: true });
      expect(new Set(seen.map(({ body }) => body.request_id)).size).to.equal(1);
      expect(seen).to.have.length(2);
      expect(seen[0]!.body.request_id).to.match('requestId' in of ? /^(cd){16}$/ : /^[0-9a-f]{32}$/);
    }
  });

  it('are not sent again if they change records on a condition, except under a request id or key', async () => {
    const change = { ifLogIndex: 4 };
    const record = { externalId: 'a b' };
    for (const ask of [
      () => docs().updateMetadata(1, {}, change),
      () => docs().patchMetadata(record, {}, change),
      () => docs().patchMany({ ids: [1], merge: {}, ...change }),
      () => docs().softDelete(record, change),
    ]) {
      [seen, scripts] = [[], [broken, json(200, {})]];
      expect(await rejection(ask())).to.be.instanceOf(ConnectionError);
      expect(seen).to.have.length(1);
      const [{ path, body }] = seen as [Seen];
      expect(body.if_log_index ?? new URL(path!, 'http://vouch').searchParams.get('if_log_index')).to.be.oneOf([
        4,
        '4',
      ]);
    }
    for (const ask of [
      () => docs().batchUpsert({ batch: [[1]], externalIds: ['a'], ...change }),
      () => docs().deleteMany({ ids: [1], ...change }),
    ]) {
      [seen, scripts] = [[], [broken, json(200, { ids: [1], deleted: 1 })]];
      await ask();
      expect(seen.map(({ body }) => body.if_log_index)).to.deep.equal([4, 4]);
    }
    scripts = [json(409, { error: 'record 1 was changed by event 5, after 4: read it again', code: 'conflict' })];
    expect(await rejection(docs().updateMetadata(1, {}, change))).to.be.instanceOf(ConflictError);
  });

  it('name the person that they are for, by the call or by the client', async () => {
    const named: unknown[] = [];
    scripts = [
      (response, request) => {
        named.push(request.headers['vouch-on-behalf-of']);
        json(200, { results: [] })(response, request);
      },
    ];
    await docs().search({ query: [1], k: 1 });
    await docs().search({ query: [1], k: 1 }, { onBehalfOf: 'u-17' });
    const { port } = server.address() as AddressInfo;
    const agent = new Vouch({ url: `http://127.0.0.1:${port}`, onBehalfOf: 'agent', fetch }).collection('docs');
    await agent.search({ query: [1], k: 1 });
    await agent.search({ query: [1], k: 1 }, { onBehalfOf: 'u-18' });
    expect(named).to.deep.equal([undefined, 'u-17', 'agent', 'u-18']);
    for (const onBehalfOf of ['', 'a b', 'x'.repeat(129)])
      expect(await rejection(docs().search({ query: [1], k: 1 }, { onBehalfOf }))).to.be.instanceOf(TypeError);
  });

  it('follow the pages of one actor’s timeline, also empty ones', async () => {
    const event = (log_index: number) => ({ log_index, event_type: 'insert' });
    scripts = [
      json(200, { events: [event(2)], total: 9, next: 4 }),
      json(200, { events: [], total: 9, next: 8 }),
      json(200, { events: [event(9)], total: 9 }),
    ];
    const indices: number[] = [];
    for await (const { logIndex } of docs().timeline({ actor: 'u-17', limit: 1 })) indices.push(logIndex);
    expect(indices).to.deep.equal([2, 9]);
    expect(seen.map(({ path }) => new URLSearchParams(path!.split('?')[1]).get('after'))).to.deep.equal([
      null,
      '4',
      '8',
    ]);
  });

  it('for the version return text', async () => {
    scripts = [(response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end('1.2.3')];
    expect(await vouch.version()).to.equal('1.2.3');
    expect(seen[0]).to.include({ method: 'GET', path: '/v1/version' });
  });

  it('are not retried after a lost connection if that might carry them out twice', async () => {
    scripts = [broken, json(200, { node_id: 1 })];
    const error = await rejection(docs().graph.createNode({ kind: 1 }));
    expect(error).to.be.instanceOf(ConnectionError);
    expect(seen).to.have.length(1);
    scripts = [json(429, { error: 'slow down' }, { 'retry-after': '0' }), json(200, { node_id: 7 })];
    expect(await docs().graph.createNode({ kind: 1 })).to.deep.equal({ nodeId: 7 });
  });

  it('for a deletion succeed if a retry finds the record gone, and fail if the first attempt does', async () => {
    const gone = json(404, { error: 'there is no record 1', code: 'record_not_found' });
    scripts = [broken, gone];
    expect(await docs().delete(1)).to.deep.equal({ success: true });
    scripts = [gone];
    expect(await rejection(docs().delete(1))).to.be.instanceOf(RecordNotFoundError);
  });

  it('fail with one class for each error code, with message, status and request id', async () => {
    // A wait beyond the deadline of the call is not begun.
    const headers = { 'x-request-id': 'r', 'retry-after': '3600' };
    for (const [code, { status }] of Object.entries(ERRORS)) {
      scripts = [json(status, code === 'rate_limited' ? { error: 'why' } : { error: 'why', code }, headers)];
      expect(await rejection(docs().configureIndex({ type: 'hnsw' })), code)
        .to.be.instanceOf(ERROR_CLASSES[code])
        .and.include({ code, status, requestId: 'r', message: 'why' });
    }
    scripts = [(response) => void response.writeHead(418).end('<html>')];
    expect(await rejection(docs().count()))
      .to.be.instanceOf(UnexpectedAnswerError)
      .and.include({ status: 418 });
  });

  for (const body of ['<html>', '', 'null', '7', '{"count": 1'])
    it(`fail with UnexpectedAnswerError if the answer has status 200 and is ${body || 'empty'}`, async () => {
      scripts = [(response) => void response.writeHead(200, { 'x-request-id': 'r' }).end(body)];
      expect(await rejection(docs().count()))
        .to.be.instanceOf(UnexpectedAnswerError)
        .and.include({ status: 200, requestId: 'r' });
      expect(seen).to.have.length(1);
    });

  it('carry a key without the line end of the file that it was read from', async () => {
    scripts = [json(200, { count: 1 })];
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await new Vouch({ url, apiKey: 'vk_1\r\n', retries: 0, fetch }).collection('docs').count();
    expect(seen[0]!.authorization).to.equal('Bearer vk_1');
  });

  it('fail with the last error after the configured number of retries', async () => {
    scripts = [busy];
    const few = new Vouch({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, retries: 2, fetch });
    const error = await rejection(few.collection('docs').count());
    expect(error).to.be.instanceOf(UnavailableError).and.include({ requestId: 'r-1' });
    expect(seen).to.have.length(3);
    expect(seen[0]!.authorization).to.equal(undefined);
  });

  it('fail at their deadline, during an answer or a wait', async () => {
    scripts = [silent];
    expect(await rejection(docs().count({ timeoutMs: 50 }))).to.be.instanceOf(DeadlineError);
    scripts = [json(429, { error: 'slow down' }, { 'retry-after': '60' })];
    expect(await rejection(docs().count({ timeoutMs: 1_000 }))).to.be.instanceOf(RateLimitedError);
  });

  it('are aborted by a signal, with its reason, before, during and between attempts', async () => {
    for (const script of [silent, busy]) {
      scripts = [script];
      const aborting = new AbortController();
      const counting = docs().count({ signal: aborting.signal });
      setTimeout(() => aborting.abort(new Error('enough')), 20);
      expect((await rejection(counting)).message).to.equal('enough');
    }
    const before = seen.length;
    expect((await rejection(docs().count({ signal: AbortSignal.abort(new Error('never')) }))).message).to.equal(
      'never',
    );
    expect(seen).to.have.length(before);
  });

  it('have one listener of a signal together, and none after their end', async () => {
    const { signal } = new AbortController();
    const listeners = (): number => getEventListeners(signal, 'abort').length;
    scripts = [busy, json(200, { count: 1 })];
    const counting = Array.from({ length: 20 }, () => docs().count({ signal }));
    expect(listeners()).to.equal(1);
    await Promise.all(counting);
    expect(listeners()).to.equal(0);
  });

  it('pass on what Next.js throws out of fetch to render a page at each request, without a repeat', async () => {
    const thrown = Object.assign(new Error('no-store fetch'), { digest: 'DYNAMIC_SERVER_USAGE' });
    let asked = 0;
    const fetching = async (): Promise<never> => {
      asked++;
      throw thrown;
    };
    const vouch = new Vouch({ url: 'http://127.0.0.1', fetch: fetching });
    expect(await rejection(vouch.collection('docs').count())).to.equal(thrown);
    expect(asked).to.equal(1);
  });

  it('send the batches of insertMany with bounded concurrency, and report progress', async () => {
    let [underway, most, next] = [0, 0, 1];
    scripts = [
      (response) => {
        most = Math.max(most, ++underway);
        const ids = seen.at(-1)!.body.batch.map(() => next++);
        setTimeout(() => {
          underway--;
          json(200, { ids })(response, {} as IncomingMessage);
        }, 5);
      },
    ];
    async function* records() {
      for (let n = 0; n < 95; n++) yield { values: [n], metadata: n % 2 ? { n } : null, text: null };
    }
    const counts: number[] = [];
    const onProgress = ({ inserted }: { inserted: number }): void => void counts.push(inserted);
    const done = await docs().insertMany(records(), { batchSize: 10, concurrency: 3, onProgress });
    expect(done).to.deep.equal({ inserted: 95 });
    expect(counts.at(-1)).to.equal(95);
    expect(most).to.be.within(2, 3);
    // Concurrent batches arrive in any order.
    const sizes = seen.map(({ body }) => body.batch.length).sort((a, b) => b - a);
    expect(sizes).to.deep.equal([...Array.from({ length: 9 }, () => 10), 5]);
    expect(seen[0]!.body).to.not.have.property('texts');
    seen = [];
    await docs().insertMany([[0.1, 2], Float32Array.of(3, 4)]);
    expect(JSON.stringify(seen[0]!.body.batch)).to.equal('[[0.1,2],[3,4]]');
  });

  it('stop insertMany after the first failure, which is thrown, and close the iterable', async () => {
    let isClosed = false;
    function* endless() {
      try {
        for (;;) yield [1];
      } finally {
        isClosed = true;
      }
    }
    scripts = [json(200, { ids: [1, 2] }), json(507, { error: 'full', code: 'capacity_exceeded' })];
    const error = await rejection(docs().insertMany(endless(), { batchSize: 2, concurrency: 1 }));
    expect(error).to.include({ code: 'capacity_exceeded' });
    expect((error as VouchError).batch).to.deep.equal({ offset: 2, records: 2, inserted: 2 });
    expect(isClosed).to.equal(true);
    const mixed = docs().insertMany([{ values: [1], externalId: 'a' }, { values: [1] }]);
    expect((await rejection(mixed)).message).to.include('externalId');
  });
};

describe('requests of the client', requestsBy());
describe('requests of the client over fetch', requestsBy(globalThis.fetch));
