// Covers: coordinator/http/requestHead.ts, coordinator/http/bodyReader.ts, coordinator/http/engine/
/** Clients that send the head of a request and wait for `100 Continue` before the body: `Expect: 100-continue`. */
import { expect } from 'chai';
import { HostileClient } from '../../../support/launch/hostileClient.js';
import { overEngines, TestEdge, until } from '../../../support/rigs/testEdge.js';

const BODY = JSON.stringify({ collection: 'c', query: [1, 2], k: 1 });
const ASKED = 'HTTP/1.1 100 Continue\r\n\r\n';

overEngines('a client that waits for 100 Continue', (engine) => {
  let edge: TestEdge;
  let authorization: string;
  const clients: HostileClient[] = [];
  beforeEach(async () => {
    edge = await TestEdge.start({ http: { engine } });
    authorization = `Bearer ${await edge.key()}`;
    await edge.backend.create('p', { name: 'c', dimension: 2, index: 'brute' });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.end();
    await edge.stop();
  });

  const open = async (expectation: string, headers: Readonly<Record<string, string>> = {}): Promise<HostileClient> => {
    const all = {
      ...{ host: 'test', authorization, 'content-type': 'application/json', 'content-length': String(BODY.length) },
      ...{ expect: expectation, ...headers },
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    const client = await HostileClient.open(
      edge.edge.port,
      `${['POST /v1/search HTTP/1.1', ...lines].join('\r\n')}\r\n\r\n`,
    );
    clients.push(client);
    return client;
  };
  /** Statuses of all answers, interim ones included. */
  const statuses = ({ received }: HostileClient): number[] =>
    [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

  it('receives 100 Continue for any case of its header, and can reuse the connection', async () => {
    for (const expectation of ['100-continue', '100-Continue', '100-CONTINUE']) {
      const client = await open(expectation);
      await until(() => client.received === ASKED);
      client.send(BODY);
      await until(() => /"results":/.test(client.received));
      client.send('GET /health HTTP/1.1\r\nhost: test\r\n\r\n');
      await until(() => statuses(client).length === 3);
      expect(statuses(client), expectation).to.deep.equal([100, 200, 200]);
      const [, head] = client.received.split('\r\n\r\n');
      expect(head, expectation).to.match(/^HTTP\/1\.1 200 OK\r\ncontent-type: application\/json\r\nx-request-id: /);
    }
  });

  it('receives a long answer after 100 Continue', async () => {
    const client = await edge.client();
    await client.post('/v1/vectors/batch-insert', {
      collection: 'c',
      batch: Array.from({ length: 4_000 }, () => [1, 2]),
    });
    const body = JSON.stringify({ collection: 'c', query: [1, 2], k: 4_000 });
    const waiting = await open('100-Continue', { 'content-length': String(body.length) });
    await until(() => waiting.received === ASKED);
    waiting.send(body);
    await until(() => waiting.received.endsWith(']}'));
    expect(waiting.received.length).to.be.above(64 * 1024);
    expect(statuses(waiting)).to.deep.equal([100, 200]);
  });

  it('is refused before it sends the body: for its key, type, length, scope or headers', async () => {
    const refusals: readonly (readonly [number, Readonly<Record<string, string>>])[] = [
      [401, { authorization: 'Bearer vk_no' }],
      [415, { 'content-type': 'text/plain' }],
      [413, { 'content-length': String(1024 ** 3) }],
      [403, { authorization: `Bearer ${await edge.key('metrics')}` }],
      [400, { 'idempotency-key': 'a\r\nidempotency-key: b' }],
    ];
    for (const [status, headers] of refusals) {
      const client = await open('100-Continue', headers);
      await until(() => !client.isOpen);
      expect(statuses(client)).to.deep.equal([status]);
      expect(client.received).to.match(/^connection: close\r$/im);
    }
  });

  it('is refused once, and a request that it then sends is not carried out', async () => {
    const client = await open('100-Continue', { authorization: 'Bearer vk_no' });
    client.send(`DELETE /v1/namespaces/c HTTP/1.1\r\nhost: test\r\nauthorization: ${authorization}\r\n\r\n`);
    await until(() => !client.isOpen);
    expect((await edge.backend.list('p')).map(({ name }) => name)).to.deep.equal(['c']);
  });

  it('is served if it sends its body without waiting', async () => {
    const client = await open('100-Continue');
    client.send(BODY);
    await until(() => /"results":/.test(client.received));
    expect(statuses(client).at(-1)).to.equal(200);
  });

  it('with an unknown expectation is served as without one', async () => {
    const client = await open('other');
    client.send(BODY);
    await until(() => /"results":/.test(client.received));
    expect(statuses(client)).to.deep.equal([200]);
  });
});
