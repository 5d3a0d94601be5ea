/**
 * Every status and code that an endpoint can answer for reasons outside of its own request: keys, methods, bodies,
 * limits, or a broken service. One table of endpoints is tested against each.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes, inBothModesAndEngines } from '../support/launch/modes.js';
import type { Project, Service } from '../support/launch/service.js';

interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `{c}` means the collection. */
  readonly path: string;
  /** A body of a successful request. */
  readonly body?: (collection: string) => object;
  readonly write?: true;
  /** Needs a collection, and its shard. */
  readonly asksShard?: true;
  readonly namesCollection?: true;
  /** An unknown collection counts as a fault of the body. */
  readonly refusesUnknown?: true;
  /** Default: 200. */
  readonly success?: 204;
}

const ENDPOINTS: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v1/records',
    body: (collection) => ({ collection, values: [1] }),
    write: true,
    asksShard: true,
  },
  {
    method: 'POST',
    path: '/v1/vectors/batch-insert',
    body: (collection) => ({ collection, batch: [[1]] }),
    write: true,
    asksShard: true,
  },
  { method: 'GET', path: '/v1/records/1?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/records?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/records/count?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/facets?key=n&collection={c}', asksShard: true },
  { method: 'POST', path: '/v1/records/list', body: (collection) => ({ collection }), asksShard: true },
  { method: 'POST', path: '/v1/records/count', body: (collection) => ({ collection }), asksShard: true },
  { method: 'POST', path: '/v1/facets', body: (collection) => ({ collection, key: 'n' }), asksShard: true },
  { method: 'POST', path: '/v1/records/get', body: (collection) => ({ collection, ids: [1] }), asksShard: true },
  {
    method: 'POST',
    path: '/v1/search/text',
    body: (collection) => ({ collection, query_text: 'a', k: 1 }),
    asksShard: true,
  },
  {
    method: 'POST',
    path: '/v1/search/batch',
    body: (collection) => ({ collection, searches: [{ query: [1], k: 1 }] }),
    asksShard: true,
  },
  {
    method: 'POST',
    path: '/v1/records/encrypted',
    body: (collection) => ({ collection, payload: 'aGk=' }),
    write: true,
    asksShard: true,
    refusesUnknown: true,
  },
  // Record 5 follows the two prepared ones, the one inserted above and the batch of one.
  { method: 'GET', path: '/v1/records/encrypted/5?collection={c}', asksShard: true },
  { method: 'GET', path: `/v1/crypto/status/${'a'.repeat(32)}` },
  { method: 'DELETE', path: `/v1/crypto/shred/${'a'.repeat(32)}`, write: true },
  { method: 'PATCH', path: '/v1/records/1/metadata?collection={c}', body: () => ({}), write: true, asksShard: true },
  { method: 'POST', path: '/v1/search', body: (collection) => ({ collection, query: [1], k: 1 }), asksShard: true },
  {
    method: 'POST',
    path: '/v1/soft-delete',
    body: (collection) => ({ collection, id: 1 }),
    write: true,
    asksShard: true,
  },
  { method: 'POST', path: '/v1/delete', body: (collection) => ({ collection, id: 2 }), write: true, asksShard: true },
  {
    method: 'POST',
    path: '/v1/search/multi',
    body: (collection) => ({ collections: [collection], query: [1], k: 1 }),
    namesCollection: true,
  },
  {
    method: 'POST',
    path: '/v1/namespaces',
    body: (name) => ({ name, dimension: 1, metric: 'squared_l2' }),
    write: true,
  },
  { method: 'GET', path: '/v1/namespaces' },
  { method: 'PUT', path: '/v1/aliases/x', body: (collection) => ({ collection }), write: true, namesCollection: true },
  { method: 'GET', path: '/v1/aliases' },
  { method: 'DELETE', path: '/v1/aliases/x', write: true, success: 204 },
  { method: 'GET', path: '/v1/namespaces/{c}/index', asksShard: true },
  {
    method: 'POST',
    path: '/v1/namespaces/{c}/index',
    body: () => ({ type: null }),
    write: true,
    asksShard: true,
  },
  { method: 'POST', path: '/v1/index/rebuild', body: () => ({}), write: true },
  { method: 'GET', path: '/v1/proof/state?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/proof/event-log?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/proof/receipt?sequence=1&collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/proof/inclusion?sequence=1&collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/proof/consistency?from=1&to=2&collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/proof/checkpoint?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/proof/keys' },
  { method: 'GET', path: '/v1/timeline?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/export?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/export/log?collection={c}', asksShard: true },
  { method: 'GET', path: '/v1/index/config' },
  { method: 'GET', path: '/v1/usage' },
  { method: 'GET', path: '/v1/version' },
  { method: 'DELETE', path: '/v1/namespaces/{c}', write: true, namesCollection: true, success: 204 },
]; // prettier-ignore

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;
const bodied = ENDPOINTS.filter(({ body }) => body !== undefined);

function send(client: Client, { method, path, body }: Endpoint, collection = 'c', headers = {}): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body(collection));
  return client.raw(method, path.replace('{c}', collection), text, headers);
}

function expectError(answer: Answer, status: number, code: string, what: string): void {
  expect([answer.status, answer.body?.code], `${what}: ${answer.text}`).to.deep.equal([status, code]);
  expect(answer.body).to.have.all.keys('error', 'code');
  expect(answer.body.error).to.be.a('string').and.not.equal('');
  expect(answer.headers.get('content-type')).to.match(/^application\/json/);
  expect(answer.headers.get('x-request-id')).to.be.a('string').and.not.equal('');
}

async function withCollection(service: Service): Promise<Project & { readonly id: number }> {
  const project = await service.newProject();
  const { body } = await project.rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
  await project.rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: [[1], [2]] });
  return { ...project, id: body.id };
}

inBothModesAndEngines('every endpoint', (service) => {
  it('answers 200 or 204 to a valid request', async () => {
    const { rw } = await withCollection(service);
    for (const endpoint of ENDPOINTS) {
      const answer = await send(rw, endpoint);
      expect(answer.status, `${nameOf(endpoint)} ${answer.text}`).to.equal(endpoint.success ?? 200);
    }
  });

  it('answers 401 without a key and with a wrong one, and 403 to writes with a read-only key', async () => {
    const { ro } = await withCollection(service);
    for (const endpoint of ENDPOINTS) {
      for (const key of [undefined, `vk_${'f'.repeat(64)}`]) {
        const answer = await send(service.client(key), endpoint);
        expectError(answer, 401, 'unauthorized', nameOf(endpoint));
        expect(answer.headers.get('www-authenticate')).to.match(/^Bearer/);
      }
      if (endpoint.write) expectError(await send(ro, endpoint), 403, 'forbidden', nameOf(endpoint));
    }
  });

  it('answers 404 collection_not_found for an unknown collection', async () => {
    const { rw } = await withCollection(service);
    for (const endpoint of ENDPOINTS)
      if (endpoint.refusesUnknown)
        expectError(await send(rw, endpoint, 'nope'), 400, 'validation_error', nameOf(endpoint));
      else if (endpoint.asksShard || endpoint.namesCollection)
        expectError(await send(rw, endpoint, 'nope'), 404, 'collection_not_found', nameOf(endpoint));
  });

  it('says that "default" is meant where a request names no collection, and how to name one', async () => {
    const { rw } = await withCollection(service);
    const unnamed = ENDPOINTS.filter(
      ({ path, body }) =>
        path.includes('collection={c}') || (!path.startsWith('/v1/aliases') && 'collection' in (body?.('c') ?? {})),
    );
    expect(unnamed).to.have.length.above(20);
    for (const endpoint of unnamed) {
      const path = endpoint.path.replace(/collection=\{c\}&?/, '');
      const body = endpoint.body && ((): object => ({ ...endpoint.body!('c'), collection: undefined }));
      const answer = await send(rw, { ...endpoint, path, ...(body && { body }) });
      expect(answer.body.error, nameOf(endpoint)).to.equal(
        'the request names no collection, so "default" is meant, and there is none of that name; name one as collection, a field of the ' +
          'body or a query parameter',
      );
    }
  });

  it('answers 405 with Allow to another method', async () => {
    const { rw } = await withCollection(service);
    for (const endpoint of ENDPOINTS) {
      const method = endpoint.path.startsWith('/v1/aliases') ? 'PATCH' : 'PUT';
      const answer = await rw.raw(method, endpoint.path.replace('{c}', 'c'), '{}');
      expectError(answer, 405, 'method_not_allowed', nameOf(endpoint));
      expect(answer.headers.get('allow')?.split(', ')).to.include(endpoint.method);
    }
  });

  it('answers 415 to a body of another type, 400 to one that is not a JSON object', async () => {
    const { rw } = await withCollection(service);
    for (const endpoint of bodied) {
      const typed = await send(rw, endpoint, 'c', { 'content-type': 'text/plain' });
      expectError(typed, 415, 'unsupported_media_type', nameOf(endpoint));
      for (const text of ['{', '[]', '"x"', 'null']) {
        const answer = await rw.raw(endpoint.method, endpoint.path.replace('{c}', 'c'), text);
        expectError(answer, 400, 'validation_error', `${nameOf(endpoint)} ${text}`);
      }
    }
  });

  it('answers 413 to a body over the limit', async () => {
    const { rw } = await withCollection(service);
    const large = Buffer.alloc(33 * 1024 * 1024, ' ').toString();
    for (const endpoint of bodied) {
      const answer = await rw.raw(endpoint.method, endpoint.path.replace('{c}', 'c'), large);
      expectError(answer, 413, 'payload_too_large', nameOf(endpoint));
    }
  });
});

inBothModes('rate limits of every endpoint', (_shared, { start }) => {
  it('answer 429 with Retry-After and only an error', async () => {
    const rate = { perMinute: 0.01, burst: 1 };
    const service = await start({
      VOUCH_RATE_LIMITS: JSON.stringify({ default: { total: rate, read: rate, write: rate } }),
    });
    const { rw } = await service.newProject();
    expect((await rw.get('/v1/namespaces')).status).to.equal(200);
    for (const endpoint of ENDPOINTS) {
      const answer = await send(rw, endpoint);
      expect(answer.status, nameOf(endpoint)).to.equal(429);
      expect(answer.body).to.have.all.keys('error');
      expect(answer.headers.get('retry-after')).to.match(/^[1-9]\d*$/);
    }
    expect((await rw.get('/health')).status).to.equal(200);
  });
});

inBothModes('a collection whose log is damaged', (_shared, { start }) => {
  it('answers 500 internal_error with its name, while everything else is served and metrics report it', async () => {
    const service = await start({});
    const { rw, id } = await withCollection(service);
    await rw.post('/v1/namespaces', { name: 'whole', dimension: 1, metric: 'squared_l2' });
    await rw.post('/v1/records', { collection: 'whole', values: [5] });
    await damage(service, id);
    // A shard that has the collection open meets the damage at its next commit.
    await rw.post('/v1/records', { collection: 'c', values: [3] });
    for (const endpoint of ENDPOINTS) {
      if (!endpoint.asksShard) continue;
      const answer = await send(rw, endpoint);
      expectError(answer, 500, 'internal_error', nameOf(endpoint));
      expect(answer.body.error).to.match(/"c" is quarantined/);
    }
    expectError(await rw.post('/v1/index/rebuild', {}), 500, 'internal_error', 'rebuild');
    const multi = await rw.post('/v1/search/multi', { collections: ['c', 'whole'], query: [5], k: 3 });
    expect(multi.status).to.equal(200);
    expect(multi.body.results).to.deep.equal([{ collection: 'whole', id: 1, score: 0 }]);
    expect(multi.body.partial_failures).to.have.length(1);
    expect(multi.body.partial_failures[0]).to.include({ collection: 'c', code: 'internal_error' });
    expect((await rw.post('/v1/records', { collection: 'whole', values: [6] })).body.id).to.equal(2);
    const list = await rw.get('/v1/namespaces');
    expect(list.status, list.text).to.equal(200);
    expect(list.body.collections.map((one: { name: string }) => one.name)).to.deep.equal(['c', 'whole']);
    expect(list.body.collections[1].record_count).to.equal(2);
    expect((await rw.get('/v1/usage')).status).to.equal(200);
    const text = await service.metrics();
    const quarantined = text.split('\n').filter((line) => /^vouch_collections_quarantined\{/.test(line));
    expect(quarantined.map((line) => Number(line.split(' ').at(-1))).reduce((sum, one) => sum + one)).to.equal(1);
    const health = service.client(undefined);
    await service.until(async () => (await health.get('/health')).body.damaged !== undefined);
    const { body: report } = await health.get('/health');
    expect(report).to.include({ status: 'degraded', collections: 2 });
    expect(report.reason).to.be.a('string');
    expect(report.damaged).to.have.length(1);
    expect(report.damaged[0]).to.include({ collection_id: id, part: 'log' });
    expect(report.damaged[0].reason).to.match(/frame|segment/);
    expect(text).to.match(/^vouch_damaged\{.*part="log".*\} 1$/m);
    // It can be deleted and created again.
    expect((await rw.delete('/v1/namespaces/c')).status).to.equal(204);
    await service.until(async () => (await health.get('/health')).body.damaged === undefined);
    await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    expect((await rw.post('/v1/records', { collection: 'c', values: [3] })).body.id).to.equal(1);
  });
});

/** Writes bytes that the collection's owner did not write. */
async function damage(service: Service, collectionId: number): Promise<void> {
  if (service.mode === 'cluster') {
    const log = await (await service.platform()).logs.open(collectionId);
    const head = await log.head();
    await log.append(new Uint8Array(200).fill(7), head?.position ?? 0, systemClock.nowMs() + 5_000);
    await log.close();
    return;
  }
  await service.process('standalone').stop();
  const folder = join(service.dataDir, 'collections', String(collectionId), 'log');
  const [segment] = (await readdir(folder)).filter((name) => name.endsWith('.seg'));
  const path = join(folder, segment as string);
  const bytes = await readFile(path);
  const at = bytes.length - 100;
  bytes[at] = (bytes[at] as number) ^ 1;
  await writeFile(path, bytes);
  await service.run('standalone');
}
