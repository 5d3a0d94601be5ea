/** Records of collections with `ttl_secs`, which expire without an `expires_at` of their own. */
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { atLength } from '../support/atLength.js';
import { answered, refused } from '../support/launch/answers.js';
import { beforeExpiry, reached } from '../support/launch/beforeExpiry.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';
import { announcement, exported, imported } from '../support/rigs/backups.js';

/** Also requested through the package. */
const ROUTES = ['POST /v1/namespaces', 'POST /v1/records', 'POST /v1/vectors/batch-upsert'] as const;

const DAY_SECS = 86_400;
const TTL_SECS_MAX = 3_155_760_000;

inBothModesAndThroughClient('a collection with ttl_secs', ROUTES, (service, { restartable }) => {
  let project: Project;
  let rw: Client;
  beforeEach(async () => {
    project = await service.newProject();
    ({ rw } = project);
  });
  const create = (name: string, ttl_secs?: unknown, client = rw): Promise<Answer> =>
    client.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2', ttl_secs });
  const post = (path: string, body: object): Promise<Answer> => rw.post(path, { collection: 'c', ...body });
  const expiries = async (collection = 'c', client = rw): Promise<(number | null)[]> => {
    const { records } = answered(await client.get(`/v1/records?collection=${collection}`));
    return records.map(({ expires_at }: { readonly expires_at?: number }) => expires_at ?? null);
  };

  it('gives each new record an expiry, unless it has one of its own', async () => {
    answered(await create('c', DAY_SECS));
    const first = Math.ceil(systemClock.nowMs() / 1000) + DAY_SECS;
    const own = first + 5_000;
    answered(await post('/v1/records', { values: [1] }));
    answered(await post('/v1/records', { values: [1], expires_at: own }));
    answered(await post('/v1/records', { values: [1], expires_at: null }));
    answered(await post('/v1/vectors/batch-insert', { batch: [[1], [2]], expires_at: [null, own] }));
    answered(await post('/v1/vectors/batch-insert', { batch: [[3]] }));
    answered(await post('/v1/vectors/batch-upsert', { batch: [[3], [4]], external_ids: ['a', 'b'] }));
    const last = Math.ceil(systemClock.nowMs() / 1000) + DAY_SECS;
    const found = await expiries();
    expect(found.map((expiry) => expiry === own)).to.deep.equal([false, true, false, false, true, false, false, false]);
    for (const expiry of found.filter((one) => one !== own)) expect(expiry).to.be.within(first, last);
  });

  it('counts the life of a replaced record from its replacement, and not from a change of its metadata', async () => {
    answered(await create('c', DAY_SECS));
    const upsert = { batch: [[3]], external_ids: ['a'] };
    answered(await post('/v1/vectors/batch-upsert', { ...upsert, expires_at: [4_102_444_800] }));
    answered(await rw.patch('/v1/records/1/metadata?collection=c', { n: 1 }));
    expect(await expiries()).to.deep.equal([4_102_444_800]);
    const first = Math.ceil(systemClock.nowMs() / 1000) + DAY_SECS;
    answered(await post('/v1/vectors/batch-upsert', upsert));
    const [expiry] = await expiries();
    expect(expiry).to.be.within(first, first + 60);
    answered(await rw.patch('/v1/records/1/metadata?collection=c', { n: 2 }));
    expect(await expiries()).to.deep.equal([expiry]);
  });

  it('has no record any more when its life is over, encrypted ones included', async () => {
    answered(await create('c', 1));
    answered(await post('/v1/records', { values: [1] }));
    const { id } = answered(await post('/v1/records/encrypted', { payload: 'AAAA' }));
    answered(await post('/v1/records', { values: [2], expires_at: 4_102_444_800 }));
    const kept = { payload: 'AAAA', expires_at: 4_102_444_800 };
    const { id: later } = answered(await post('/v1/records/encrypted', kept));
    // The life of one second ends with the next whole second.
    await reached(Math.ceil(systemClock.nowMs() / 1000) + 1);
    expect(await expiries()).to.deep.equal([4_102_444_800, 4_102_444_800]);
    refused(await rw.get(`/v1/records/encrypted/${id}?collection=c`), 404, 'record_not_found');
    expect(answered(await rw.get(`/v1/records/encrypted/${later}?collection=c`)).payload).to.equal('AAAA');
  });

  it('is listed with it, and cannot be created again with another one', async () => {
    answered(await create('c', DAY_SECS));
    answered(await create('plain'));
    const { collections } = answered(await rw.get('/v1/namespaces'));
    expect(collections.map(({ name, ttl_secs }: Answer['body']) => [name, ttl_secs])).to.deep.equal([
      ['c', DAY_SECS],
      ['plain', undefined],
    ]);
    expect(answered(await rw.get('/v1/namespaces/c')).ttl_secs).to.equal(DAY_SECS);
    expect(answered(await create('c', DAY_SECS)).created).to.equal(false);
    expect(answered(await create('plain', null)).created).to.equal(false);
    const message = 'collection "c" exists with ttl_secs 86400, which cannot change';
    for (const other of [undefined, null, DAY_SECS + 1])
      expect(refused(await create('c', other), 409, 'conflict')).to.equal(message);
    expect(refused(await create('plain', 1), 409, 'conflict')).to.equal(
      'collection "plain" exists with no ttl_secs, which cannot change',
    );
  });

  it('takes whole seconds up to a hundred years, and is not created with other values', async () => {
    for (const wrong of [0, -1, 1.5, '60', true, TTL_SECS_MAX + 1])
      expect(refused(await create('c', wrong), 400, 'validation_error')).to.include('$.ttl_secs');
    expect(answered(await rw.get('/v1/namespaces')).collections).to.deep.equal([]);
    answered(await create('c', TTL_SECS_MAX));
    answered(await post('/v1/records', { values: [1] }));
    expect((await expiries())[0]).to.be.above(4_102_444_800);
    answered(await create('shortest', 1));
  });

  it('is one after an export and an import, whose records keep their expiry', async () => {
    answered(await create('c', DAY_SECS));
    answered(await post('/v1/records', { values: [1] }));
    const taken = await exported(rw, 'c');
    expect(taken.facts.ttl_secs).to.equal(DAY_SECS);
    const { rw: target } = await service.newProject();
    await imported(target, taken, 'again');
    expect(answered(await target.get('/v1/namespaces/again')).ttl_secs).to.equal(DAY_SECS);
    expect(await expiries('again', target)).to.deep.equal(await expiries());
    answered(await target.post('/v1/records', { collection: 'again', values: [2] }));
    expect((await expiries('again', target))[1]).to.be.above(systemClock.nowMs() / 1000 + DAY_SECS - 60);
    const { ttl_secs: _, ...without } = announcement(taken, 'again');
    refused(await target.post('/v1/import', without), 409, 'conflict');
    refused(await target.post('/v1/import', { ...without, ttl_secs: 0 }), 400, 'validation_error');
  });

  it('keeps it when its access log is switched, its index changes and its alias moves', async () => {
    answered(await create('c', DAY_SECS));
    expect(answered(await project.admin.patch('/v1/namespaces/c', { audit_reads: true })).ttl_secs).to.equal(DAY_SECS);
    expect((await rw.post('/v1/namespaces/c/index', { type: 'hnsw' })).status).to.equal(202);
    answered(await rw.put('/v1/aliases/other', { collection: 'c' }));
    answered(await rw.post('/v1/records', { collection: 'other', values: [1] }));
    expect((await expiries())[0]).to.be.above(systemClock.nowMs() / 1000);
    expect(answered(await rw.get('/v1/namespaces/c')).ttl_secs).to.equal(DAY_SECS);
  });

  it(atLength('removes its expired records without any call, also those of before a restart'), async () => {
    const own = await restartable();
    const { rw: client } = await own.newProject();
    answered(await create('c', 1, client));
    const insert = (values: number[], expires_at?: number): Promise<Answer> =>
      client.post('/v1/records', { collection: 'c', values, expires_at });
    const removed = (): Promise<number> => own.metric('vouch_expired_records_total');
    const before = await removed();
    for (const values of [[1], [2]]) answered(await insert(values));
    await own.until(async () => (await removed()) === before + 2, { everyMs: 200 });
    let inserted = 2;
    const kill = async (): Promise<void> => {
      for (const name of own.processNames) await own.kill(name);
    };
    const restart = async (): Promise<void> => {
      await kill();
      await Promise.all(own.processNames.map((name) => own.run(name)));
    };
    await beforeExpiry(async (expires_at) => {
      for (const values of [[3], [4], [5]]) {
        answered(await insert(values, expires_at));
        inserted++;
      }
      await kill();
      return {};
    }, restart);
    await restart();
    await own.until(async () => (await removed()) >= 3, { everyMs: 200 });
    const { events } = answered(await client.get('/v1/timeline?collection=c&limit=100'));
    expect(events.map(({ event_type }: Answer['body']) => event_type).sort()).to.deep.equal([
      ...Array.from({ length: inserted }, () => 'delete'),
      ...Array.from({ length: inserted }, () => 'insert'),
    ]);
  });
});
