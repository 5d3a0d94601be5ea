/** Exact search over HTTP, of one collection and of several. */
import { expect } from 'chai';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { seededRandom, testSeed } from '../support/model/random.js';

/** Also requested through the package. */
const ROUTES = ['POST /v1/search'] as const;
const MULTI_ROUTES = ['POST /v1/search/multi'] as const;

/** Q16.16 in the simplest way: exact halves round to even. */
function fixed(value: number): bigint {
  const scaled = value * 65_536;
  const floor = Math.floor(scaled);
  const rest = scaled - floor;
  if (rest !== 0.5) return BigInt(Math.round(scaled));
  return BigInt(floor % 2 === 0 ? floor : floor + 1);
}

function distance(a: readonly number[], b: readonly number[]): bigint {
  return a.reduce((sum, value, i) => sum + (fixed(value) - fixed(b[i] as number)) ** 2n, 0n);
}

/** hi + lo / 2^32 with both parts exact, rounded once. */
const score = (total: bigint): number => Number(total >> 32n) + Number(total & 0xffffffffn) / 2 ** 32;

inBothModesAndThroughClient('search', ROUTES, (service) => {
  it('returns the exact nearest records, nearest first, ties by smaller id, with exact scores', async () => {
    const { rw } = await service.newProject();
    const random = seededRandom(testSeed());
    const dimension = 17;
    await rw.post('/v1/namespaces', { name: 'c', dimension, metric: 'squared_l2' });
    const vectors = Array.from({ length: 300 }, () =>
      Array.from({ length: dimension }, () => Math.round(random.next() * 4) / 2 - 1),
    );
    await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: vectors });
    for (const k of [1, 7, 300, 5_000]) {
      const query = Array.from({ length: dimension }, () => random.next() * 2 - 1);
      const wanted = vectors
        .map((vector, i) => ({ id: i + 1, total: distance(query, vector) }))
        .sort((a, b) => (a.total < b.total ? -1 : a.total > b.total ? 1 : a.id - b.id))
        .slice(0, k)
        .map(({ id, total }) => ({ id, score: score(total) }));
      const found = await rw.post('/v1/search', { collection: 'c', query, k });
      expect(found.status).to.equal(200);
      expect(found.body.results).to.deep.equal(wanted);
    }
  });

  it('is exact over the whole range of values', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 5, metric: 'squared_l2' });
    const low = new Array(5).fill(-32_768);
    const high = new Array(5).fill(32_767.99998);
    await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: [low, high, [0, 0, 0, 0, 0.000_01]] });
    const found = await rw.post('/v1/search', { collection: 'c', query: low, k: 3 });
    expect(found.body.results.map((one: { id: number }) => one.id)).to.deep.equal([1, 3, 2]);
    expect(found.body.results[0].score).to.equal(0);
    expect(found.body.results[2].score).to.equal(score(distance(low, high)));
  });

  it('finds fewer than k of too few records, and nothing in an empty collection', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    expect((await rw.post('/v1/search', { collection: 'c', query: [0, 0], k: 10 })).body).to.deep.equal({
      results: [],
    });
    await rw.post('/v1/records', { collection: 'c', values: [1, 1] });
    expect((await rw.post('/v1/search', { collection: 'c', query: [0, 0], k: 10 })).body.results).to.deep.equal([
      { id: 1, score: 2 },
    ]);
  });

  it('finds every answered insert at once, and never a deleted record', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    for (let i = 1; i <= 20; i++) {
      const { body } = await rw.post('/v1/records', { collection: 'c', values: [i] });
      const found = await rw.post('/v1/search', { collection: 'c', query: [i], k: 1 });
      expect(found.body.results[0]).to.deep.equal({ id: body.id, score: 0 });
    }
    await rw.post('/v1/soft-delete', { collection: 'c', id: 7 });
    await rw.post('/v1/delete', { collection: 'c', id: 8 });
    const found = await rw.post('/v1/search', { collection: 'c', query: [7], k: 20 });
    const ids = found.body.results.map((one: { id: number }) => one.id);
    expect(ids).to.have.length(18).and.not.include(7).and.not.include(8);
  });

  it('ignores rerank without query_text, decay 0 and null options', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: [[3], [1], [2]] }); // prettier-ignore
    const plain = [
      { id: 2, score: 1 },
      { id: 3, score: 4 },
    ];
    for (const options of [
      {},
      { rerank: true },
      { rerank: false, query_text: 'ignored' },
      { decay_half_life_secs: 0 },
      { metadata_filter: null, graph_rerank: null, as_of: null, query_text: null },
    ]) {
      const found = await rw.post('/v1/search', { collection: 'c', query: [0], k: 2, ...options });
      expect(found.body.results).to.deep.equal(plain);
    }
  });

  const refusals: [string, object, string][] = [
    ['k 0', { k: 0 }, 'validation_error'],
    ['k 5001', { k: 5001 }, 'validation_error'],
    ['a fractional k', { k: 1.5 }, 'validation_error'],
    ['no k', { k: undefined }, 'validation_error'],
    ['no query', { query: undefined }, 'validation_error'],
    ['a query of another dimension', { query: [1] }, 'dimension_mismatch'],
    ['an empty query', { query: [] }, 'dimension_mismatch'],
    ['a string in the query', { query: [1, 'x'] }, 'validation_error'],
    ['null in the query', { query: [1, null] }, 'validation_error'],
    ['a value beyond Q16.16', { query: [1, 32_768] }, 'validation_error'],
    ['a value below Q16.16', { query: [1, -32_768.1] }, 'validation_error'],
    ['negative decay', { decay_half_life_secs: -1 }, 'validation_error'],
    ['a filter that is not an object', { metadata_filter: 3 }, 'validation_error'],
  ];
  for (const [title, change, code] of refusals)
    it(`refuses ${title}`, async () => {
      const { rw } = await service.newProject();
      await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
      const answer = await rw.post('/v1/search', { collection: 'c', query: [1, 2], k: 1, ...change });
      expect(answer.status).to.equal(400);
      expect(answer.body.code).to.equal(code);
    });

  it('names the path of a bad value, even of Infinity', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 4, metric: 'squared_l2' });
    const answer = await rw.raw('POST', '/v1/search', '{"collection":"c","k":1,"query":[1,2,3,1e999]}');
    expect(answer.status).to.equal(400);
    expect(answer.body.error).to.include('$.query[3]');
  });

  it('answers 404 for an unknown collection', async () => {
    const { rw } = await service.newProject();
    const answer = await rw.post('/v1/search', { collection: 'nope', query: [1, 2], k: 1 });
    expect(answer.status).to.equal(404);
    expect(answer.body.code).to.equal('collection_not_found');
  });
});

inBothModesAndThroughClient('multi-collection search', MULTI_ROUTES, (service) => {
  it('merges the hits of all collections, nearest first, ties by collection and id', async () => {
    const { rw } = await service.newProject();
    for (const [name, batch] of [
      ['b', [[1], [3], [9]]],
      ['a', [[1], [2]]],
      ['c', [[0.5]]],
    ] as const) {
      await rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
      await rw.post('/v1/vectors/batch-insert', { collection: name, batch });
    }
    const found = await rw.post('/v1/search/multi', { query: [0], k: 5, collections: ['b', 'a', 'c', 'a'] });
    expect(found.status).to.equal(200);
    expect(found.body.results).to.deep.equal([
      { collection: 'c', id: 1, score: 0.25 },
      { collection: 'a', id: 1, score: 1 },
      { collection: 'b', id: 1, score: 1 },
      { collection: 'a', id: 2, score: 4 },
      { collection: 'b', id: 2, score: 9 },
    ]);
    expect(found.body.collections_searched).to.have.members(['a', 'b', 'c']);
    expect(found.body).not.to.have.property('partial_failures');
  });

  it('checks names, dimensions and bounds before any search', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'two', dimension: 2, metric: 'squared_l2' });
    await rw.post('/v1/namespaces', { name: 'three', dimension: 3, metric: 'squared_l2' });
    const cases: [object, number, string][] = [
      [{ query: [1, 2], k: 1, collections: ['two', 'nope'] }, 404, 'collection_not_found'],
      [{ query: [1, 2], k: 1, collections: ['two', 'three'] }, 400, 'validation_error'],
      [{ query: [1], k: 1, collections: ['two'] }, 400, 'dimension_mismatch'],
      [{ query: [1, 2], k: 1, collections: [] }, 400, 'validation_error'],
      [{ query: [1, 2], k: 1, collections: Array.from({ length: 33 }, (_, i) => `c${i}`) }, 400, 'validation_error'],
      [{ query: [1, 2], k: 0, collections: ['two'] }, 400, 'validation_error'],
      [{ query: [1, 2], k: 5_001, collections: ['two'] }, 400, 'validation_error'],
    ];
    for (const [body, status, code] of cases) {
      const answer = await rw.post('/v1/search/multi', body);
      expect(answer.status).to.equal(status);
      expect(answer.body.code).to.equal(code);
    }
  });
});
