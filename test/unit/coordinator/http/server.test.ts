import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { pino } from 'pino';
import type { ConfigOverrides } from '../../../../config/load.js';
import type { Entry, Watch } from '../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import { Client } from '../../../support/launch/client.js';
import { HostileClient } from '../../../support/launch/hostileClient.js';
import { rawExchange, requestHead } from '../../../support/launch/http.js';
import { overEngines, TestClock, TestEdge, until } from '../../../support/rigs/testEdge.js';

const SEARCH = JSON.stringify({ collection: 'c', query: [1, 2], k: 1 });

/** A key store without a watch, whose reads wait for `answer()`. */
class UnwatchedBucket extends MemoryBucket {
  waiting: (() => void)[] = [];

  override async watch(): Promise<Watch> {
    return { caughtUp: async () => {}, read: (key) => this.get(key), stop: () => {} };
  }

  override async get(key: string): Promise<Entry | undefined> {
    await new Promise<void>((resolve) => this.waiting.push(resolve));
    return super.get(key);
  }

  answer(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

overEngines('the HTTP server', (engine) => {
  const edges: TestEdge[] = [];
  const start = async (
    overrides: ConfigOverrides = {},
    parts?: Parameters<typeof TestEdge.start>[1],
  ): Promise<TestEdge> => {
    const edge = await TestEdge.start({ ...overrides, http: { engine, ...overrides.http } }, parts);
    edges.push(edge);
    await edge.backend.create('p', { name: 'c', dimension: 2, index: 'brute' });
    return edge;
  };
  afterEach(async () => {
    await Promise.all(edges.splice(0).map((edge) => edge.stop()));
  });

  it('checks path, method, key, content type and scope in this order, without taking a token before', async () => {
    const rate = { perMinute: 1, burst: 1 };
    const clock = new TestClock();
    const edge = await start({ rateLimits: { default: { total: rate, read: rate, write: rate } } }, { clock });
    const { url } = edge.edge;
    const reader = `Bearer ${await edge.key('read_only')}`;
    const ask = async (method: string, path: string, authorization = '', type = 'application/json') => {
      const headers = { ...(authorization === '' ? {} : { authorization }), 'content-type': type };
      const body = method === 'GET' ? {} : { body: SEARCH };
      const answer = await fetch(url + path, { method, headers, ...body });
      return [answer.status, ((await answer.json()) as { code?: string }).code];
    };
    for (let i = 0; i < 3; i++) {
      expect(await ask('PUT', '/v1/nope')).to.deep.equal([404, 'not_found']);
      expect(await ask('PUT', '/v1/records')).to.deep.equal([405, 'method_not_allowed']);
      expect(await ask('POST', '/v1/records', '', 'text/plain')).to.deep.equal([401, 'unauthorized']);
      expect(await ask('POST', '/v1/records', reader, 'text/plain')).to.deep.equal([415, 'unsupported_media_type']);
      expect(await ask('POST', '/v1/records', reader)).to.deep.equal([403, 'forbidden']);
    }
    expect(await ask('POST', '/v1/search', reader)).to.deep.equal([200, undefined]);
    expect(await ask('POST', '/v1/search', reader)).to.deep.equal([429, undefined]);
    expect(await ask('POST', '/v1/records', reader)).to.deep.equal([403, 'forbidden']);
  });

  it('answers 429 with Retry-After, the rate limit headers, and a body of one field', async () => {
    const rate = { perMinute: 6, burst: 1 };
    const edge = await start({ rateLimits: { default: { total: rate, read: rate, write: rate } } });
    const one = await edge.client('read_only');
    const other = await edge.client('admin');
    const first = await one.get('/v1/namespaces');
    expect(first.status).to.equal(200);
    expect(first.headers.get('ratelimit-remaining')).to.equal('0');
    // Another key of the project draws from the same bucket; another project does not.
    const refused = await other.get('/v1/namespaces');
    expect(refused.status).to.equal(429);
    expect(refused.body).to.have.all.keys('error');
    expect(Number(refused.headers.get('retry-after'))).to.be.within(9, 10);
    expect(refused.headers.get('ratelimit-limit')).to.equal('1');
    expect((await (await edge.client('read_only', 'q')).get('/v1/namespaces')).status).to.equal(200);
    expect((await one.get('/health')).headers.has('ratelimit-limit')).to.equal(false);
  });

  it('answers unknown methods with 405, and HEAD without a body', async () => {
    const { edge } = await start();
    // Node's parser refuses unknown methods itself.
    for (const method of ['HEAD', 'OPTIONS', 'TRACE', ...(engine === 'uws' ? ['FOO', 'get'] : [])]) {
      const [answer, next] = await rawExchange(
        edge.port,
        requestHead(method, '/v1/search') + requestHead('GET', '/health'),
        2,
      );
      expect(answer!.status).to.equal(405);
      expect(answer!.headers.get('allow')).to.equal('POST');
      expect(answer!.body).to.equal(
        method === 'HEAD' ? '' : JSON.stringify({ error: 'this path takes POST', code: 'method_not_allowed' }),
      );
      expect(next!.status).to.equal(200);
    }
  });

  it('accepts only JSON in UTF-8 as content type, and a missing content type as that', async () => {
    const edge = await start();
    const authorization = `Bearer ${await edge.key()}`;
    const status = async (headers: Record<string, string>): Promise<number> => {
      const length = { authorization, 'content-length': String(SEARCH.length) };
      const [answer] = await rawExchange(
        edge.edge.port,
        requestHead('POST', '/v1/search', { ...length, ...headers }) + SEARCH,
      );
      return answer!.status;
    };
    expect(await status({})).to.equal(200);
    for (const type of [
      'application/json; charset=utf-8',
      'APPLICATION/JSON;charset="UTF-8"',
      'application/json ; v=1',
    ])
      expect(await status({ 'content-type': type })).to.equal(200);
    for (const type of ['text/json', 'application/jsonp', 'application/json; charset=latin1', 'x'])
      expect(await status({ 'content-type': type })).to.equal(415);
    expect(await status({ 'content-encoding': 'gzip' })).to.equal(415);
    expect(await status({ 'content-encoding': 'identity' })).to.equal(200);
  });

  it('counts a chunked body, and refuses one that is too long at once', async () => {
    const edge = await start({ limits: { bodyBytes: 1_000, metadataBytes: 100, textBytes: 100, payloadBytes: 100 } });
    const authorization = `Bearer ${await edge.key()}`;
    const chunked = requestHead('POST', '/v1/search', { authorization, 'transfer-encoding': 'chunked' });
    const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    const parts = [chunked, chunk(SEARCH.slice(0, 10)), `${chunk(SEARCH.slice(10))}0\r\n\r\n`];
    expect((await rawExchange(edge.edge.port, parts))[0]!.status).to.equal(200);
    const endless = await rawExchange(edge.edge.port, [chunked, ...Array(30).fill(chunk(' '.repeat(300)))]);
    expect(endless[0]!.status).to.equal(413);
    // Only the head was sent: the answer does not wait for a body of more than eight times the bytes allowed.
    const declared = requestHead('POST', '/v1/search', { authorization, 'content-length': '8001' });
    const [large] = await rawExchange(edge.edge.port, declared);
    expect([large!.status, JSON.parse(large!.body).code]).to.deep.equal([413, 'payload_too_large']);
  });

  it('answers a client that reads only after sending eight times the bytes allowed, and keeps the connection', async () => {
    const bodyBytes = 4 * 1024 * 1024;
    const edge = await start({ limits: { bodyBytes } });
    const sizeBytes = 8 * bodyBytes;
    const piece = 'x'.repeat(256 * 1024);
    for (const [authorization, status] of [
      [`Bearer ${await edge.key()}`, 413],
      [`Bearer vk_${'0'.repeat(64)}`, 401],
    ] as const) {
      const head = requestHead('POST', '/v1/search', { authorization, 'content-length': String(sizeBytes) });
      const client = await HostileClient.open(edge.edge.port);
      client.socket.pause();
      client.send(head);
      await client.pour(piece, sizeBytes + head.length);
      client.send(requestHead('GET', '/health', {}));
      client.socket.resume();
      await until(() => /HTTP\/1\.1 200 /.test(client.received));
      expect([client.status, client.isOpen]).to.deep.equal([status, true]);
      client.end();
    }
  });

  it('accepts a short body in chunks of one byte, and refuses a long one', async () => {
    const edge = await start();
    await edge.backend.create('p', { name: 'c', dimension: 2, index: 'brute' });
    const bytewise = (text: string): string => text.replaceAll(/./g, '1\r\n$&\r\n');
    const padded = (key: string, blanks: number): string[] => {
      const head = { authorization: `Bearer ${key}`, 'transfer-encoding': 'chunked' };
      return [requestHead('POST', '/v1/search', head), bytewise(`${' '.repeat(blanks)}${SEARCH}`), '0\r\n\r\n'];
    };
    const key = await edge.key();
    expect((await rawExchange(edge.edge.port, padded(key, 16_000)))[0]!.status).to.equal(200);
    const [answer] = await rawExchange(edge.edge.port, padded(key, 17_000));
    expect([answer!.status, JSON.parse(answer!.body).error]).to.deep.equal([
      400,
      'the body comes in too many small chunks: send 512 bytes or more in each',
    ]);
    expect(answer!.headers.get('connection')).to.equal('close');
    // A body that is dropped unread is refused as well.
    const [unknown] = await rawExchange(edge.edge.port, padded(`vk_${'0'.repeat(64)}`, 17_000).slice(0, 2));
    expect([unknown!.status, unknown!.headers.get('connection')]).to.deep.equal([401, 'close']);
  });

  it('accepts a small body of many elements, which a worker prepares, with any buffer pool size', async () => {
    const edge = await start();
    const client = await edge.client();
    const { poolSize } = Buffer;
    // The default of Node 24. Pooled memory is shared and cannot be transferred to a worker.
    Buffer.poolSize = 64 * 1024;
    try {
      for (let i = 0; i < 4; i++) {
        const batch = Array.from({ length: 3_000 }, () => [1, 2]);
        expect((await client.post('/v1/vectors/batch-insert', { collection: 'c', batch })).status).to.equal(200);
      }
    } finally {
      Buffer.poolSize = poolSize;
    }
  });

  it('lets a large body wait while its key is looked up, and reads all of it afterwards', async () => {
    const keys = new UnwatchedBucket({ logger: silentLogger });
    const edge = await start({}, { keys });
    const client = await edge.client();
    const padded = SEARCH + ' '.repeat(3_000_000);
    const answers = [client.raw('POST', '/v1/search', padded), client.raw('POST', '/v1/search', SEARCH)];
    await until(() => keys.waiting.length === 2);
    keys.answer();
    expect((await Promise.all(answers)).map(({ status }) => status)).to.deep.equal([200, 200]);
    const unknown = new Client(edge.edge.url, `vk_${'0'.repeat(64)}`).raw('POST', '/v1/search', padded);
    await until(() => keys.waiting.length === 1);
    keys.answer();
    expect((await unknown).status).to.equal(401);
    expect(edge.backend.calls).to.have.length(2);
  });

  it('repeats a valid request id, and passes it on with the deadline', async () => {
    const clock = new TestClock();
    const edge = await start({}, { clock });
    const client = await edge.client();
    const seen: unknown[] = [];
    edge.backend.list = (project, ...rest) => {
      seen.push(...rest);
      return Object.getPrototypeOf(edge.backend).list.call(edge.backend, project);
    };
    const requestId = 'a!~'.padEnd(128, 'z');
    const { headers } = await client.get('/v1/namespaces', { 'x-request-id': requestId });
    expect(headers.get('x-request-id')).to.equal(requestId);
    const actor = { keyId: (await client.get('/v1/keys/self')).body.id, onBehalfOf: null, requestId };
    expect(seen).to.deep.equal([{ requestId, deadlineMs: clock.nowMs() + 10_000, actor }]);
    const ids = new Set<string | null>();
    for (const unfit of ['', 'a b', 'x'.repeat(129), 'é'])
      ids.add((await client.get('/nope', { 'x-request-id': unfit })).headers.get('x-request-id'));
    expect(ids.size).to.equal(4);
    expect([...ids].every((id) => /^[\x21-\x7e]{1,128}$/.test(id ?? ''))).to.equal(true);
  });

  it('decodes path parameters, and refuses a broken encoding', async () => {
    const edge = await start();
    const client = await edge.client();
    expect((await client.get('/v1/namespaces/%63/index')).body.collection).to.equal('c');
    for (const broken of ['%', '%zz', '%c3%28'])
      expect((await client.get(`/v1/namespaces/${broken}/index`)).body.code).to.equal('validation_error');
    for (const other of ['a.b', 'a%2fb', '%00', 'ä'])
      expect((await client.get(`/v1/namespaces/${other}/index`)).body.code).to.equal('collection_not_found');
    for (const id of ['x', '-1', '1.5', '1e3', '0x1', '9007199254740992', '%20'])
      expect((await client.get(`/v1/records/${id}?collection=c`)).body.code).to.equal('validation_error');
    for (const id of ['0', '007', '9007199254740991'])
      expect((await client.get(`/v1/records/${id}?collection=%63`)).body.code).to.equal('record_not_found');
  });

  it('answers an unexpected failure with 500, logs it under the request id, and hides its details', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
    const edge = await start({}, { logger });
    edge.backend.beforeCall = () => {
      throw new Error('secret detail');
    };
    const client = await edge.client();
    const answer = await client.raw('POST', '/v1/search', SEARCH, { 'x-request-id': 'r-1' });
    expect([answer.status, answer.body.code]).to.deep.equal([500, 'internal_error']);
    expect(answer.text).not.to.include('secret');
    expect(lines.join('')).to.include('secret detail').and.include('r-1');
    edge.backend.beforeCall = () => {
      throw new VouchError('unavailable', 'no shard answers', { retryAfterSecs: 3 });
    };
    const busy = await client.raw('POST', '/v1/search', SEARCH);
    expect([busy.status, busy.body.code, busy.headers.get('retry-after')]).to.deep.equal([503, 'unavailable', '3']);
  });

  it('limits requests in flight, and accepts requests again once those are answered', async () => {
    const edge = await start({ limits: { inFlight: 2 } });
    const client = await edge.client();
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    edge.backend.beforeCall = () => released;
    const search = () => client.raw('POST', '/v1/search', SEARCH);
    const first = [search(), search()];
    await until(() => edge.backend.calls.length === 2);
    const refused = await search();
    expect([refused.status, refused.body.code]).to.deep.equal([503, 'unavailable']);
    expect(Number(refused.headers.get('retry-after'))).to.be.at.least(1);
    expect(refused.headers.get('x-request-id')).to.match(/^[0-9a-f]{12}-/);
    expect((await client.get('/health')).status).to.equal(200);
    // The connection continues with the next request, however much of a body of known length is still to come.
    const statuses = async (headers: Readonly<Record<string, string>>, body: string): Promise<number[]> => {
      const head = requestHead('POST', '/v1/search', { authorization: `Bearer ${client.key}`, ...headers });
      const answers = await rawExchange(edge.edge.port, [head, body, requestHead('GET', '/health')], 2);
      return answers.map(({ status }) => status);
    };
    expect(await statuses({ 'content-length': String(SEARCH.length) }, SEARCH)).to.deep.equal([503, 200]);
    const before = edge.backend.calls.length;
    const long = 'x'.repeat(300_000);
    expect(await statuses({ 'content-length': String(long.length) }, long)).to.deep.equal([503, 200]);
    const authorization = `Bearer ${client.key}`;
    const chunked = requestHead('POST', '/v1/search', { authorization, 'transfer-encoding': 'chunked' });
    const [answer] = await rawExchange(edge.edge.port, [chunked, '5\r\nxxxxx\r\n0\r\n\r\n']);
    expect(answer!.status).to.equal(503);
    expect(edge.backend.calls.length).to.equal(before);
    // The project's places are taken; these requests need no place.
    const { text } = await (await edge.client('metrics')).get('/metrics');
    expect(text).to.match(/^vouch_refused_total\{reason="(?:project_)?requests"\} 4$/m);
    expect(text).to.match(/^vouch_http_requests_total\{route="POST \/v1\/search",status="503"\} 4$/m);
    expect((await client.raw('PUT', '/v1/search', '')).status).to.equal(405);
    release();
    expect((await Promise.all(first)).map(({ status }) => status)).to.deep.equal([200, 200]);
    expect((await search()).status).to.equal(200);
  });

  it('frees the places of clients that disconnect at any moment of a request', async () => {
    const clock = new TestClock();
    const edge = await start({ limits: { inFlight: 3 } }, { clock });
    const { port } = edge.edge;
    const key = await edge.key();
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    edge.backend.beforeCall = () => released;
    const agent = new Agent();
    const abandon = (body: string, length: number): (() => void) => {
      const headers = { authorization: `Bearer ${key}`, 'content-length': length };
      const sent = request({ port, agent, method: 'POST', path: '/v1/search', headers });
      sent.on('error', () => {});
      sent.write(body);
      return () => sent.destroy();
    };
    const whole = abandon(SEARCH, SEARCH.length);
    await until(() => edge.backend.calls.length === 1);
    const parts = [abandon(SEARCH.slice(0, 5), SEARCH.length), abandon('x', 1_000_000)];
    const client = await edge.client();
    const scraper = await edge.client('metrics');
    const metric = async (line: RegExp): Promise<boolean> => {
      clock.advance(1_000);
      return line.test((await scraper.get('/metrics')).text);
    };
    await until(() => metric(/^vouch_http_in_flight 3$/m));
    whole();
    for (const leave of parts) leave();
    await until(() => metric(/^vouch_http_requests_total{route="POST \/v1\/search",status="aborted"} 3$/m));
    release();
    // All three places are free again, and so is the memory of their bodies.
    await until(() => metric(/^vouch_http_in_flight 0$/m));
    await until(() => metric(/^vouch_http_in_flight_body_bytes 0$/m));
    const answers = await Promise.all([1, 2, 3].map(() => client.raw('POST', '/v1/search', SEARCH)));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    agent.destroy();
  });

  it('stops without losing a request in flight, large answers included, and accepts no new connection', async () => {
    const edge = await start();
    const client = await edge.client();
    await edge.backend.create('p', { name: 'wide', dimension: 32_768, index: 'brute' });
    const values = Array.from({ length: 32_768 }, (_, i) => i / 65_536);
    await client.post('/v1/records', { collection: 'wide', values });
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    edge.backend.beforeCall = () => released;
    const before = edge.backend.calls.length;
    const slow = client.get('/v1/records/1?collection=wide');
    await until(() => edge.backend.calls.length > before);
    const stopped = edge.stop();
    expect(await rawExchange(edge.edge.port, requestHead('GET', '/health'))).to.deep.equal([]);
    release();
    const { status, body, headers } = await slow;
    expect(status).to.equal(200);
    expect(body.vector).to.deep.equal(values);
    expect(headers.get('connection')).to.equal('close');
    await stopped;
  });

  it('reports in one line why it cannot listen', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const refusal = async (http: { host: string; port: number }): Promise<string> =>
      TestEdge.start({ http: { ...http, engine, insecure: true } }).then(
        () => 'it listens',
        (error: Error) => error.message,
      );
    expect(await refusal({ host: '127.0.0.1', port })).to.equal(
      `cannot listen on 127.0.0.1:${port}: the port is in use`,
    );
    const edge = await start();
    expect(await refusal({ host: '127.0.0.1', port: edge.edge.port })).to.include('the port is in use');
    expect(await refusal({ host: '203.0.113.1', port: 0 })).to.include('not an address of this machine');
    taken.close();
  });
});
