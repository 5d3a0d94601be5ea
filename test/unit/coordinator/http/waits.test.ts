/** Waiting requests: they end at their deadline, and free their place when their client disconnects. */
import { request } from 'node:http';
import { expect } from 'chai';
import type { ProofResults } from '../../../../shared/protocol/proofs.js';
import { EMPTY_LOG, overEngines, TestClock, TestEdge, until } from '../../../support/rigs/testEdge.js';

const DEADLINE_MS = 10_000;
const REBUILD_MS = 900_000;
/** Time after its own deadline that the server waits for a more informative answer. */
const OVERDUE_MS = 1_000;
const LOGGED = '/v1/proof/checkpoint?collection=c&logged=true';
const LATE = 'the request was not done by its deadline; its outcome is unknown';
const HASH = new Uint8Array(32);
const STATE: ProofResults['proofState'] = {
  ...{ stateHash: HASH, stateRoot: HASH, chainHead: HASH },
  log: { sequence: 1, size: 2, root: HASH },
};

overEngines('a request that waits', (engine) => {
  const clock = new TestClock();
  let edge: TestEdge;
  /** Number of requests that wait for the service log, which does not move. */
  let waiting: number;
  beforeEach(async () => {
    waiting = 0;
    const serviceLog = {
      ...EMPTY_LOG,
      untilLogged: () => {
        waiting += 1;
        return new Promise<void>(() => {});
      },
    };
    const limits = { inFlight: 8, deadlineMs: DEADLINE_MS, rebuildMs: REBUILD_MS };
    edge = await TestEdge.start({ http: { engine }, limits }, { clock, serviceLog });
    await edge.backend.create('p', { name: 'c', dimension: 2, index: 'brute' });
    edge.backend.answer = (_, { op }) => (op === 'proofState' ? STATE : undefined);
  });
  afterEach(() => edge.stop());

  const inFlight = async (): Promise<number> => {
    clock.advance(1_000);
    const { text } = await (await edge.client('metrics')).get('/metrics');
    return Number(/^vouch_http_in_flight (\d+)$/m.exec(text)![1]);
  };

  it('for the service log is answered 503 with Retry-After at its deadline', async () => {
    const asking = (await edge.client('read_only')).get(LOGGED);
    await until(() => waiting === 1);
    clock.advance(DEADLINE_MS);
    const { status, headers, body } = await asking;
    expect([status, body.code, body.error]).to.deep.equal([503, 'unavailable', LATE]);
    expect(Number(headers.get('retry-after'))).to.be.at.least(1);
    expect(await inFlight()).to.equal(0);
  });

  it('for the service log frees its place when its client disconnects, before any deadline', async () => {
    const key = await edge.key('read_only');
    const headers = { authorization: `Bearer ${key}` };
    // Three quarters of the places: the maximum of one project.
    const clients = Array.from({ length: 6 }, () => {
      const sent = request({ port: edge.edge.port, path: LOGGED, headers, agent: false });
      sent.on('error', () => {}).end();
      return sent;
    });
    await until(() => waiting === clients.length);
    const client = await edge.client('read_only');
    expect((await client.get(LOGGED)).status).to.equal(503);
    expect(waiting, 'that one found no place').to.equal(clients.length);
    for (const sent of clients) sent.destroy();
    await until(async () => (await client.get('/v1/namespaces')).status === 200);
    expect(await inFlight()).to.equal(0);
  });

  it('for a call that never ends is answered 503 after its deadline, and frees its place', async () => {
    edge.backend.beforeCall = () => new Promise(() => {});
    const asking = (await edge.client('read_write')).post('/v1/search', { collection: 'c', query: [1, 2], k: 1 });
    await until(() => edge.backend.calls.length === 1);
    clock.advance(DEADLINE_MS);
    expect(await inFlight()).to.equal(1);
    clock.advance(OVERDUE_MS);
    const { status, body } = await asking;
    expect([status, body.error]).to.deep.equal([503, LATE]);
    expect(await inFlight()).to.equal(0);
  });

  it('for a rebuild has the deadline of a rebuild', async () => {
    edge.backend.beforeCall = (_, { op }) => (op === 'rebuild' ? new Promise(() => {}) : undefined);
    const asking = (await edge.client('read_write')).post('/v1/index/rebuild', {});
    await until(() => edge.backend.calls.some(({ op }) => op === 'rebuild'));
    clock.advance(DEADLINE_MS + OVERDUE_MS);
    expect(await inFlight()).to.equal(1);
    clock.advance(REBUILD_MS);
    expect((await asking).status).to.equal(503);
  });

  it('without a key, such as for health, has a deadline too', async () => {
    edge.backend.beforeAsked = () => new Promise(() => {});
    const asking = fetch(`${edge.edge.url}/health`);
    await until(() => edge.backend.asked.health === 1);
    clock.advance(DEADLINE_MS);
    const answer = await asking;
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1']);
  });
});
