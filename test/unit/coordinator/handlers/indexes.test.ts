// Covers: coordinator/handlers/collections.ts, coordinator/contract/collections.ts, shared/model/indexSpec.ts
/** The index endpoints over a fake backend: refusals, calls to shards, and answers. */
import { expect } from 'chai';
import type { IndexSpec } from '../../../../shared/model/indexSpec.js';
import type { Answer, Client } from '../../../support/launch/client.js';
import { TestEdge } from '../../../support/rigs/testEdge.js';

const code = ({ status, body }: Answer): unknown[] => [status, body.code];

describe('the index endpoints', () => {
  let edge: TestEdge;
  let rw: Client;
  before(async () => {
    edge = await TestEdge.start();
    rw = await edge.client();
  });
  after(() => edge.stop());
  beforeEach(async () => {
    await rw.delete('/v1/namespaces/a');
    await edge.backend.create('p', { name: 'a', dimension: 1, index: 'brute' });
  });

  const create = (index: unknown, client = rw) =>
    client.post('/v1/namespaces', { name: 'n', dimension: 1, metric: 'squared_l2', index });
  const configure = (type: unknown, parameters?: unknown, client = rw) =>
    client.post('/v1/namespaces/a/index', { type, parameters });
  const rebuild = (index: unknown, client = rw) => client.post('/v1/index/rebuild', { index });
  const asked = (): IndexSpec | undefined => {
    const call = edge.backend.calls.at(-1);
    return call?.op === 'configureIndex' ? call.spec : undefined;
  };

  it('answer an index of unknown kind with invalid_index in every request', async () => {
    for (const kind of ['lsh', '', 'HNSW', 'none', 7, true, {}, ['hnsw']])
      for (const answer of [await create(kind), await configure(kind), await rebuild(kind)])
        expect(code(answer), JSON.stringify(kind)).to.deep.equal([400, 'invalid_index']);
    for (const kind of ['brute', 'auto']) expect(code(await configure(kind))).to.deep.equal([400, 'invalid_index']);
    expect(code(await configure('auto', { m: 1 }))).to.deep.equal([400, 'invalid_index']);
  });

  it('answer a create or replace with 202 and the state, and send the named parameters to the shard', async () => {
    const parameters = {
      m: 2,
      ef_construction: 4_096,
      ef_search: null,
      n_list: 4,
      n_probe: 4,
      candidates: 65_536,
      x: {},
    };
    for (const type of ['hnsw', 'ivf', 'bq']) {
      const answer = await configure(type, parameters);
      expect(answer.status).to.equal(202);
      expect(answer.body).to.deep.equal({
        collection: 'a',
        active_type: 'none',
        status: 'building',
        desired_type: type,
        active_generation: null,
        building_generation: 1,
        build_started_at: 1_800_000_000,
        build_progress: 0.25,
        base_lsn: 3,
      });
      const inside = { m: 2, efConstruction: 4_096, nList: 4, nProbe: 4, candidates: 65_536 };
      expect(asked()).to.deep.equal({ kind: type, parameters: inside });
    }
    for (const none of [undefined, null, {}]) {
      await configure('hnsw', none);
      expect(asked()).to.deep.equal({ kind: 'hnsw', parameters: {} });
    }
  });

  it('answer a drop with 200, and ignore parameters beside it', async () => {
    for (const body of [{}, { type: null }, { parameters: { m: 8 } }]) {
      const answer = await rw.post('/v1/namespaces/a/index', body);
      expect(answer.status).to.equal(200);
      expect(answer.body).to.deep.equal({
        collection: 'a',
        active_type: 'none',
        status: 'none',
        desired_type: 'none',
        active_generation: null,
        building_generation: null,
      });
      expect(asked()).to.deep.equal({ kind: 'brute', parameters: {} });
    }
  });

  it('refuse a parameter out of range by name, with validation_error', async () => {
    const ranges = { m: [2, 128], ef_construction: [1, 4_096], ef_search: [1, 4_096], n_list: [1, 65_536] };
    const wrong = Object.entries({ ...ranges, n_probe: [1, 65_536], candidates: [1, 65_536] }).flatMap(
      ([name, [least, most]]) =>
        [least! - 1, most! + 1, least! + 0.5, 'x', true, [4]].map((value) => ({ [name]: value })),
    );
    for (const parameters of wrong) {
      const answer = await configure('hnsw', parameters);
      expect(code(answer), JSON.stringify(parameters)).to.deep.equal([400, 'validation_error']);
      expect(answer.body.error).to.include(`$.parameters.${Object.keys(parameters)[0]}`);
    }
    for (const [name, range] of Object.entries(ranges))
      for (const value of range) expect((await configure('hnsw', { [name]: value })).status).to.equal(202);
    expect(code(await configure('ivf', { n_list: 4, n_probe: 5 }))).to.deep.equal([400, 'validation_error']);
    for (const type of ['hnsw', 'bq', null]) {
      const { status } = await configure(type, { n_list: 4, n_probe: 5 });
      expect(status, `${type} has no lists`).to.equal(type === null ? 200 : 202);
      const kept = type === null ? {} : { nList: 4, nProbe: 5 };
      expect(asked()).to.deep.equal({ kind: type ?? 'brute', parameters: kept });
    }
    expect(code(await configure('ivf', 'fast'))).to.deep.equal([400, 'validation_error']);
  });

  it('report an invalid request before a missing collection, and that before a disabled feature', async () => {
    const off = await TestEdge.start({ ann: false });
    const client = await off.client();
    await off.backend.create('p', { name: 'a', dimension: 1, index: 'brute' });
    const elsewhere = (body: object) => client.post('/v1/namespaces/none/index', body);
    expect(code(await elsewhere({ type: 'lsh' }))).to.deep.equal([400, 'invalid_index']);
    expect(code(await elsewhere({ type: 'ivf', parameters: { n_list: 1, n_probe: 2 } }))).to.deep.equal([
      400,
      'validation_error',
    ]);
    expect(code(await elsewhere({ type: 'hnsw' }))).to.deep.equal([404, 'collection_not_found']);
    for (const type of ['hnsw', null])
      expect(code(await configure(type, {}, client))).to.deep.equal([501, 'not_implemented']);
    for (const kind of ['hnsw', 'ivf', 'bq', 'auto']) {
      expect(code(await create(kind, client))).to.deep.equal([501, 'not_implemented']);
      expect(code(await rebuild(kind, client))).to.deep.equal([501, 'not_implemented']);
    }
    expect(off.backend.calls).to.deep.equal([]);
    expect((await client.get('/v1/namespaces/a/index')).status).to.equal(200);
    expect((await rebuild(null, client)).status).to.equal(200);
    expect((await create('brute', client)).body.created).to.equal(true);
    await off.stop();
  });

  it('show each field of the state as the contract says, null or absent without a value', async () => {
    const state = async () => (await rw.get('/v1/namespaces/a/index')).body;
    edge.backend.setState('p', 'a', { activeKind: 'bq', status: 'active', desiredKind: 'auto', activeGeneration: 7 });
    expect(await state()).to.deep.equal({
      collection: 'a',
      active_type: 'bq',
      status: 'active',
      desired_type: 'auto',
      active_generation: 7,
      building_generation: null,
    });
    edge.backend.setState('p', 'a', {
      buildingGeneration: 8,
      segments: 3,
      buildStartedAtMs: 1_999,
      baseSequence: 0,
      error: 'no room',
    });
    expect(await state()).to.include({
      building_generation: 8,
      segments: 3,
      build_started_at: 1,
      base_lsn: 0,
      error: 'no room',
    });
    expect(code(await rw.get('/v1/namespaces/none/index'))).to.deep.equal([404, 'collection_not_found']);
  });

  it('create a collection with the requested index, and list it with the active one', async () => {
    for (const index of ['hnsw', 'ivf', 'bq', 'auto', 'brute', null, undefined]) {
      expect((await create(index)).body.created).to.equal(true);
      expect((await edge.backend.find('p', 'n')).index).to.equal(index ?? 'brute');
      expect((await create('hnsw')).body).to.include({ created: false });
      const listed = async () => (await rw.get('/v1/namespaces')).body.collections.at(-1);
      expect(await listed()).to.include({ name: 'n', index: 'brute' });
      edge.backend.setState('p', 'n', { activeKind: 'ivf' });
      expect(await listed()).to.include({ name: 'n', index: 'ivf' });
      await rw.delete('/v1/namespaces/n');
    }
  });
});
