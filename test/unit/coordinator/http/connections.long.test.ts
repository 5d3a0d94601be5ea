// Covers: coordinator/http/server.ts, coordinator/http/exchange.ts, coordinator/http/reply.ts, coordinator/http/engine/
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { HostileClient } from '../../../support/launch/hostileClient.js';
import { type RawAnswer, rawExchange, requestHead } from '../../../support/launch/http.js';
import { overEngines, TestEdge } from '../../../support/rigs/testEdge.js';

const SEARCH = JSON.stringify({ collection: 'c', query: [1, 2], k: 1 });

overEngines('kept-alive connections', (engine) => {
  const edges: TestEdge[] = [];
  const start = async (): Promise<TestEdge> => {
    const edge = await TestEdge.start({ http: { engine } });
    edges.push(edge);
    await edge.backend.create('p', { name: 'c', dimension: 2, index: 'brute' });
    return edge;
  };
  afterEach(async () => {
    await Promise.all(edges.splice(0).map((edge) => edge.stop()));
  });

  it('answer HEAD like GET, without the body', async () => {
    const edge = await start();
    const authorization = `Bearer ${await edge.key()}`;
    for (const path of ['/health', '/v1/namespaces', '/v1/records/1?collection=c', '/v1/nope', '/openapi.json']) {
      const ask = (method: string) =>
        rawExchange(
          edge.edge.port,
          [requestHead(method, path, { authorization, 'x-request-id': 'r' }), requestHead('GET', '/health')],
          2,
          { inTurn: true },
        );
      const [[head, next], [get]] = await Promise.all([ask('HEAD'), ask('GET')]);
      const known = ({ headers }: RawAnswer) =>
        ['content-type', 'content-length', 'x-request-id', 'keep-alive'].map((name) => headers.get(name));
      expect([head!.status, ...known(head!)], path).to.deep.equal([get!.status, ...known(get!)]);
      expect(head!.body).to.equal('');
      expect(get!.body).to.have.length(Number(head!.headers.get('content-length')));
      expect(next!.status).to.equal(200);
    }
    const [other] = await rawExchange(edge.edge.port, requestHead('PUT', '/v1/namespaces'));
    expect(other!.headers.get('allow')?.split(', ').sort()).to.deep.equal(['GET', 'HEAD', 'POST']);
  });

  it('announce how long they stay open while idle, and stay open at least that long', async () => {
    const edge = await start();
    const key = await edge.key();
    // For every answer, also one that is sent before the body is read.
    const refused = await HostileClient.open(
      edge.edge.port,
      requestHead('POST', '/v1/search', { 'content-length': '2' }).concat('{}'),
    );
    const agent = new Agent({ keepAlive: true });
    const ask = (): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${key}`, 'content-length': SEARCH.length };
        const sent = request({ port: edge.edge.port, agent, method: 'POST', path: '/v1/search', headers }, (answer) => {
          answer.resume();
          answer.on('end', () => resolve(answer));
        });
        sent.on('error', reject);
        sent.end(SEARCH);
      });
    const first = await Promise.all(Array.from({ length: 60 }, ask));
    const hints = new Set(first.map(({ headers }) => headers['keep-alive']));
    expect([...hints]).to.deep.equal(['timeout=7']);
    const idleMs = 7_000;
    const later = first.map(async (_, i) => {
      await delay(idleMs - 1_000 + i * 60);
      return (await ask()).statusCode;
    });
    expect(await Promise.all(later)).to.deep.equal(Array(60).fill(200));
    agent.destroy();
    expect([refused.status, /^keep-alive: timeout=7\r$/m.test(refused.received)]).to.deep.equal([401, true]);
    // The connection is closed at last.
    await Promise.race([refused.closed, delay(10_000, undefined, { ref: false })]);
    expect(refused.isOpen).to.equal(false);
  });

  it('are closed when idle for too long, also after a request that was refused before its body', async () => {
    const edge = await start();
    const fixed = requestHead('POST', '/v1/search', { 'content-length': '4' });
    const chunked = requestHead('POST', '/v1/search', { 'transfer-encoding': 'chunked' });
    const bodies = [
      [fixed, '', '{  }'],
      [fixed, '{', '  }'],
      [chunked, '', '2\r\n{}\r\n0\r\n\r\n'],
    ] as const;
    const clients = await Promise.all(
      bodies.map(async ([head, early, late]) => {
        const client = await HostileClient.open(edge.edge.port, head + early);
        await delay(300);
        client.send(late);
        return client;
      }),
    );
    await Promise.race([Promise.all(clients.map(({ closed }) => closed)), delay(15_000, undefined, { ref: false })]);
    for (const [i, { status, isOpen, received }] of clients.entries()) {
      expect([status, isOpen]).to.deep.equal([401, false]);
      const isChunked = bodies[i]![0] === chunked;
      expect(received).to.match(isChunked ? /^connection: close\r$/im : /^keep-alive: timeout=7\r$/m);
    }
  });

  it('are closed after a refused request whose body stops arriving, with the refusal as answer', async () => {
    const edge = await start();
    const client = await HostileClient.open(
      edge.edge.port,
      requestHead('POST', '/v1/search', { 'content-length': '4' }),
    );
    await Promise.race([client.closed, delay(7_500, undefined, { ref: false })]);
    expect([client.status, client.isOpen]).to.deep.equal([401, false]);
    expect(client.received).to.match(/^connection: close\r$/im);
  });

  it('are closed if the client asks or the server stops, with a header that says so', async () => {
    const edge = await start();
    const client = await HostileClient.open(edge.edge.port, requestHead('GET', '/health', { connection: 'close' }));
    await client.closed;
    expect(client.status).to.equal(200);
    expect(client.received)
      .to.match(/^connection: close\r$/im)
      .and.not.match(/^keep-alive:/im);
  });
});
