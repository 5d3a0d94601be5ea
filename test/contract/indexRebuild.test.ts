/** Rebuilding a project's indexes over HTTP: the effect on the indexes, and on concurrent writes and searches. */
import { expect } from 'chai';
import { IndexedByHttp, rowsOf, SLOW } from '../support/launch/indexClient.js';
import { inBothModes } from '../support/launch/modes.js';

/** Rows whose rebuild takes long enough to observe, and well within the deadline of waiting writes. */
const MANY = 1_500;
const ROWS = rowsOf(1, MANY);
const FEW = ROWS.slice(0, 50);
const IDS = ROWS.map((_, i) => i + 1);

inBothModes('rebuild', (service) => {
  const project = async (): Promise<{ a: IndexedByHttp; b: IndexedByHttp }> => {
    const { rw } = await service.newProject();
    return { a: new IndexedByHttp(service, rw, 'a'), b: new IndexedByHttp(service, rw, 'b') };
  };
  const rebuild = (collection: IndexedByHttp, body: object = {}) => collection.client.post('/v1/index/rebuild', body);

  it('finishes at once in a project without collections', async () => {
    const { rw } = await service.newProject();
    const answer = await rw.post('/v1/index/rebuild', {});
    expect([answer.status, answer.body]).to.deep.equal([200, { ok: true, effective: 'rebuilt', records: 0 }]);
  });

  it('without a kind rebuilds every collection’s index with its own kind', async () => {
    const { a, b } = await project();
    await a.create('hnsw');
    await b.create();
    await a.fill(ROWS.slice(0, 1_000));
    await b.fill(FEW);
    await a.remove(1, '/v1/soft-delete');
    const before = await a.settled('hnsw');
    for (const body of [{}, { index: null }]) {
      const answer = await rebuild(a, body);
      expect([answer.status, answer.body]).to.deep.equal([200, { ok: true, effective: 'rebuilt', records: 1_049 }]);
    }
    const after = await a.state();
    expect(after).to.include({
      active_type: 'hnsw',
      status: 'active',
      desired_type: 'hnsw',
      building_generation: null,
    });
    expect(after.active_generation).to.be.above(before.active_generation);
    expect(await b.state()).to.include({ active_type: 'none', status: 'none', desired_type: 'none' });
    expect((await a.search(ROWS[0]!)).map(({ id }) => id)).not.to.include(1);
    await b.expectFound(FEW, IDS, [0, 49]);
  });

  it('searches every list if a rebuild as IVF requests more probes than lists', async () => {
    const { a } = await project();
    await a.create();
    await a.fill(FEW);
    const configured = await a.configure({ type: 'hnsw', parameters: { n_list: 4, n_probe: 5 } });
    expect(configured.status, configured.text).to.equal(202);
    await a.settled('hnsw');
    expect((await rebuild(a, { index: 'ivf' })).status).to.equal(200);
    await a.expectFound(FEW, IDS, [0, 7, 49]);
  });

  it('finishes once the requested kind serves everywhere, and the kind stays', async () => {
    const { a, b } = await project();
    await a.create('hnsw');
    await b.create();
    await a.fill(ROWS.slice(0, 1_000));
    await b.fill(FEW);
    const kinds = [
      ['ivf', 'ivf', 'ivf'],
      ['bq', 'bq', 'bq'],
      ['brute', 'none', 'none'],
      ['hnsw', 'hnsw', 'hnsw'],
      ['auto', 'none', 'auto'],
      ['bq', 'bq', 'bq'],
      ['mstg', 'none', 'auto'],
      ['ivf', 'ivf', 'ivf'],
      ['bruteforce', 'none', 'none'],
    ] as const;
    for (const [index, active, desired] of kinds) {
      const answer = await rebuild(a, { index });
      expect([answer.status, answer.body]).to.deep.equal([200, { ok: true, effective: index, records: 1_050 }]);
      for (const one of [a, b]) {
        expect(await one.state(), index).to.include({ active_type: active, desired_type: desired });
        expect((await one.listed()).index).to.equal(active === 'none' ? 'brute' : active);
      }
      await a.expectFound(ROWS.slice(0, 1_000), IDS, [0, 700, 999]);
      await b.expectFound(FEW, IDS, [0, 49]);
    }
    for (const index of ['lsh', '', 5, {}]) {
      const { status, body } = await rebuild(a, { index });
      expect([status, body.code]).to.deep.equal([400, 'invalid_index']);
    }
  });

  it('delays writes and loses none, while searches and other projects continue and a second rebuild conflicts', async () => {
    const { a, b } = await project();
    const other = await project();
    await a.create('brute');
    await b.create();
    await other.a.create();
    await a.fill(ROWS);
    await b.fill(FEW);
    await a.configure({ type: 'hnsw', parameters: SLOW });
    const before = await a.settled('hnsw');
    let isDone = false;
    const rebuilt = rebuild(a).finally(() => {
      isDone = true;
    });
    await service.until(async () => (await a.state()).status === 'building');
    const fresh = rowsOf(2, 5);
    const written = Promise.all([
      ...fresh.map(async (row) => {
        const answer = await a.insert(row);
        expect(answer.status, answer.text).to.equal(200);
        expect((await a.state()).active_generation, 'after the rebuild').to.be.above(before.active_generation);
        return answer;
      }),
      a.remove(1),
      b.remove(1),
      b.insert(fresh[0]!),
      a.client.patch('/v1/records/2/metadata?collection=a', { x: 1 }),
    ]);
    await a.expectFound(ROWS, IDS, [5, 99]);
    await b.expectFound(FEW, IDS, [0]);
    expect((await other.a.insert(FEW[0]!)).status).to.equal(200);
    const second = await rebuild(a);
    expect([second.status, second.body.code], second.text).to.deep.equal([409, 'conflict']);
    expect(isDone, 'the rebuild is still running').to.equal(false);

    expect((await rebuilt).body).to.deep.equal({ ok: true, effective: 'rebuilt', records: MANY + FEW.length });
    for (const { status, text } of await written) expect(status, text).to.equal(200);
    for (const row of fresh) expect((await a.search(row))[0]).to.include({ score: 0 });
    expect((await a.search(ROWS[0]!)).map(({ id }) => id)).not.to.include(1);
    expect((await a.listed()).record_count).to.equal(MANY + fresh.length - 1);
    expect((await b.listed()).record_count).to.equal(FEW.length);
    expect((await rebuild(b)).status, 'the hold on the project has ended').to.equal(200);
  });
});
