// Covers: coordinator/http/sharedAnswer.ts
/** The routes without a project: health, metrics and the OpenAPI document. */
import { createServer } from 'node:net';
import { expect } from 'chai';
import { eventually, gate } from '../../../support/expectations.js';
import { TestClock, TestEdge } from '../../../support/rigs/testEdge.js';

describe('the service routes', () => {
  const edges: TestEdge[] = [];
  const start = async (...options: Parameters<typeof TestEdge.start>): Promise<TestEdge> => {
    const edge = await TestEdge.start(...options);
    edges.push(edge);
    await edge.backend.create('p', { name: 'c', dimension: 2, index: 'brute' });
    return edge;
  };
  afterEach(async () => {
    await Promise.all(edges.splice(0).map((edge) => edge.stop()));
  });

  it('serve metrics beside the API or at a separate address', async () => {
    const beside = await start();
    const client = await beside.client();
    await client.get('/v1/version');
    const { text, headers } = await (await beside.client('metrics')).get('/metrics');
    expect((await fetch(`${beside.edge.url}/metrics`)).status).to.equal(401);
    expect(headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/);
    expect(text).to.include('vouch_http_requests_total{route="GET /v1/version",status="200"} 1');
    expect(text).to.include('# TYPE vouch_http_request_seconds histogram');
    expect(text).to.include('vouch_records{shard="s1"} 7');
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(new Set(names).size).to.equal(names.length);
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    await new Promise((resolve) => taken.close(resolve));
    const apart = await start({ metrics: { host: '127.0.0.1', port } });
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).to.equal(200);
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).to.equal(404);
    expect((await fetch(`${apart.edge.url}/metrics`)).status).to.equal(404);
    const { paths } = (await (await fetch(`${apart.edge.url}/openapi.json`)).json()) as { paths: object };
    expect(paths).not.to.have.property('/metrics');
    const open = await start({ metricsOpen: true });
    expect((await fetch(`${open.edge.url}/metrics`)).status).to.equal(200);
  });

  it('collect metrics from the cluster once a second, and refuse excess requests', async () => {
    const clock = new TestClock();
    const edge = await start({}, { clock });
    const { backend } = edge;
    const scraper = await edge.client('metrics');
    const asking = gate();
    backend.beforeAsked = () => asking.opened;
    const first = Array.from({ length: 40 }, () => scraper.get('/metrics'));
    await eventually('the metrics are collected', () => backend.asked.metrics === 1);
    const refused: number[] = [];
    for (const asked of first) void asked.then(({ status }) => refused.push(status));
    await eventually('the excess requests are refused', () => refused.length === 24);
    expect(new Set(refused)).to.deep.equal(new Set([503]));
    asking.open();
    const answers = await Promise.all(first);
    const served = answers.filter(({ status }) => status === 200);
    expect(served).to.have.length(16);
    expect(new Set(served.map(({ text }) => text)).size).to.equal(1);
    for (const { status, headers, body } of answers.filter((one) => one.status !== 200))
      expect([status, headers.get('retry-after'), body.code]).to.deep.equal([503, '1', 'unavailable']);
    clock.advance(999);
    await Promise.all(Array.from({ length: 40 }, () => scraper.get('/metrics')));
    expect(backend.asked.metrics).to.equal(1);
    backend.beforeAsked = () => {};
    clock.advance(1);
    const { text } = await scraper.get('/metrics');
    expect(backend.asked.metrics).to.equal(2);
    expect(text).to.match(/^vouch_refused_total\{reason="metrics"\} 24$/m);
    expect(text).to.include(`vouch_metrics_timestamp_seconds ${clock.nowMs() / 1000}\n`);
  });

  it('check the health of the cluster once for concurrent requests, and again soon', async () => {
    const clock = new TestClock();
    const edge = await start({}, { clock });
    const { backend } = edge;
    const client = await edge.client();
    const asking = gate();
    backend.beforeAsked = () => asking.opened;
    const before = backend.asked.health;
    const all = Array.from({ length: 40 }, () => client.get('/health'));
    await eventually('the health is checked', () => backend.asked.health > before);
    asking.open();
    expect(new Set((await Promise.all(all)).map(({ status }) => status))).to.deep.equal(new Set([200]));
    backend.beforeAsked = () => {};
    backend.problem = 'no shard answers';
    clock.advance(249);
    expect((await client.get('/health')).status).to.equal(200);
    expect(backend.asked.health).to.equal(before + 1);
    clock.advance(1);
    expect((await client.get('/health')).body).to.include({ status: 'degraded', reason: 'no shard answers' });
  });

  it('answer health with 503 and a reason if the cluster cannot work', async () => {
    const clock = new TestClock();
    const edge = await start({}, { clock });
    const client = await edge.client();
    expect((await client.get('/health')).body).to.deep.equal({
      status: 'ok',
      mode: 'cluster',
      version: '1.2.3',
      shard_count: 1,
      collections: 1,
      records: 0,
    });
    edge.backend.problem = 'no shard answers';
    clock.advance(250);
    const { status, headers, body } = await client.get('/health');
    expect([status, headers.get('retry-after')]).to.deep.equal([503, '1']);
    expect(body).to.include({ status: 'degraded', reason: 'no shard answers' });
  });
});
