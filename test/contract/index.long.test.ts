/** A collection's index over HTTP: requested, built, replaced and dropped, with its state at every moment. */
import { expect } from 'chai';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock } from '../../shared/clock.js';
import { DIMENSION, IndexedByHttp, KINDS, rowsOf, SLOW } from '../support/launch/indexClient.js';
import { inBothModes } from '../support/launch/modes.js';

const MANY = 4_000;
const ROWS = rowsOf(1, MANY);
const FEW = ROWS.slice(0, 50);
const SPREAD = [0, 7, 1_234, MANY - 1];
const BEFORE = ['collection', 'active_type', 'status', 'desired_type', 'active_generation', 'building_generation'];
const BUILDING = [...BEFORE, 'build_started_at', 'build_progress', 'base_lsn'];

inBothModes('the index of a collection', (service, { start, restartable }) => {
  const make = async (index?: string, rows: readonly number[][] = []): Promise<IndexedByHttp> => {
    const collection = new IndexedByHttp(service, (await service.newProject()).rw);
    expect((await collection.create(index)).body.created).to.equal(true);
    if (rows.length > 0) await collection.fill([...rows]);
    return collection;
  };
  const ids = ROWS.map((_, i) => i + 1);

  it('is built on request: 202, then states of the build, then of the served index', async () => {
    const collection = await make(undefined, ROWS);
    expect(await collection.state()).to.deep.equal({
      collection: 'c',
      active_type: 'none',
      status: 'none',
      desired_type: 'none',
      active_generation: null,
      building_generation: null,
    });
    const askedAt = Math.floor(systemClock.nowMs() / 1_000);
    const accepted = await collection.configure({ type: 'hnsw', parameters: { ...SLOW, unknown: 1, ef_search: null } });
    expect(accepted.status, accepted.text).to.equal(202);
    expect(accepted.body).to.have.all.keys(BUILDING);
    expect(accepted.body).to.include({
      collection: 'c',
      active_type: 'none',
      status: 'building',
      desired_type: 'hnsw',
      active_generation: null,
      base_lsn: MANY,
    });
    const { building_generation: number, build_started_at: startedAt } = accepted.body;
    expect(number).to.be.a('number').above(0);
    expect(startedAt).to.be.within(askedAt - 1, askedAt + 5);
    const building = await collection.state();
    expect(accepted.body.build_progress).to.be.within(0, 1);
    expect(building.build_progress).to.be.within(accepted.body.build_progress, 1);
    expect({ ...building, build_progress: 0 }).to.deep.equal({ ...accepted.body, build_progress: 0 });
    await collection.expectFound(ROWS, ids, SPREAD);
    expect(await collection.listed()).to.include({ index: 'brute' });

    const active = await collection.settled('hnsw');
    expect(active).to.deep.equal({
      collection: 'c',
      active_type: 'hnsw',
      status: 'active',
      desired_type: 'hnsw',
      active_generation: number,
      building_generation: null,
      segments: 1,
    });
    await collection.expectFound(ROWS, ids, SPREAD);
    expect(await collection.listed()).to.include({ index: 'hnsw', record_count: MANY });
  });

  it('is 409 conflict for a second request during a build, which continues', async () => {
    const collection = await make(undefined, ROWS);
    const { body } = await collection.configure({ type: 'hnsw', parameters: SLOW });
    for (const type of KINDS) {
      const refused = await collection.configure({ type });
      expect([refused.status, refused.body.code], refused.text).to.deep.equal([409, 'conflict']);
    }
    const refused = await collection.configure({ type: 'lsh' });
    expect(refused.body.code, 'an invalid request is reported before the conflict').to.equal('invalid_index');
    expect(await collection.settled('hnsw')).to.include({
      desired_type: 'hnsw',
      active_generation: body.building_generation,
    });
  });

  it('serves until its replacement of another type is ready', async () => {
    const collection = await make('bq', ROWS);
    const before = await collection.settled('bq');
    const accepted = await collection.configure({ type: 'hnsw', parameters: SLOW });
    expect(accepted.status).to.equal(202);
    expect(accepted.body).to.include({
      active_type: 'bq',
      status: 'building',
      desired_type: 'hnsw',
      active_generation: before.active_generation,
    });
    expect(accepted.body.building_generation).to.be.above(before.active_generation);
    expect(await collection.listed()).to.include({ index: 'bq' });
    await collection.expectFound(ROWS, ids, SPREAD);
    await collection.settled('hnsw');
    for (const type of ['ivf', 'bq', 'hnsw'] as const) {
      expect((await collection.configure({ type })).status).to.equal(202);
      const { active_generation: number } = await collection.settled(type);
      expect(number).to.be.above(before.active_generation);
      expect(await collection.listed()).to.include({ index: type });
      await collection.expectFound(ROWS, ids, SPREAD);
    }
  });

  it('is dropped at once by a type of null or no type, and can be requested again', async () => {
    for (const body of [{ type: null }, {}, { parameters: { m: 8 } }]) {
      const collection = await make('ivf', FEW);
      await collection.settled('ivf');
      const dropped = await collection.configure(body);
      expect(dropped.status).to.equal(200);
      expect(dropped.body).to.have.all.keys(BEFORE);
      expect(dropped.body).to.include({ active_type: 'none', status: 'none', desired_type: 'none' });
      expect(dropped.body).to.include({ active_generation: null, building_generation: null });
      expect(await collection.state()).to.deep.equal(dropped.body);
      expect(await collection.listed()).to.include({ index: 'brute' });
      await collection.expectFound(FEW, ids, [0, 49]);
      expect((await collection.configure({ type: 'bq' })).status).to.equal(202);
      await collection.settled('bq');
    }
  });

  it('is cancelled by a drop during its build, and the next build may begin at once', async () => {
    const collection = await make(undefined, ROWS);
    const first = await collection.configure({ type: 'hnsw', parameters: SLOW });
    const dropped = await collection.configure({ type: null });
    expect(dropped.status, dropped.text).to.equal(200);
    expect(dropped.body).to.include({ active_type: 'none', status: 'none', desired_type: 'none' });
    expect(dropped.body.building_generation).to.equal(null);
    const second = await collection.configure({ type: 'bq' });
    expect(second.status, second.text).to.equal(202);
    expect(second.body.building_generation).to.be.above(first.body.building_generation);
    expect(await collection.settled('bq')).to.include({ active_generation: second.body.building_generation });
  });

  it('shows every answered insert and no deleted record in the very next search during a build', async () => {
    const collection = await make('ivf', ROWS);
    await collection.settled('ivf');
    await collection.configure({ type: 'hnsw', parameters: SLOW });
    const fresh = rowsOf(2, 400);
    let rounds = 0;
    for (const [i, row] of fresh.entries()) {
      const { body } = await collection.insert(row);
      expect(await collection.search(row)).to.deep.equal([{ id: body.id, score: 0 }]);
      await collection.remove(i + 1, i % 2 ? '/v1/soft-delete' : '/v1/delete');
      expect((await collection.search(ROWS[i]!)).map(({ id }) => id)).not.to.include(i + 1);
      rounds++;
      if ((await collection.state()).active_type === 'hnsw' && rounds > 50) break;
    }
    await collection.settled('hnsw');
    for (let i = 0; i < rounds; i++) {
      expect((await collection.search(fresh[i]!))[0]).to.include({ score: 0 });
      expect((await collection.search(ROWS[i]!)).map(({ id }) => id)).not.to.include(i + 1);
    }
    expect((await collection.listed()).record_count).to.equal(MANY);
  });

  for (const kind of [...KINDS, 'auto', 'brute'] as const)
    it(`exists from the first record on if the collection is created with ${kind}`, async () => {
      const collection = await make(kind);
      const type = kind === 'auto' || kind === 'brute' ? 'none' : kind;
      const empty = await collection.settled(type);
      expect(empty.desired_type).to.equal(kind === 'brute' ? 'none' : kind);
      expect(await collection.listed()).to.include({ index: type === 'none' ? 'brute' : type });
      expect(await collection.search(FEW[0]!, 3)).to.deep.equal([]);
      expect((await collection.insert(FEW[0]!)).status).to.equal(200);
      expect(await collection.search(FEW[0]!, 3)).to.deep.equal([{ id: 1, score: 0 }]);
      await collection.fill(FEW.slice(1));
      await collection.expectFound(FEW, ids, [0, 25, 49]);
      // Creating it again with another kind finds it unchanged.
      const again = await collection.create(kind === 'bq' ? 'hnsw' : 'bq');
      expect([again.status, again.body.created]).to.deep.equal([200, false]);
      expect((await collection.state()).desired_type).to.equal(empty.desired_type);
    });

  it('becomes hnsw at 10,000 records by itself, with auto', async () => {
    const collection = await make('auto');
    const many = rowsOf(3, 10_000);
    await collection.fill(many.slice(0, 9_999));
    expect(await collection.state()).to.include({ active_type: 'none', desired_type: 'auto' });
    await collection.fill(many.slice(9_999));
    await collection.settled('hnsw');
    expect(await collection.state()).to.include({ desired_type: 'auto' });
    expect(await collection.listed()).to.include({ index: 'hnsw', record_count: 10_000 });
    expect(await collection.search(many[9_999]!)).to.deep.equal([{ id: 10_000, score: 0 }]);
  });

  it('is refused for unknown types, bad parameters, missing rights and unknown collections', async () => {
    const { rw, ro } = await service.newProject();
    const collection = new IndexedByHttp(service, rw);
    await collection.create();
    for (const type of ['brute', 'auto', 'none', '', 'HNSW', 1, false, {}, []]) {
      const { status, body } = await collection.configure({ type });
      expect([status, body.code], JSON.stringify(type)).to.deep.equal([400, 'invalid_index']);
    }
    const wrong = [{ m: 1 }, { m: 129 }, { ef_construction: 0 }, { ef_search: 4_097 }, { n_list: 65_537 }, { m: 2.5 }];
    for (const parameters of [...wrong, { n_list: 4, n_probe: 5 }, { candidates: 0 }, { m: '8' }, []]) {
      const { status, body } = await collection.configure({ type: 'ivf', parameters });
      expect([status, body.code], JSON.stringify(parameters)).to.deep.equal([400, 'validation_error']);
    }
    const statuses = async (client: typeof rw, name: string) => [
      (await client.post(`/v1/namespaces/${name}/index`, { type: 'hnsw' })).status,
      (await client.get(`/v1/namespaces/${name}/index`)).status,
    ];
    expect(await statuses(rw, 'none')).to.deep.equal([404, 404]);
    expect(await statuses(service.client(undefined), 'c')).to.deep.equal([401, 401]);
    expect(await statuses(ro, 'c')).to.deep.equal([403, 200]);
    expect(await collection.state()).to.include({ desired_type: 'none', status: 'none' });
  });

  it('is not inherited by a new collection of the name', async () => {
    const collection = await make('hnsw', ROWS.slice(0, 1_500));
    await collection.settled('hnsw');
    for (const index of [undefined, 'bq']) {
      expect((await collection.client.delete('/v1/namespaces/c')).status).to.equal(204);
      await collection.create(index);
      await collection.fill(FEW);
      const state = await collection.settled(index ?? 'none');
      expect(state.desired_type).to.equal(index ?? 'none');
      await collection.expectFound(FEW, ids, [0, 49]);
    }
  });

  it("is 501 if the node's index management is off", async () => {
    const off = await start({ VOUCH_ANN: 'false' });
    const collection = new IndexedByHttp(off, (await off.newProject()).rw);
    for (const kind of [...KINDS, 'auto'])
      expect((await collection.create(kind)).body.code).to.equal('not_implemented');
    expect((await collection.create('brute')).body.created).to.equal(true);
    for (const type of ['hnsw', null]) {
      const { status, body } = await collection.configure({ type });
      expect([status, body.code]).to.deep.equal([501, 'not_implemented']);
    }
    expect((await collection.configure({ type: 'lsh' })).status).to.equal(400);
    expect((await collection.client.post('/v1/namespaces/none/index', { type: 'hnsw' })).status).to.equal(404);
    expect(await collection.state()).to.include({ active_type: 'none', desired_type: 'none' });
  });

  it('survives a restart of every process, with its parameters; so does a drop', async () => {
    const own = await restartable();
    const { name: project, rw } = await own.newProject();
    const kept = new IndexedByHttp(own, rw, 'kept');
    const dropped = new IndexedByHttp(own, rw, 'dropped');
    await kept.create('hnsw');
    await dropped.create('hnsw');
    for (const one of [kept, dropped]) await one.fill(ROWS);
    await kept.configure({ type: 'ivf', parameters: { n_list: 20, n_probe: 20 } });
    await dropped.configure({ type: null });
    await kept.settled('ivf');
    if (own.mode === 'cluster') {
      const entry = await (await (await own.platform()).bucket(BUCKETS.catalog)).get(`${project}.kept`);
      expect(entry?.value).to.deep.include({ index: 'ivf', index_parameters: { n_list: 20, n_probe: 20 } });
      expect(entry?.value).to.include({ name: 'kept', dimension: DIMENSION });
    }
    await Promise.all(own.processNames.map((process) => own.process(process).stop()));
    await Promise.all(own.processNames.map((process) => own.run(process)));
    await own.until(async () => (await rw.get('/v1/namespaces')).status === 200);
    await own.until(async () => (await kept.state()).desired_type === 'ivf');
    await kept.expectFound(ROWS, ids, SPREAD);
    await kept.settled('ivf');
    await kept.expectFound(ROWS, ids, SPREAD);
    expect(await dropped.state()).to.include({ desired_type: 'none', active_type: 'none', status: 'none' });
    expect((await kept.listed()).index).to.equal('ivf');
    expect((await dropped.listed()).index).to.equal('brute');
  });
});
