/** Collections over HTTP: created, listed, rebuilt and deleted. */
import { expect } from 'chai';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';

inBothModesAndThroughClient('collections', ['GET /v1/namespaces/{name}'], (service) => {
  it('a new project has no collections, not even a default one', async () => {
    const { rw } = await service.newProject();
    expect(await rw.get('/v1/namespaces'))
      .to.include({ status: 200 })
      .and.have.deep.property('body', { collections: [] });
    const search = await rw.post('/v1/search', { query: [1], k: 1 });
    expect(search.status).to.equal(404);
    expect(search.body.code).to.equal('collection_not_found');
  });

  it('create answers created true, then false for the identical config, with one id', async () => {
    const { rw } = await service.newProject();
    const config = { name: 'words', dimension: 3, metric: 'squared_l2' };
    const first = await rw.post('/v1/namespaces', config);
    expect(first.status).to.equal(200);
    expect(first.body).to.include({ name: 'words', created: true });
    expect(first.body.id).to.be.a('number').above(0);
    const second = await rw.post('/v1/namespaces', { ...config, index: 'brute' });
    expect(second).to.have.property('status', 200);
    expect(second.body).to.deep.equal({ name: 'words', id: first.body.id, created: false });
  });

  it('list reports every field of a collection', async () => {
    const { rw } = await service.newProject();
    const { body } = await rw.post('/v1/namespaces', { name: 'b', dimension: 2, metric: 'squared_l2' });
    await rw.post('/v1/namespaces', { name: 'a', dimension: 4, metric: 'squared_l2', index: 'brute' });
    await rw.post('/v1/vectors/batch-insert', {
      collection: 'b',
      batch: [
        [1, 2],
        [3, 4],
      ],
    }); // prettier-ignore
    const list = await rw.get('/v1/namespaces');
    expect(list.body.collections.map((one: { name: string }) => one.name)).to.deep.equal(['a', 'b']);
    for (const one of list.body.collections) {
      const read = await rw.get(`/v1/namespaces/${one.name}`);
      expect([read.status, read.body], read.text).to.deep.equal([200, one]);
    }
    expect(list.body.collections[1]).to.deep.equal({
      name: 'b',
      id: body.id,
      dimension: 2,
      metric: 'squared_l2',
      index: 'brute',
      record_count: 2,
      max_records: 1_000_000,
    });
  });

  it('reading a collection that does not exist, or is of another project, is 404 collection_not_found', async () => {
    const { rw, ro } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'own', dimension: 2, metric: 'squared_l2' });
    expect((await ro.get('/v1/namespaces/own')).body).to.include({ name: 'own', record_count: 0 });
    const other = await service.newProject();
    for (const answer of [
      await rw.get('/v1/namespaces/none'),
      await other.rw.get('/v1/namespaces/own'),
      await rw.get(`/v1/namespaces/${encodeURIComponent('no name')}`),
    ])
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([404, 'collection_not_found']);
    await rw.delete('/v1/namespaces/own');
    expect((await rw.get('/v1/namespaces/own')).status).to.equal(404);
  });

  it('another dimension under a used name is 409 conflict and changes nothing', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'words', dimension: 3, metric: 'squared_l2' });
    const other = await rw.post('/v1/namespaces', { name: 'words', dimension: 4, metric: 'squared_l2' });
    expect(other.status).to.equal(409);
    expect(other.body.code).to.equal('conflict');
    expect((await rw.get('/v1/namespaces')).body.collections[0].dimension).to.equal(3);
  });

  const refusals: [string, object, number, string][] = [
    ['no name', { dimension: 3, metric: 'squared_l2' }, 400, 'validation_error'],
    ['no dimension, even for default', { name: 'default', metric: 'squared_l2' }, 400, 'validation_error'],
    ['no metric', { name: 'a', dimension: 3 }, 400, 'validation_error'],
    ['another metric', { name: 'a', dimension: 3, metric: 'cosine' }, 400, 'validation_error'],
    ['dimension 0', { name: 'a', dimension: 0, metric: 'squared_l2' }, 400, 'validation_error'],
    ['dimension 32769', { name: 'a', dimension: 32_769, metric: 'squared_l2' }, 400, 'validation_error'],
    ['a fractional dimension', { name: 'a', dimension: 1.5, metric: 'squared_l2' }, 400, 'validation_error'],
    ['an empty name', { name: '', dimension: 3, metric: 'squared_l2' }, 400, 'validation_error'],
    ['a name of 65', { name: 'x'.repeat(65), dimension: 3, metric: 'squared_l2' }, 400, 'validation_error'],
    ['a name with a dot', { name: 'a.b', dimension: 3, metric: 'squared_l2' }, 400, 'validation_error'],
    ['a name with a slash', { name: '../x', dimension: 3, metric: 'squared_l2' }, 400, 'validation_error'],
    ['an unknown index', { name: 'a', dimension: 3, metric: 'squared_l2', index: 'lsh' }, 400, 'invalid_index'],
    ['a body that is no object', [1], 400, 'validation_error'],
  ];
  for (const [title, body, status, code] of refusals)
    it(`create refuses ${title}`, async () => {
      const { rw } = await service.newProject();
      const answer = await rw.post('/v1/namespaces', body);
      expect(answer.status).to.equal(status);
      expect(answer.body.code).to.equal(code);
      expect(answer.body.error).to.be.a('string').and.not.equal('');
      expect((await rw.get('/v1/namespaces')).body.collections).to.deep.equal([]);
    });

  it('create says what to do for the order of another metric', async () => {
    const { rw } = await service.newProject();
    const cosine = 'for cosine send "normalise": true beside it, and each hit has its cosine as similarity';
    const dot =
      'its order is that of dot products where vectors have length 1; send "normalise": true beside it where they have other lengths';
    const euclidean = 'its order is that of Euclidean distance, of which a score is the square';
    for (const [metric, advice] of [
      ['cosine', cosine],
      ['hamming', cosine],
      ['dot', dot],
      ['ip', dot],
      ['Inner_Product', dot],
      ['euclidean', euclidean],
      ['l2', euclidean],
    ] as const) {
      const { status, body } = await rw.post('/v1/namespaces', { name: 'a', dimension: 3, metric });
      expect([status, body.code]).to.deep.equal([400, 'validation_error']);
      expect(body.error).to.equal(
        `$.metric: expected "squared_l2", got "${metric}": no other metric exists; ${advice}`,
      );
    }
  });

  it('create says how a language is sent', async () => {
    const { rw } = await service.newProject();
    const wanted = { name: 'a', dimension: 3, metric: 'squared_l2', text: 'english' };
    expect((await rw.post('/v1/namespaces', wanted)).body.error).to.equal(
      '$.text: expected an object or null, got "english"; for a language send {"language": "english"}',
    );
  });

  it('a collection may have the largest dimension and a name of every allowed character', async () => {
    const { rw } = await service.newProject();
    const name = `A-z_0${'9'.repeat(59)}`;
    expect((await rw.post('/v1/namespaces', { name, dimension: 32_768, metric: 'squared_l2' })).status).to.equal(200);
    const vector = Array.from({ length: 32_768 }, (_, i) => i % 7);
    expect((await rw.post('/v1/records', { collection: name, values: vector })).status).to.equal(200);
    const found = await rw.post('/v1/search', { collection: name, query: vector, k: 1 });
    expect(found.body.results).to.deep.equal([{ id: 1, score: 0 }]);
  });

  it('delete answers 204 without a body, and frees the name for another configuration', async () => {
    const { rw } = await service.newProject();
    const before = await rw.post('/v1/namespaces', { name: 'words', dimension: 3, metric: 'squared_l2' });
    await rw.post('/v1/records', { collection: 'words', values: [1, 2, 3] });
    const gone = await rw.delete('/v1/namespaces/words');
    expect(gone.status).to.equal(204);
    expect(gone.text).to.equal('');
    expect((await rw.post('/v1/search', { collection: 'words', query: [1, 2, 3], k: 1 })).body.code).to.equal(
      'collection_not_found',
    );
    expect((await rw.delete('/v1/namespaces/words')).body.code).to.equal('collection_not_found');
    const after = await rw.post('/v1/namespaces', { name: 'words', dimension: 2, metric: 'squared_l2' });
    expect(after.body.created).to.equal(true);
    expect(after.body.id).to.be.above(before.body.id);
    expect((await rw.post('/v1/search', { collection: 'words', query: [1, 2], k: 1 })).body.results).to.deep.equal([]);
  });

  it("projects do not see each other's collections through any endpoint", async () => {
    const one = await service.newProject();
    const two = await service.newProject();
    await one.rw.post('/v1/namespaces', { name: 'secret', dimension: 2, metric: 'squared_l2' });
    await one.rw.post('/v1/records', { collection: 'secret', values: [1, 2] });
    expect((await two.rw.get('/v1/namespaces')).body.collections).to.deep.equal([]);
    expect((await two.rw.get('/v1/usage')).body).to.include({ records: 0, collections: 0 });
    const attempts = await Promise.all([
      two.rw.post('/v1/search', { collection: 'secret', query: [1, 2], k: 1 }),
      two.rw.post('/v1/search/multi', { collections: ['secret'], query: [1, 2], k: 1 }),
      two.rw.post('/v1/records', { collection: 'secret', values: [1, 2] }),
      two.rw.post('/v1/vectors/batch-insert', { collection: 'secret', batch: [[1, 2]] }),
      two.rw.post('/v1/soft-delete', { collection: 'secret', id: 1 }),
      two.rw.post('/v1/delete', { collection: 'secret', id: 1 }),
      two.rw.get('/v1/records/1?collection=secret'),
      two.rw.patch('/v1/records/1/metadata?collection=secret', {}),
      two.rw.get('/v1/namespaces/secret/index'),
      two.rw.post('/v1/namespaces/secret/index', {}),
      two.rw.delete('/v1/namespaces/secret'),
    ]);
    for (const attempt of attempts) expect(attempt.body.code).to.equal('collection_not_found');
    expect((await one.rw.get('/v1/namespaces')).body.collections[0].record_count).to.equal(1);
  });

  it("a collection without an index reports none, drops none, and names the node's configuration", async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'words', dimension: 3, metric: 'squared_l2' });
    const none = {
      collection: 'words',
      active_type: 'none',
      status: 'none',
      desired_type: 'none',
      active_generation: null,
      building_generation: null,
    };
    expect((await rw.get('/v1/namespaces/words/index')).body).to.deep.equal(none);
    for (const body of [{ type: null }, {}, { type: null, parameters: { m: 8, unknown: 1 } }]) {
      const dropped = await rw.post('/v1/namespaces/words/index', body);
      expect(dropped.status).to.equal(200);
      expect(dropped.body).to.deep.equal(none);
    }
    for (const type of ['brute', 'auto', 'lsh', 7])
      expect((await rw.post('/v1/namespaces/words/index', { type })).body.code).to.equal('invalid_index');
    expect((await rw.get('/v1/namespaces/none/index')).body.code).to.equal('collection_not_found');
    expect((await rw.get('/v1/index/config')).body).to.deep.equal({ index_type: 'collection_scoped' });
  });

  it('rebuild counts the records of the whole project', async () => {
    const { rw } = await service.newProject();
    for (const name of ['a', 'b']) {
      await rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
      await rw.post('/v1/vectors/batch-insert', { collection: name, batch: [[1], [2]] }); // prettier-ignore
    }
    expect((await rw.post('/v1/index/rebuild', {})).body).to.deep.equal({ ok: true, effective: 'rebuilt', records: 4 });
    for (const index of ['brute', 'bruteforce'])
      expect((await rw.post('/v1/index/rebuild', { index })).body).to.deep.equal({
        ok: true,
        effective: index,
        records: 4,
      });
    expect((await rw.post('/v1/index/rebuild', { index: 'lsh' })).body.code).to.equal('invalid_index');
  });
});
