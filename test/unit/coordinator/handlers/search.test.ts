import { expect } from 'chai';
import { VouchError } from '../../../../shared/errors/errors.js';
import type { Results, SearchCall } from '../../../../shared/protocol/calls.js';
import type { Client } from '../../../support/launch/client.js';
import { TestClock, TestEdge } from '../../../support/rigs/testEdge.js';

const floats = (...numbers: number[]): Uint8Array => new Uint8Array(Float64Array.from(numbers).buffer);
const ints = (...numbers: number[]): Uint8Array => new Uint8Array(Int32Array.from(numbers).buffer);

describe('the options of a search request', () => {
  const clock = new TestClock();
  let edge: TestEdge;
  let rw: Client;
  let answers: Record<string, Results['search']>;
  beforeEach(async () => {
    edge = await TestEdge.start({ limits: { textBytes: 100 } }, { clock });
    rw = await edge.client();
    answers = {};
    for (const name of ['a', 'b', 'c']) await edge.backend.create('p', { name, dimension: 1, index: 'brute' });
    edge.backend.answer = ({ name }, { op }) => (op === 'search' ? answers[name] : undefined);
  });
  afterEach(() => edge.stop());

  const search = (options: object) => rw.post('/v1/search', { collection: 'a', query: [1], k: 3, ...options });
  const multi = (options: object) =>
    rw.post('/v1/search/multi', { collections: ['a', 'b'], query: [1], k: 3, ...options });
  /** Options that reached the shard, without query and k. */
  const asked = async (options: object): Promise<Partial<SearchCall>> => {
    const { status, text } = await search(options);
    expect(status, text).to.equal(200);
    const { op, query, k, ...rest } = edge.backend.calls.at(-1) as SearchCall;
    expect([op, query!.length, k]).to.deep.equal(['search', 4, 3]);
    return rest;
  };

  it('are not sent to the shard if they are absent, null or off', async () => {
    const off = [
      {},
      { rerank: true },
      { rerank: false, query_text: 'words' },
      { rerank: null, query_text: '', hybrid: false },
      { decay_half_life_secs: 0 },
      {
        rerank: null,
        query_text: null,
        hybrid: null,
        decay_half_life_secs: null,
        metadata_filter: null,
        graph_rerank: null,
        as_of: null,
        as_of_log_index: null,
      },
    ];
    for (const options of off) expect(await asked(options)).to.deep.equal({});
  });

  it('rerank by text by default, and allow hybrid only with a text', async () => {
    expect(await asked({ query_text: 'words' })).to.deep.equal({ text: { query: 'words', hybrid: false } });
    expect(await asked({ query_text: 'words', rerank: true, hybrid: true })).to.deep.equal({
      text: { query: 'words', hybrid: true },
    });
    for (const without of [{}, { query_text: '' }, { query_text: null }, { query_text: 'words', rerank: false }]) {
      const { status, body } = await search({ hybrid: true, ...without });
      expect([status, body.code]).to.deep.equal([400, 'validation_error']);
      expect(body.error).to.match(/^\$\.hybrid needs a query_text/);
    }
    const { body } = await search({ query_text: 'é'.repeat(51) });
    expect(body.error).to.match(/^\$\.query_text takes 102 bytes/);
  });

  it('pass decay on with the time of the request', async () => {
    clock.advance(1_234);
    expect(await asked({ decay_half_life_secs: 60 })).to.deep.equal({
      decay: { halfLifeSecs: 60, nowMs: clock.nowMs() },
    });
    for (const decay_half_life_secs of [-1, 0.5, '60', 1e300])
      for (const answer of [await search({ decay_half_life_secs }), await multi({ decay_half_life_secs })]) {
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'validation_error']);
        expect(answer.body.error).to.include('$.decay_half_life_secs');
      }
  });

  it('limit the graph options to their bounds without an error', async () => {
    const graph = async (graph_rerank: object) => (await asked({ graph_rerank })).graph;
    const defaults = { weight: 0.15, seedCount: 1, maxDepth: 2, direction: 'outgoing' };
    expect(await graph({})).to.deep.equal(defaults);
    expect(await graph({ weight: null, seed_count: null, max_depth: null, direction: null })).to.deep.equal(defaults);
    expect(await graph({ weight: 0, seed_count: 10, max_depth: 4, direction: 'both' })).to.deep.equal({
      weight: 0,
      seedCount: 10,
      maxDepth: 4,
      direction: 'both',
    });
    expect(await graph({ weight: -1, seed_count: -5, max_depth: 0, direction: 'incoming' })).to.deep.equal({
      weight: 0,
      seedCount: 1,
      maxDepth: 1,
      direction: 'incoming',
    });
    expect(await graph({ weight: 7.5, seed_count: 1e300, max_depth: 99 })).to.deep.include({
      weight: 1,
      seedCount: 10,
      maxDepth: 4,
    });
    expect(await graph({ seed_count: 3.9, max_depth: 2.9 })).to.deep.include({ seedCount: 3, maxDepth: 2 });
    const wrong = [{ direction: 'up' }, { weight: 'heavy' }, { seed_count: true }, { max_depth: [] }, [], 5];
    for (const graph_rerank of wrong) {
      const { status, body } = await search({ graph_rerank });
      expect([status, body.code], JSON.stringify(graph_rerank)).to.deep.equal([400, 'validation_error']);
      expect(body.error).to.include('$.graph_rerank');
    }
  });

  it('pass a filter on in the form of shards, from both endpoints', async () => {
    const filter = { op: 'test', path: ['a', 'b'], test: { kind: 'gte', value: 2 } };
    const { filter: sent } = await asked({ metadata_filter: { 'a.b': { gte: 2 } } });
    expect(JSON.stringify(sent)).to.include(JSON.stringify(filter));
    await multi({ metadata_filter: { 'a.b': { gte: 2 } } });
    expect((edge.backend.calls.at(-1) as SearchCall).filter).to.deep.equal(sent);
    expect(await asked({ metadata_filter: {} })).to.have.property('filter');
  });

  it('with a wrong filter are refused before any search', async () => {
    for (const metadata_filter of [{ a: { between: 1 } }, { a: { in: 5 } }, { a: { gt: true } }, { $or: 1 }, 7, []])
      for (const answer of [await search({ metadata_filter }), await multi({ metadata_filter })]) {
        expect([answer.status, answer.body.code]).to.deep.equal([400, 'validation_error']);
        expect(answer.body.error).to.include('$.metadata_filter');
      }
    expect(edge.backend.calls).to.deep.equal([]);
  });

  it('add their own fields to each hit, and no others', async () => {
    const hits = { ids: floats(7, 2), scores: floats(0.25, 4e-9) };
    const aged = { factors: floats(1, 2 ** -900), agesSecs: floats(0, 90_000) };
    answers.a = hits;
    expect((await search({})).body.results).to.deep.equal([
      { id: 7, score: 0.25 },
      { id: 2, score: 4e-9 },
    ]);
    answers.a = { ...hits, ...aged };
    expect((await search({ decay_half_life_secs: 1 })).body.results).to.deep.equal([
      { id: 7, score: 0.25, decay_factor: 1, age_secs: 0 },
      { id: 2, score: 4e-9, decay_factor: 2 ** -900, age_secs: 90_000 },
    ]);
    answers.a = { ...hits, ...aged, hops: ints(0, -1) };
    expect((await search({ decay_half_life_secs: 1, graph_rerank: {} })).body.results).to.deep.equal([
      { id: 7, score: 0.25, decay_factor: 1, age_secs: 0, graph_distance: 0 },
      { id: 2, score: 4e-9, decay_factor: 2 ** -900, age_secs: 90_000, graph_distance: null },
    ]);
  });

  it('reach each collection of a multi search with one time, and order its merge by decayed distance', async () => {
    edge.backend.beforeCall = () => clock.advance(10);
    const nowMs = clock.nowMs();
    answers.a = { ids: floats(1, 2), scores: floats(1, 8), factors: floats(0.25, 1), agesSecs: floats(20, 0) };
    answers.b = { ids: floats(5, 6), scores: floats(3, 4), factors: floats(1, 1), agesSecs: floats(0, 1) };
    const { body } = await multi({ decay_half_life_secs: 10, metadata_filter: { x: 1 } });
    expect(body.results).to.deep.equal([
      { collection: 'b', id: 5, score: 3, decay_factor: 1, age_secs: 0 },
      { collection: 'a', id: 1, score: 1, decay_factor: 0.25, age_secs: 20 },
      { collection: 'b', id: 6, score: 4, decay_factor: 1, age_secs: 1 },
    ]);
    const calls = edge.backend.calls as SearchCall[];
    expect(calls.map(({ decay }) => decay)).to.deep.equal([
      { halfLifeSecs: 10, nowMs },
      { halfLifeSecs: 10, nowMs },
    ]);
    expect(calls[1]!.filter).to.deep.equal(calls[0]!.filter).and.not.equal(undefined);
  });

  it('allow a multi search with decay to merge the remaining answers if a collection fails', async () => {
    answers.b = { ids: floats(5), scores: floats(3), factors: floats(0.5), agesSecs: floats(10) };
    edge.backend.beforeCall = ({ name }) => {
      if (name === 'a') throw new VouchError('unavailable', 'its shard is gone');
    };
    const { body } = await multi({ decay_half_life_secs: 10 });
    expect(body).to.deep.equal({
      results: [{ collection: 'b', id: 5, score: 3, decay_factor: 0.5, age_secs: 10 }],
      collections_searched: ['b'],
      partial_failures: [{ collection: 'a', code: 'unavailable', error: 'its shard is gone' }],
    });
    expect(edge.backend.calls.at(-1)).to.have.all.keys('op', 'query', 'k', 'decay');
  });
});
