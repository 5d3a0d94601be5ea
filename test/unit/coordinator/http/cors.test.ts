/** Requests from pages of other origins (CORS). */
import { expect } from 'chai';
import { overEngines, TestEdge } from '../../../support/rigs/testEdge.js';

const OURS = 'https://app.example';
const OTHER = 'https://elsewhere.example';
const ASKED = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };

overEngines('pages of other origins', (engine) => {
  const edges: TestEdge[] = [];
  const start = async (...corsOrigins: string[]): Promise<TestEdge> => {
    const edge = await TestEdge.start({ http: { engine, corsOrigins } });
    edges.push(edge);
    return edge;
  };
  afterEach(() => Promise.all(edges.splice(0).map((edge) => edge.stop())));

  const ask = async ({ edge }: TestEdge, method: string, path: string, headers: Record<string, string>) => {
    const answer = await fetch(edge.url + path, { method, headers });
    const ofCors = [...answer.headers].filter(([name]) => /^access-control|^vary$/.test(name));
    return { status: answer.status, headers: Object.fromEntries(ofCors) };
  };

  it('may not call the API unless a setting names them', async () => {
    const edge = await start();
    expect(await ask(edge, 'GET', '/health', { origin: OURS })).to.deep.equal({ status: 200, headers: {} });
    const asked = await ask(edge, 'OPTIONS', '/v1/search', { origin: OURS, ...ASKED });
    expect(asked).to.deep.equal({ status: 405, headers: {} });
  });

  it('with a named origin pass the preflight without a key, and call with one', async () => {
    const edge = await start(OURS, 'http://localhost:3000');
    const exposed = 'x-request-id, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset';
    const allowed = {
      'access-control-allow-origin': OURS,
      'access-control-expose-headers': exposed,
      vary: 'origin',
    };
    const preflight = await ask(edge, 'OPTIONS', '/v1/search', { origin: OURS, ...ASKED });
    expect(preflight).to.deep.equal({
      status: 204,
      headers: {
        ...allowed,
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
        'access-control-allow-headers':
          'authorization, content-type, idempotency-key, vouch-on-behalf-of, x-request-id, traceparent, tracestate, baggage, sentry-trace',
        'access-control-max-age': '600',
      },
    });
    const authorization = `Bearer ${await edge.key()}`;
    const answers = await Promise.all([
      ask(edge, 'GET', '/v1/namespaces', { origin: OURS, authorization }),
      ask(edge, 'GET', '/v1/namespaces', { origin: OURS }),
      ask(edge, 'GET', '/v1/nothing', { origin: OURS }),
    ]);
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 401, 404]);
    for (const { headers } of answers) expect(headers).to.deep.equal(allowed);
  });

  it('with other origins receive no CORS headers', async () => {
    const edge = await start(OURS);
    const alone = { vary: 'origin' };
    expect((await ask(edge, 'GET', '/health', { origin: OTHER })).headers).to.deep.equal(alone);
    expect((await ask(edge, 'GET', '/health', {})).headers).to.deep.equal(alone);
    const asked = await ask(edge, 'OPTIONS', '/v1/search', { origin: OTHER, ...ASKED });
    expect(asked).to.deep.equal({ status: 204, headers: alone });
    expect((await ask(edge, 'OPTIONS', '/v1/search', { origin: OURS })).status, 'no such question').to.equal(405);
  });

  it('with any origin may call if the setting is `*`', async () => {
    const edge = await start('*');
    expect((await ask(edge, 'GET', '/health', { origin: OTHER })).headers).to.include({
      'access-control-allow-origin': '*',
    });
    expect((await ask(edge, 'OPTIONS', '/v1/search', { origin: OTHER, ...ASKED })).status).to.equal(204);
  });
});
