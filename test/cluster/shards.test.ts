// Covers: coordinator/cluster/reports/clusterHealth.ts, shard/main.ts, shard/node/shardNode.ts, shard/shard.ts
// Covers: shared/process/process.ts, shared/platform/clusterProcess.ts
/** Processes that stop, hang, die and come back while the service is in use. */
import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { answered } from '../support/launch/answers.js';
import type { Answer } from '../support/launch/client.js';
import { freePort } from '../support/launch/freePort.js';
import { onceServed } from '../support/launch/persistently.js';
import { type Launched, launchNode } from '../support/launch/process.js';
import { Client, type Project, Service } from '../support/launch/service.js';

const DEADLINE_MS = 3_000;
/** Longer than the deadline, so that answers to requests to a dead shard precede its replacement. */
const REASSIGN_MS = 6_000;
const SETTINGS = {
  VOUCH_DEADLINE_MS: String(DEADLINE_MS),
  VOUCH_HEARTBEAT_MS: '200',
  VOUCH_LEASE_MS: '2000',
  VOUCH_FAILOVER_MS: String(REASSIGN_MS),
};

describe('shards and coordinators that fail', () => {
  let service: Service;
  let project: Project;
  /** Shard → name of a collection that it owns. */
  const on = new Map<string, string>();

  const search = (collection: string) => project.rw.post('/v1/search', { collection, query: [0], k: 10 });
  const multi = () => project.rw.post('/v1/search/multi', { collections: [...on.values()], query: [0], k: 10 });
  const insert = (collection: string, value: number, extra: object = {}) =>
    project.rw.post('/v1/records', { collection, values: [value], ...extra });
  /** Inserts once, although a request may miss its short deadline and is repeated. */
  const insertOnce = async (collection: string, value: number): Promise<Answer['body']> => {
    const request_id = randomUUID().replaceAll('-', '');
    return answered(await onceServed(() => insert(collection, value, { request_id })));
  };
  const searched = async (collection: string): Promise<Answer['body']> =>
    answered(await onceServed(() => search(collection)));
  const made = async (name: string): Promise<number> => {
    const collection = { name, dimension: 1, metric: 'squared_l2' };
    return answered(await onceServed(() => project.rw.post('/v1/namespaces', collection))).id;
  };
  const whole = () =>
    service.until(async () => {
      const { status, body } = await multi();
      return status === 200 && body.partial_failures === undefined;
    });

  before(async () => {
    service = await Service.start('cluster', SETTINGS);
  });
  after(() => service?.stop());
  beforeEach(async () => {
    // A failed test may have left processes ended.
    for (const name of service.processNames) if (!service.process(name).running) await service.run(name);
    await service.untilShards(2);
    // The test's own connection may still be recovering.
    await service.until(async () => {
      project = await service.newProject();
      return true;
    });
    // Collections return to a recovered shard later, which must not happen during a test.
    await service.untilSpread(['s1', 's2']);
    on.clear();
    for (let i = 0; on.size < 2 && i < 40; i++) on.set(await service.ownerOf(await made(`c${i}`)), `c${i}`);
    expect([...on.keys()]).to.have.members(['s1', 's2']);
    for (const [i, name] of [...on.values()].entries()) await insertOnce(name, i + 1);
    await whole();
  });

  it('cause a partial failure of a multi search, which ends with their restart', async () => {
    const before = await multi();
    expect(before.body).not.to.have.property('partial_failures');
    await service.kill('s2');
    const partial = await multi();
    expect(partial.status).to.equal(200);
    const [here, gone] = [on.get('s1') as string, on.get('s2') as string];
    expect(partial.body.collections_searched).to.deep.equal([here]);
    expect(partial.body.results.map((hit: { collection: string }) => hit.collection)).to.deep.equal([here]);
    expect(partial.body.partial_failures).to.have.length(1);
    expect(partial.body.partial_failures[0]).to.include({ collection: gone, code: 'unavailable' });
    expect(partial.body.partial_failures[0].error).to.be.a('string').and.not.equal('');
    for (const answer of await Promise.all([search(gone), insert(gone, 5)])) expectUnavailable(answer);
    await service.run('s2');
    await whole();
    expect((await multi()).body).to.deep.equal(before.body);
  });

  it('fail all of a multi search with 200, and health with 503, if every shard is gone', async () => {
    await Promise.all([service.kill('s1'), service.kill('s2')]);
    const { status, body } = await multi();
    expect(status).to.equal(200);
    expect(body).to.include.keys('results', 'partial_failures');
    expect(body.results).to.deep.equal([]);
    expect(body.partial_failures.map((one: { code: string }) => one.code)).to.deep.equal([
      'unavailable',
      'unavailable',
    ]);
    await service.until(async () => (await project.rw.get('/health')).status === 503);
    expect((await project.rw.get('/health')).body).to.include({ status: 'degraded', shard_count: 0 });
    expectUnavailable(await project.rw.post('/v1/namespaces', { name: 'x', dimension: 1, metric: 'squared_l2' }));
    await Promise.all([service.run('s1'), service.run('s2')]);
    await whole();
  });

  it('answer 503 by the deadline while they hang, and serve again afterwards', async () => {
    const hung = on.get('s2') as string;
    service.process('s2').signal('SIGSTOP');
    const answers = await Promise.all([search(hung), insert(hung, 7), search(on.get('s1') as string)]);
    for (const answer of answers.slice(0, 2)) expectUnavailable(answer);
    expect(answers[2]?.status).to.equal(200);
    service.process('s2').signal('SIGCONT');
    await service.until(async () => (await search(hung)).status === 200);
    await whole();
  });

  it('leave their collections to the others if they stay dead, with every answered write', async () => {
    const moved = on.get('s2') as string;
    for (let i = 2; i <= 6; i++) await insertOnce(moved, i);
    const found = await searched(moved);
    await service.kill('s2');
    expect(await searched(moved)).to.deep.equal(found);
    expect((await insertOnce(moved, 0)).id).to.equal(7);
    await service.run('s2');
    // Also wherever it moves later.
    expect((await searched(moved)).results[0]).to.deep.equal({ id: 7, score: 0 });
  });

  it('do not answer from an old state after a hang during which their collections moved', async () => {
    const moved = on.get('s2') as string;
    service.process('s2').signal('SIGSTOP');
    await searched(moved);
    const { id } = await insertOnce(moved, 0);
    service.process('s2').signal('SIGCONT');
    await service.untilShards(2);
    for (let i = 0; i < 40; i++) {
      const answer = await search(moved);
      if (answer.status === 200) expect(answer.body.results[0], `answer ${i}`).to.deep.equal({ id, score: 0 });
      else expectUnavailable(answer);
    }
  });

  it('make one service of two coordinators', async () => {
    const second = await startCoordinator(service);
    const there = new Client(second.url, project.rw.key);
    const create = (client: Client, dimension: number) =>
      client.post('/v1/namespaces', { name: 'both', dimension, metric: 'squared_l2' });
    expect((await create(project.rw, 1)).body.created).to.equal(true);
    expect((await create(there, 1)).body.created).to.equal(false);
    expect((await there.post('/v1/records', { collection: 'both', values: [4] })).body.id).to.equal(1);
    expect((await search('both')).body.results).to.deep.equal([{ id: 1, score: 16 }]);
    expect((await project.rw.delete('/v1/namespaces/both')).status).to.equal(204);
    expect((await there.post('/v1/search', { collection: 'both', query: [0], k: 1 })).body.code).to.equal(
      'collection_not_found',
    );
    const raced = await Promise.all([project.rw, there, project.rw, there].map((client) => create(client, 1)));
    expect(raced.filter(({ body }) => body.created)).to.have.length(1);
    expect(new Set(raced.map(({ body }) => body.id)).size).to.equal(1);
    for (const client of [project.rw, there])
      await service.until(async () => {
        const { body } = await client.get('/v1/namespaces');
        return body.collections.some(({ id }: { id: number }) => id === raced[0]?.body.id);
      });
    await second.process.stop();
  });

  it('answer every accepted request before a coordinator ends, and accept no others', async () => {
    const second = await startCoordinator(service);
    const client = new Client(second.url, project.rw.key);
    const name = on.get('s1') as string;
    let answered = 0;
    let refused = 0;
    const writer = async (): Promise<void> => {
      for (;;) {
        // A connection refused, or closed before an answer began, is not an answer: that may happen only until the
        // drain ends.
        const answer = await client.post('/v1/records', { collection: name, values: [100] }).catch(() => undefined);
        if (answer === undefined) {
          refused++;
          return;
        }
        expect(answer.status, answer.text).to.equal(200);
        answered++;
      }
    };
    const writers = Array.from({ length: 8 }, writer);
    await service.until(async () => answered > 50);
    expect(await second.process.stop()).to.deep.equal({ code: 0, signal: null });
    await Promise.all(writers);
    expect(refused).to.equal(8);
    const { body } = await project.rw.get('/v1/namespaces');
    const count = body.collections.find((one: { name: string }) => one.name === name).record_count;
    expect(count, 'every write was answered').to.equal(answered + 1);
  });

  it('answer 503 unavailable if a deadline passes, in both modes', async () => {
    const hurried = await startCoordinator(service, 1);
    const standalone = await Service.start('standalone', { VOUCH_DEADLINE_MS: '1' });
    const batch = Array.from({ length: 4_000 }, () => new Array(64).fill(0.5));
    for (const rw of [new Client(hurried.url, project.rw.key), (await standalone.newProject()).rw]) {
      await service.until(
        async () =>
          (await rw.post('/v1/namespaces', { name: 'c', dimension: 64, metric: 'squared_l2' })).status === 200,
      );
      expectUnavailable(await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch }));
    }
    await Promise.all([hurried.process.stop(), standalone.stop()]);
  });

  it('are unchanged by requests that their client abandons', async () => {
    const name = on.get('s1') as string;
    const vectors = JSON.stringify({ collection: name, batch: Array.from({ length: 2_000 }, () => [1]) });
    const countIn = ({ collections }: { collections: { name: string; record_count: number }[] }): number =>
      collections.find((one) => one.name === name)!.record_count;
    const first = countIn((await project.rw.get('/v1/namespaces')).body);
    for (let i = 0; i < 20; i++) await abandon(service.url, project.rw.key as string, vectors, i);
    await service.until(async () => (await gauge(service, 'vouch_http_in_flight')) === 0);
    expect((await insert(name, 1)).status).to.equal(200);
    // All or nothing for those too. A shard may still work on an abandoned one, and counts meanwhile.
    await service.until(async () => {
      const now = countIn((await project.rw.get('/v1/namespaces')).body);
      return now > first && (now - first - 1) % 2_000 === 0;
    });
  });

  it('answer 503 with Retry-After at once without NATS, and recover with it', async () => {
    const before = await multi();
    await service.nats.kill();
    const name = on.get('s1') as string;
    await service.until(async () => (await search(name)).status === 503);
    const answers = await Promise.all([
      search(name),
      insert(name, 1),
      project.rw.get('/v1/namespaces'),
      project.rw.get(`/v1/records/1?collection=${name}`),
      project.rw.post('/v1/soft-delete', { collection: name, id: 1 }),
      project.rw.post('/v1/delete', { collection: name, id: 1 }),
      project.rw.patch(`/v1/records/1/metadata?collection=${name}`, {}),
      project.rw.post('/v1/vectors/batch-insert', { collection: name, batch: [[1]] }),
      project.rw.post('/v1/namespaces', { name: 'new', dimension: 1, metric: 'squared_l2' }),
      project.rw.delete(`/v1/namespaces/${name}`),
      project.rw.post('/v1/index/rebuild', {}),
      project.rw.get('/v1/usage'),
      project.rw.post('/v1/search', { collection: 'unknown', query: [1], k: 1 }),
    ]);
    for (const answer of answers) expectUnavailable(answer);
    expect((await project.rw.get('/health')).status).to.equal(503);
    await service.nats.start();
    await whole();
    expect((await multi()).body).to.deep.equal(before.body);
    expect((await insert(name, 1)).status).to.equal(200);
  });

  it('keep collections and records through a restart of everything', async () => {
    const requestId = 'ab'.repeat(16);
    const name = on.get('s1') as string;
    const first = await insert(name, 9, { request_id: requestId });
    const before = [(await multi()).body, (await project.rw.get('/v1/namespaces')).body];
    await Promise.all(service.processNames.map((one) => service.process(one).stop()));
    await service.nats.shutDown();
    await service.nats.start();
    await Promise.all(service.processNames.map((one) => service.run(one)));
    await whole();
    expect([(await multi()).body, (await project.rw.get('/v1/namespaces')).body]).to.deep.equal(before);
    expect((await insert(name, 9, { request_id: requestId })).body).to.deep.equal({
      ...first.body,
      deduplicated: true,
    });
  });
});

function expectUnavailable(answer: { status: number; text: string; headers: Headers; body: { code: string } }): void {
  expect(answer.status, answer.text).to.equal(503);
  expect(answer.body).to.have.all.keys('error', 'code');
  expect(answer.body.code).to.equal('unavailable');
  expect(Number(answer.headers.get('retry-after'))).to.be.at.least(1);
}

async function startCoordinator(service: Service, deadlineMs = 10_000): Promise<{ url: string; process: Launched }> {
  const port = await freePort();
  const script = fileURLToPath(new URL('../../coordinator/main.js', import.meta.url));
  const env = { ...service.environment, VOUCH_PORT: String(port), VOUCH_DEADLINE_MS: String(deadlineMs) };
  const process = launchNode(script, [], { env });
  await process.waitForLine(/"msg":"ready"/);
  return { url: `http://127.0.0.1:${port}`, process };
}

/** Sends a batch insert and disconnects, in the middle of the body or right after it. */
function abandon(url: string, key: string, body: string, turn: number): Promise<void> {
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/vectors/batch-insert`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length },
    });
    sent.on('error', () => resolve());
    sent.on('close', () => resolve());
    const part = turn % 2 ? body : body.slice(0, (body.length * turn) / 20);
    sent.write(part, () => sent.destroy());
  });
}

async function gauge(service: Service, name: string): Promise<number | undefined> {
  const text = await service.metrics();
  const line = text.split('\n').find((one) => one.startsWith(name));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}
