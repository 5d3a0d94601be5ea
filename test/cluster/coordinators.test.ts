// Covers: coordinator/coordinator.ts, coordinator/main.ts
/**
 * Several coordinators of one cluster, as real processes: each knows what another has learned, and they count together.
 */
import { expect } from 'chai';
import { LEASE_MS } from '../../coordinator/cluster/members/leadership.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { createKey } from '../../shared/registry/keys.js';
import type { Answer } from '../support/launch/client.js';
import { freePort } from '../support/launch/freePort.js';
import { launchNode } from '../support/launch/process.js';
import { type Client, type Project, Service } from '../support/launch/service.js';
import {
  announcement,
  answered,
  type Exported,
  exported,
  fill,
  finish,
  portrait,
  send,
} from '../support/rigs/backups.js';

const FIRST = 'coordinator';
const SECOND = 'coordinator2';
const BOTH = [FIRST, SECOND] as const;
/** Requests that a limited project may make at once; during the test it earns hardly one more. */
const BURST = 40;
const bucket = { perMinute: 0.001, burst: BURST };
const LIMITED = { total: { perMinute: 0.001, burst: 10 * BURST }, read: bucket, write: bucket };
const SETTINGS = {
  VOUCH_RATE_LIMITS: JSON.stringify({
    default: 'off',
    projects: { apart: LIMITED, together: LIMITED, bereaved: LIMITED },
  }),
};
/** Time for messages between coordinators to arrive, on a machine that is busy with other things too. */
const RECEIVED_WITHIN_MS = 1_000;

describe('several coordinators', () => {
  let service: Service;
  let project: Project;

  before(async () => {
    service = await Service.start('cluster', SETTINGS, { shards: 1, coordinators: BOTH.length });
  });
  after(() => service?.stop());
  beforeEach(async () => {
    project = await service.newProject();
  });

  /** A client with this key at each of two coordinators. */
  const atBoth = (key: string | undefined): [Client, Client] => [
    service.client(key, FIRST),
    service.client(key, SECOND),
  ];
  const create = (client: Client, name: string, dimension = 1): Promise<Answer> =>
    client.post('/v1/namespaces', { name, dimension, metric: 'squared_l2' });
  const insert = (client: Client, collection: string, ...values: number[]): Promise<Answer> =>
    client.post('/v1/records', { collection, values });
  const search = (client: Client, collection: string): Promise<Answer> =>
    client.post('/v1/search', { collection, query: [0], k: 100 });
  /** Coordinator with that lease. */
  const holderOf = async (lease: string): Promise<string | undefined> => {
    const leases = await (await service.platform()).bucket(BUCKETS.leases, { ttlMs: LEASE_MS });
    const { holder } = ((await leases.get(lease))?.value ?? {}) as { readonly holder?: string };
    return service.processNames.find((name) => holder?.startsWith(`c${service.process(name).pid}.`));
  };
  const keyFor = async (name: string): Promise<string> => {
    const keys = await (await service.platform()).bucket(BUCKETS.keys);
    return (await createKey(keys, { project: name, scope: 'read_write' }, systemClock, systemEntropy)).key;
  };
  /** Reads over a connection of its own. */
  const read = async (client: Client): Promise<number> =>
    (await client.get('/v1/namespaces', { connection: 'close' })).status;
  const allowed = (statuses: readonly number[]): number => statuses.filter((status) => status === 200).length;

  it('accept each other’s new keys at once, and soon refuse keys revoked elsewhere', async () => {
    const latenessMs: number[] = [];
    for (let round = 0; round < 6; round++) {
      const [here, there] = round % 2 === 0 ? BOTH : [SECOND, FIRST];
      const admin = service.client(project.admin.key, here);
      const made = await admin.post('/v1/keys', { scope: 'read_only' });
      expect(made.status, made.text).to.equal(200);
      const elsewhere = service.client(made.body.key, there);
      expect(await read(elsewhere), 'at its first use').to.equal(200);
      expect((await admin.delete(`/v1/keys/${made.body.id}`)).status).to.equal(204);
      const revokedMs = systemClock.monotonicMs();
      expect(await read(service.client(made.body.key, here)), 'where it was revoked').to.equal(401);
      await service.until(async () => (await read(elsewhere)) === 401);
      latenessMs.push(systemClock.monotonicMs() - revokedMs);
    }
    console.log(`      dead elsewhere after ${latenessMs.map((ms) => ms.toFixed(1)).join(', ')} ms`);
  });

  it('show each other’s new collections at once, and deleted ones no longer', async () => {
    for (let round = 0; round < 6; round++) {
      const [here, there] = round % 2 === 0 ? atBoth(project.rw.key) : atBoth(project.rw.key).reverse();
      const name = `c${round}`;
      answered(await create(here!, name));
      expect((await create(there!, name, 2)).status, 'another dimension').to.equal(409);
      expect(answered(await insert(there!, name, 3)).id).to.equal(1);
      expect(answered(await search(here!, name)).results).to.deep.equal([{ id: 1, score: 9 }]);
      expect((await there!.delete(`/v1/namespaces/${name}`)).status).to.equal(204);
      for (const client of [here!, there!]) {
        const gone = await search(client, name);
        expect([gone.status, gone.body.code]).to.deep.equal([404, 'collection_not_found']);
        expect((await insert(client, name, 1)).status).to.equal(404);
      }
    }
  });

  it('lead to the new collection of an alias as soon as its move is answered', async () => {
    const [here, there] = atBoth(project.rw.key);
    for (const [i, name] of ['even', 'odd'].entries()) {
      answered(await create(here, name));
      answered(await insert(here, name, i + 1));
    }
    for (let round = 0; round < 20; round++) {
      const [mover, searcher] = round % 3 === 0 ? [there, here] : [here, there];
      answered(await mover.put('/v1/aliases/x', { collection: round % 2 === 0 ? 'even' : 'odd' }));
      const score = (1 + (round % 2)) ** 2;
      for (const consistency of ['strong', 'eventual']) {
        const found = await searcher.post('/v1/search', { collection: 'x', query: [0], k: 1, consistency });
        expect(answered(found).results).to.deep.equal([{ id: 1, score }]);
      }
    }
    expect((await here.delete('/v1/aliases/x')).status).to.equal(204);
    expect((await search(there, 'x')).body.code).to.equal('collection_not_found');
  });

  it('hold a project’s limit exactly over two ports', async () => {
    const clients = atBoth(await keyFor('apart'));
    const statuses = await Promise.all(Array.from({ length: 3 * BURST }, (_, i) => read(clients[i % 2]!)));
    expect(allowed(statuses)).to.equal(BURST);
    expect(statuses.filter((status) => status === 429)).to.have.length(2 * BURST);
    for (const client of clients) expect(await read(client)).to.equal(429);
  });

  describe('on one port', () => {
    const SHARING = ['coordinator3', 'coordinator4'] as const;
    const metrics = new Map<string, string>();

    before(async () => {
      const port = String(await freePort());
      for (const name of SHARING) {
        const address = `127.0.0.1:${await freePort()}`;
        metrics.set(name, `http://${address}/metrics`);
        await service.run(name, { VOUCH_SHARE_PORT: 'true', VOUCH_PORT: port, VOUCH_METRICS: address });
      }
    });
    after(async () => {
      for (const name of SHARING) await service.process(name).stop();
    });

    /** Requests that each has answered, by its own metrics. */
    const answeredBy = (): Promise<number[]> =>
      Promise.all(
        SHARING.map(async (name) => {
          const text = await (await fetch(metrics.get(name)!)).text();
          const counts = text.matchAll(/^vouch_http_requests_total\{route="GET \/v1\/namespaces".*\} (\d+)$/gm);
          return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
        }),
      );

    it('share the connections, and hold a project’s limit exactly', async () => {
      const client = service.client(await keyFor('together'), SHARING[0]);
      const statuses = await Promise.all(Array.from({ length: 3 * BURST }, () => read(client)));
      expect(allowed(statuses)).to.equal(BURST);
      const parts = await answeredBy();
      expect(parts[0]! + parts[1]!, 'each serves its own metrics').to.equal(3 * BURST);
      expect(Math.min(...parts), `${parts}`).to.be.above(0);
    });

    it('leave all new connections to the survivor when one is killed', async () => {
      const client = service.client(project.ro.key, SHARING[0]);
      await service.kill(SHARING[1]);
      for (let i = 0; i < 50; i++) expect(await read(client)).to.equal(200);
      await service.run(SHARING[1]);
    });

    it('report the used port if one does not share it', async () => {
      const port = new URL(service.urlOf(SHARING[0])).port;
      const script = new URL('../../coordinator/main.js', import.meta.url).pathname;
      const alone = launchNode(script, [], { env: { ...service.environment, VOUCH_PORT: port } });
      expect((await alone.waitForEnd()).code).to.equal(1);
      expect(alone.output).to.include(`cannot listen on 127.0.0.1:${port}: the port is in use`);
    });
  });

  it('keep the count of allowed requests when the one that counts is killed', async () => {
    const counter = (await holderOf('limits'))!;
    expect(counter, 'somebody counts').not.to.equal(undefined);
    const survivor = BOTH.find((name) => name !== counter)!;
    const key = await keyFor('bereaved');
    const [doomed, left] = [service.client(key, counter), service.client(key, survivor)];
    /** Time of each allowed request. */
    const grantedMs: number[] = [];
    const ask = async (client: Client): Promise<void> => {
      if ((await read(client)) === 200) grantedMs.push(systemClock.monotonicMs());
    };
    for (let i = 0; i < BURST / 4; i++) await Promise.all([ask(doomed), ask(left)]);
    expect(grantedMs).to.have.length(BURST / 2);
    await service.kill(counter);
    const killedMs = systemClock.monotonicMs();
    const before = grantedMs.length;
    const unreported = grantedMs.filter((ms) => ms > killedMs - RECEIVED_WITHIN_MS).length;
    for (let i = 0; i < 2 * BURST; i++) await ask(left);
    const after = grantedMs.length - before;
    expect(after, 'the rest is allowed').to.be.at.least(BURST - before);
    expect(after, 'only unreported requests are allowed again').to.be.at.most(BURST - before + unreported);
    console.log(`      let through: ${before} before the kill, ${after} after it, of ${BURST}`);
    await service.until(async () => (await holderOf('limits')) !== undefined);
    expect(await read(left), 'the next counter knows').to.equal(429);
    await service.run(counter);
    expect(await read(doomed), 'and so does one that joins').to.equal(429);
  });

  it('continue under another leader when the leader of placement is killed', async () => {
    // The leader may have been killed a moment ago.
    await service.until(async () => (await holderOf('placement')) !== undefined);
    const leader = (await holderOf('placement'))!;
    const others = BOTH.filter((name) => name !== leader);
    const left = service.client(project.rw.key, others[0]);
    answered(await create(left, 'kept'));
    await service.kill(leader);
    const killedMs = systemClock.monotonicMs();
    for (let i = 1; i <= 40; i++) expect(answered(await insert(left, 'kept', i)).id).to.equal(i);
    await service.until(async () => ![undefined, leader].includes(await holderOf('placement')));
    console.log(`      another leads after ${((systemClock.monotonicMs() - killedMs) / 1000).toFixed(1)} s`);
    answered(await create(left, 'new'));
    answered(await insert(left, 'new', 1));
    await service.run(leader);
    expect(answered(await search(service.client(project.rw.key, leader), 'kept')).results).to.have.length(40);
  });

  it('complete at least one of two concurrent rebuilds, refuse the other or complete it too, and continue writes', async () => {
    const [first, second] = atBoth(project.rw.key);
    for (const name of ['a', 'b', 'c']) {
      answered(await first.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2', index: 'hnsw' }));
      const batch = Array.from({ length: 500 }, (_, i) => [i, -i]);
      answered(await second.post('/v1/vectors/batch-insert', { collection: name, batch }));
    }
    for (let round = 0; round < 3; round++) {
      const rebuilds = [first, second].map((client) => client.post('/v1/index/rebuild', {}));
      const writes = ['a', 'b', 'c'].map((name, i) => insert([first, second][i % 2]!, name, round, round));
      const outcomes = await Promise.all(rebuilds);
      for (const { status, body, text } of outcomes)
        expect([200, 409], text).to.include(status, body?.code ?? 'rebuilt');
      expect(outcomes.some(({ status }) => status === 200)).to.equal(true);
      for (const answer of await Promise.all(writes)) answered(answer);
    }
    for (const client of [first, second]) answered(await insert(client, 'a', 7, 7));
  });

  it('shred a key once for two concurrent requests, and lose every concurrent insert under it', async () => {
    const [first, second] = atBoth(project.rw.key);
    answered(await create(first, 'sealed'));
    const keyId = 'c0'.repeat(16);
    const seal = (client: Client): Promise<Answer> =>
      client.post('/v1/records/encrypted', {
        collection: 'sealed',
        key_id: keyId,
        payload: Buffer.from('secret').toString('base64'),
      });
    const sealed = [answered(await seal(first)).id, answered(await seal(second)).id];
    const [shreds, raced] = await Promise.all([
      Promise.all([first, second].map((client) => client.delete(`/v1/crypto/shred/${keyId}`))),
      Promise.all(Array.from({ length: 6 }, (_, i) => seal([first, second][i % 2]!))),
    ]);
    for (const shred of shreds) expect(answered(shred)).to.deep.equal({ key_id: keyId, shredded: true });
    for (const { status, body, text } of raced) {
      expect([200, 400], text).to.include(status);
      if (status === 200) sealed.push(body.id);
    }
    for (const client of [first, second]) {
      expect(answered(await client.get(`/v1/crypto/status/${keyId}`)).status).to.equal('shredded');
      expect((await seal(client)).status).to.equal(400);
      for (const id of sealed)
        expect((await client.get(`/v1/records/encrypted/${id}?collection=sealed`)).status).to.equal(410);
    }
  });

  it('build one collection from an import begun and sent through both, equal to the export', async () => {
    const [first, second] = atBoth(project.rw.key);
    await fill(first, 'source');
    const taken: Exported = await exported(second, 'source');
    const begun = await Promise.all(
      [first, second].map((client) => client.post('/v1/import', announcement(taken, 'copy'))),
    );
    expect(answered(begun[0]!).id).to.equal(answered(begun[1]!).id);
    for (let at = 0; at < taken.frames.length; at += 4) {
      // Both get the same part: the later one has nothing to add, or is refused and reads its progress again.
      const part = taken.frames.slice(at, at + 4);
      const sent = await Promise.all([first, second].map((client) => send(client, 'copy', part)));
      expect(
        sent.some(({ status }) => status === 200),
        sent.map(({ text }) => text).join(),
      ).to.equal(true);
      for (const { status, text } of sent) expect([200, 409], text).to.include(status);
    }
    const ended = await Promise.all([first, second].map((client) => finish(client, 'copy')));
    for (const end of ended)
      expect(answered(end)).to.include({ status: 'finished', state_hash: taken.facts.state_hash });
    expect(await portrait(second, 'copy')).to.deep.equal(await portrait(first, 'source'));
  });
});
