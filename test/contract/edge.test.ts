// Covers: coordinator/edge.ts, coordinator/handlers/console.ts, coordinator/handlers/keys.ts
// Covers: coordinator/http/edgeMetrics.ts, shared/metrics/processMetrics.ts, coordinator/http/admission.ts
// Covers: coordinator/http/failureLog.ts, coordinator/http/requestIds.ts, coordinator/http/route.ts
/** The HTTP edge: keys, scopes, paths, bodies, headers, capacity and rate limits. */
import { createHash } from 'node:crypto';
import { expect } from 'chai';
import type { Answer } from '../support/launch/client.js';
import { rawExchange, requestHead } from '../support/launch/http.js';
import { inBothModes, inBothModesAndEngines } from '../support/launch/modes.js';

inBothModesAndEngines('the HTTP edge', (service, { start }) => {
  it('is served by the configured engine', async () => {
    const wanted = service.environment.VOUCH_HTTP_ENGINE;
    const [answer] = await rawExchange(Number(new URL(service.url).port), requestHead('GET', '/health'));
    // uWebSockets.js names itself in a header; Node's engine does not.
    expect([answer!.status, answer!.headers.has('uwebsockets') ? 'uws' : 'node']).to.deep.equal([200, wanted]);
  });

  it('every endpoint except the open ones needs a key', async () => {
    for (const key of [undefined, 'vk_nonsense', `vk_${'0'.repeat(64)}`]) {
      const client = service.client(key);
      const answer = await client.get('/v1/namespaces');
      expect(answer.status).to.equal(401);
      expect(answer.body.code).to.equal('unauthorized');
      expect(answer.headers.get('www-authenticate')).to.match(/^Bearer/);
    }
    const open = service.client(undefined);
    expect((await open.get('/health')).status).to.equal(200);
    expect((await open.get('/openapi.json')).status).to.equal(200);
  });

  it('the metrics need a key of scope metrics or admin; scope metrics opens nothing else', async () => {
    const closed = await start({ VOUCH_METRICS_OPEN: 'false' });
    const { rw, ro, admin } = await closed.newProject();
    const made = await admin.post('/v1/keys', { scope: 'metrics', label: 'prometheus' });
    expect(made.body).to.include({ scope: 'metrics', label: 'prometheus' });
    const scraper = closed.client(made.body.key);
    for (const client of [scraper, admin]) {
      const { status, text, headers } = await client.get('/metrics');
      expect(status).to.equal(200);
      expect(headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/);
      expect(text).to.match(/^vouch_records\{shard="\w+"\} 0$/m);
    }
    const without = await closed.client(undefined).get('/metrics');
    expect([without.status, without.body.code]).to.deep.equal([401, 'unauthorized']);
    for (const client of [rw, ro]) {
      const { status, body } = await client.get('/metrics');
      expect([status, body.code]).to.deep.equal([403, 'forbidden']);
    }
    const elsewhere = ['/v1/namespaces', '/v1/version', '/v1/usage', '/v1/keys', '/v1/records/1', '/v1/index/config'];
    for (const path of elsewhere) expect((await scraper.get(path)).body.code, path).to.equal('forbidden');
    expect((await scraper.post('/v1/search', { query: [1], k: 1 })).body.code).to.equal('forbidden');
    expect((await scraper.post('/v1/keys', { scope: 'metrics' })).body.code).to.equal('forbidden');
    const { keys } = (await admin.get('/v1/keys')).body as { keys: { id: string; scope: string }[] };
    expect(keys.find(({ id }) => id === made.body.id)?.scope).to.equal('metrics');
    await admin.delete(`/v1/keys/${made.body.id}`);
    await closed.until(async () => (await scraper.get('/metrics')).status === 401);
  });

  it('the root redirects to the console', async () => {
    const answer = await fetch(`${service.url}/`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).to.deep.equal([307, 'console/']);
    // Without a length, a client waits until the connection closes.
    expect(answer.headers.get('content-length')).to.equal('0');
    expect((await fetch(`${service.url}/`)).headers.get('content-type')).to.match(/^text\/html/);
  });

  it("the console's headers limit a page to this service, and forbid frames around it", async () => {
    const open = service.client(undefined);
    const page = await open.get('/console/');
    expect([page.status, page.headers.get('content-type')]).to.deep.equal([200, 'text/html; charset=utf-8']);
    const [, script] = /src="([^"]+\.js)"/.exec(page.text)!;
    const file = await open.get(new URL(script!, `${service.url}/console/`).pathname);
    expect([file.status, file.headers.get('content-type')]).to.deep.equal([200, 'text/javascript; charset=utf-8']);
    // The page's program loads after the first frame.
    expect(file.text.length).to.be.below(1024);
    for (const { headers } of [page, file]) {
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('referrer-policy')).to.equal('no-referrer');
      expect(headers.get('cross-origin-resource-policy')).to.equal('same-origin');
    }
    const styles = createHash('sha256')
      .update(/<style>(.*?)<\/style>/s.exec(page.text)![1]!)
      .digest('base64');
    const policyWith = (styleSource: string): string[] => [
      ...["default-src 'none'", "script-src 'self'", `style-src ${styleSource}`, "img-src 'self' data:"],
      ...["connect-src 'self'", "worker-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
    ];
    const policyOf = (answer: Answer): string[] => answer.headers.get('content-security-policy')!.split('; ');
    expect(policyOf(page)).to.deep.equal(policyWith(`'sha256-${styles}'`));
    expect(policyOf(file)).to.deep.equal(policyWith("'none'"));
    expect(page.headers.get('cache-control')).to.equal('no-cache');
    expect(file.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
  });

  it('a read-only key allows reads, and no writes', async () => {
    const { rw, ro } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    await rw.post('/v1/records', { collection: 'c', values: [1] });
    const reads = await Promise.all([
      ro.get('/v1/namespaces'),
      ro.get('/v1/records/1?collection=c'),
      ro.post('/v1/search', { collection: 'c', query: [1], k: 1 }),
      ro.post('/v1/search/multi', { collections: ['c'], query: [1], k: 1 }),
      ro.get('/v1/namespaces/c/index'),
      ro.get('/v1/index/config'),
      ro.get('/v1/usage'),
      ro.get('/v1/version'),
    ]);
    for (const read of reads) expect(read.status).to.equal(200);
    const writes = await Promise.all([
      ro.post('/v1/namespaces', { name: 'd', dimension: 1, metric: 'squared_l2' }),
      ro.delete('/v1/namespaces/c'),
      ro.post('/v1/records', { collection: 'c', values: [1] }),
      ro.post('/v1/vectors/batch-insert', { collection: 'c', batch: [[1]] }),
      ro.post('/v1/soft-delete', { collection: 'c', id: 1 }),
      ro.post('/v1/delete', { collection: 'c', id: 1 }),
      ro.patch('/v1/records/1/metadata?collection=c', {}),
      ro.post('/v1/namespaces/c/index', {}),
      ro.post('/v1/index/rebuild', {}),
      ro.post('/v1/records/encrypted', { payload: '' }),
    ]);
    for (const write of writes) {
      expect(write.status).to.equal(403);
      expect(write.body.code).to.equal('forbidden');
    }
  });

  it('only scope admin manages keys; a revoked key stops within a second', async () => {
    const { rw, admin } = await service.newProject();
    expect((await rw.post('/v1/keys', { scope: 'read_only' })).body.code).to.equal('forbidden');
    const made = await admin.post('/v1/keys', { scope: 'read_write' });
    expect(made.status).to.equal(200);
    expect(made.body.key).to.match(/^vk_[0-9a-f]{64}$/);
    const client = service.client(made.body.key);
    expect((await client.get('/v1/namespaces')).status).to.equal(200);
    const list = await admin.get('/v1/keys');
    expect(list.text).not.to.include(made.body.key);
    expect(list.body.keys.map((key: { id: string }) => key.id)).to.include(made.body.id);
    expect((await admin.delete(`/v1/keys/${made.body.id}`)).status).to.be.oneOf([200, 204]);
    await service.until(async () => (await client.get('/v1/namespaces')).status === 401);
  });

  it('unknown paths are 404 not_found, known paths with other methods 405 with Allow', async () => {
    const { rw } = await service.newProject();
    for (const path of ['/v1', '/v1/nope', '/v1/records/1/2/3', '/v2/search']) {
      const answer = await rw.get(path);
      expect(answer.status).to.equal(404);
      expect(answer.body.code).to.equal('not_found');
    }
    const answer = await rw.get('/v1/search');
    expect(answer.status).to.equal(405);
    expect(answer.body.code).to.equal('method_not_allowed');
    expect(answer.headers.get('allow')).to.equal('POST');
    const namespaces = await rw.raw('PUT', '/v1/namespaces', '{}');
    expect(namespaces.headers.get('allow')?.split(', ').sort()).to.deep.equal(['GET', 'HEAD', 'POST']);
  });

  it('an unknown path is answered with the nearest one there is, or with none', async () => {
    const { rw } = await service.newProject();
    for (const [path, meant] of [
      ['/v1/serach', '/v1/search'],
      ['/v1/search/', '/v1/search'],
      ['/v1/namespaces/', '/v1/namespaces'],
      ['/v1/namespaces/words/', '/v1/namespaces/{name}'],
      ['/v1/recrds//', '/v1/records'],
      ['/v1/Search/Multi', '/v1/search/multi'],
      ['/search', '/v1/search'],
      ['/v1/record/7', '/v1/records/{id}'],
      ['/v1/namespaces/words/indx', '/v1/namespaces/{name}/index'],
      ['/v1/collections', '/v1/namespaces'],
      ['/v1/collections/words', '/v1/namespaces/{name}'],
      ['/heath', '/health'],
    ] as const)
      expect((await rw.post(path, {})).body.error, path).to.equal(
        `there is nothing at this path: did you mean ${meant}?`,
      );
    for (const path of ['/v1', '/x', `/v1/search/${'x'.repeat(2_000)}`, '/%00', '/v1/quite/another/path'])
      expect((await rw.get(path)).body.error, path).to.equal('there is nothing at this path');
  });

  it('an invalid content length deletes nothing', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'kept', dimension: 1, metric: 'squared_l2' });
    const port = Number(new URL(service.url).port);
    for (const headers of ['content-length: 1, 1', 'content-length: 0\r\ncontent-length: 0', 'content-length:']) {
      const [answer] = await rawExchange(
        port,
        `DELETE /v1/namespaces/kept HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${rw.key}\r\n${headers}\r\n\r\n`,
      );
      expect([answer!.status, JSON.parse(answer!.body).code]).to.deep.equal([400, 'validation_error']);
      expect(answer!.headers.get('connection')?.toLowerCase()).to.equal('close');
    }
    expect((await rw.get('/v1/namespaces/kept/index')).status).to.equal(200);
  });

  it('?collection=null reads and writes a collection named null', async () => {
    const { rw } = await service.newProject();
    for (const [i, name] of ['default', 'null'].entries()) {
      await rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
      await rw.post('/v1/records', { collection: name, values: [i] });
    }
    expect((await rw.get('/v1/records/1?collection=null')).body.vector).to.deep.equal([1]);
    expect((await rw.patch('/v1/records/1/metadata?collection=null', { a: 1 })).status).to.equal(200);
    expect((await rw.get('/v1/records/1')).body.metadata).to.equal(null);
    expect((await rw.get('/v1/records/1?collection=null')).body.metadata).to.deep.equal({ a: 1 });
    expect((await rw.get('/v1/timeline?collection=null&collection=default')).body).to.deep.equal({
      error: 'query parameter collection is repeated',
      code: 'validation_error',
    });
  });

  it('HEAD answers like GET, without the body', async () => {
    const { ro } = await service.newProject();
    for (const [path, status] of [
      ['/health', 200],
      ['/v1/namespaces', 200],
      ['/v1/records/1', 404],
    ] as const) {
      const answer = await ro.raw('HEAD', path, undefined);
      expect([answer.status, answer.text]).to.deep.equal([status, '']);
      expect(answer.headers.get('content-length')).to.equal(String((await ro.get(path)).text.length));
    }
  });

  it('a body is 415 for its content type, and 400 for invalid JSON', async () => {
    const { rw } = await service.newProject();
    const typed = await rw.raw('POST', '/v1/search', '{}', { 'content-type': 'text/plain' });
    expect(typed.status).to.equal(415);
    expect(typed.body.code).to.equal('unsupported_media_type');
    for (const text of ['', '{', 'nonsense', '{"query":[1,}']) {
      const answer = await rw.raw('POST', '/v1/search', text);
      expect(answer.status).to.equal(400);
      expect(answer.body.code).to.equal('validation_error');
    }
    const charset = await rw.raw('POST', '/v1/namespaces', '{"name":"c","dimension":1,"metric":"squared_l2"}', {
      'content-type': 'application/json; charset=utf-8',
    });
    expect(charset.status).to.equal(200);
  });

  it('a body is 413 over the limit, and 400 if nested too deeply', async () => {
    const { rw } = await service.newProject();
    const large = await rw.raw('POST', '/v1/search', Buffer.alloc(33 * 1024 * 1024, 0x20).toString());
    expect(large.status).to.equal(413);
    expect(large.body.code).to.equal('payload_too_large');
    const deep = await rw.raw('POST', '/v1/search', '['.repeat(1_000_000) + ']'.repeat(1_000_000));
    expect(deep.status).to.equal(400);
    expect(deep.body.code).to.equal('validation_error');
  });

  it('every response has x-request-id: the client’s if it is valid', async () => {
    const { rw } = await service.newProject();
    const own = await rw.get('/v1/namespaces', { 'x-request-id': 'my-id_1!' });
    expect(own.headers.get('x-request-id')).to.equal('my-id_1!');
    const long = await rw.get('/nope', { 'x-request-id': 'x'.repeat(129) });
    expect(long.headers.get('x-request-id')).to.be.a('string').and.not.equal('x'.repeat(129));
    const none = await service.client(undefined).get('/health');
    expect(none.headers.get('x-request-id')).to.be.a('string').and.not.equal('');
  });

  it('health, version, metrics and the OpenAPI document have their documented form', async () => {
    const { rw } = await service.newProject();
    const health = await rw.get('/health');
    expect(health.body).to.include({ status: 'ok', mode: service.mode });
    expect(health.body).to.have.all.keys('status', 'mode', 'version', 'shard_count', 'collections', 'records');
    expect(health.body.shard_count).to.equal(service.mode === 'cluster' ? 2 : 1);
    const version = await rw.get('/v1/version');
    expect(version.text.trim()).to.equal(health.body.version);
    expect(version.headers.get('content-type')).to.match(/^text\/plain/);
    expect(await service.metrics())
      .to.match(/^vouch_\w+_bucket\{/m)
      .and.to.include('shard="');
    const openapi = await rw.get('/openapi.json');
    expect(openapi.body.openapi).to.match(/^3\.1/);
    expect(openapi.body.paths).to.include.keys('/v1/search', '/v1/records/{id}', '/v1/namespaces/{name}/index');
  });
});

inBothModes('capacity', (_shared, { start }) => {
  it('is exact over all collections of a project, answers 507, and is freed by deletes', async () => {
    const service = await start({ VOUCH_MAX_RECORDS: '10' });
    const { rw } = await service.newProject();
    for (const name of ['a', 'b', 'c']) await rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
    const insert = (collection: string) => rw.post('/v1/records', { collection, values: [1] });
    expect((await rw.get('/v1/namespaces')).body.collections[0].max_records).to.equal(10);
    const burst = await Promise.all(Array.from({ length: 30 }, (_, i) => insert('abc'[i % 3] as string)));
    expect(burst.filter(({ status }) => status === 200)).to.have.length(10);
    for (const { status, body } of burst)
      if (status !== 200) expect([status, body.code]).to.deep.equal([507, 'capacity_exceeded']);
    const list = await rw.get('/v1/namespaces');
    const counts: number[] = list.body.collections.map((one: { record_count: number }) => one.record_count);
    expect(counts.reduce((sum, one) => sum + one)).to.equal(10);
    const full = counts.findIndex((one) => one > 0);
    const from = 'abc'[full] as string;
    const { body } = await rw.post('/v1/search', { collection: from, query: [1], k: 2 });
    await rw.post('/v1/soft-delete', { collection: from, id: body.results[0].id });
    expect((await rw.post('/v1/vectors/batch-insert', { collection: 'a', batch: [[1], [2]] })).status).to.equal(507);
    expect((await insert('c')).status).to.equal(200);
    expect((await insert('b')).status).to.equal(507);
    const other = await service.newProject();
    await other.rw.post('/v1/namespaces', { name: 'a', dimension: 1, metric: 'squared_l2' });
    expect((await other.rw.post('/v1/records', { collection: 'a', values: [1] })).status).to.equal(200);
    await rw.delete('/v1/namespaces/a');
    await rw.delete('/v1/namespaces/b');
    expect((await insert('c')).status).to.equal(200);
  });
});

inBothModes('rate limits', (_shared, { start }) => {
  it('have the documented defaults', async () => {
    const service = await start({ VOUCH_RATE_LIMITS: undefined });
    const { rw, ro, key2 } = await service.newProject();
    const write = () => rw.post('/v1/soft-delete', { collection: 'nope', id: 1 });
    // The keys of a project share a burst of 10 writes; the 11th is refused.
    for (let i = 0; i < 10; i++)
      expect((await (i % 2 ? write() : key2.post('/v1/delete', { id: 1 }))).status).to.equal(404);
    const refused = await write();
    expect(refused.status).to.equal(429);
    expect(refused.body).to.have.all.keys('error');
    const retryAfter = Number(refused.headers.get('retry-after'));
    expect(retryAfter).to.be.within(1, 2);
    // Reads have their own bucket, and the total of 20 limits both together.
    let reads = 0;
    while ((await ro.get('/v1/namespaces')).status === 200) reads++;
    expect(reads).to.be.within(10, 12);
    for (let i = 0; i < 30; i++) expect((await rw.get('/health')).status).to.equal(200);
    // After the promised time a write is accepted.
    await new Promise((resolve) => setTimeout(resolve, retryAfter * 1_000));
    expect((await write()).status).to.equal(404);
    const other = await service.newProject();
    const limited = await other.rw.get('/v1/namespaces');
    expect(limited.status).to.equal(200);
    expect(limited.headers.get('ratelimit-limit')).to.be.a('string');
    expect(limited.headers.get('ratelimit-remaining')).to.be.a('string');
    expect(limited.headers.get('ratelimit-reset')).to.be.a('string');
  });
});
