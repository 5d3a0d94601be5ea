/** Options of a search over several collections, over HTTP. */
import { expect } from 'chai';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { type Hit, SearchedByHttp } from '../support/launch/searchClient.js';
import { answered, begin, exported, fill } from '../support/rigs/backups.js';

/** Also requested through the package. */
const ROUTES = ['POST /v1/search/multi'] as const;

type MultiHit = Hit & { readonly collection: string };

inBothModesAndThroughClient('options of a multi-collection search', ROUTES, (service) => {
  const NAMES = ['b', 'a', 'c'];
  const make = async (client: Client): Promise<SearchedByHttp[]> =>
    Promise.all(NAMES.map((name) => SearchedByHttp.create(client, name)));
  const search = async (client: Client, options: object): Promise<MultiHit[]> => {
    const { status, text, body } = await client.post('/v1/search/multi', {
      collections: NAMES,
      query: [0],
      k: 10,
      ...options,
    });
    expect(status, text).to.equal(200);
    expect(body).to.have.all.keys('results', 'collections_searched');
    expect(body.collections_searched).to.have.members(NAMES);
    return body.results;
  };
  const places = (hits: readonly MultiHit[]): string[] => hits.map(({ collection, id }) => `${collection}${id}`);

  it('filter each collection by itself, so that none is starved', async () => {
    const { rw } = await service.newProject();
    const collections = await make(rw);
    const count = 500;
    for (const [i, collection] of collections.entries())
      await collection.fill({
        batch: Array.from({ length: count }, (_, row) => [row + 1]),
        metadata: Array.from({ length: count }, (_, row) => ({ hit: row % 100 === 99, from: i })),
      });
    const hits = await search(rw, { k: 7, metadata_filter: { hit: true } });
    expect(places(hits)).to.deep.equal(['a100', 'b100', 'c100', 'a200', 'b200', 'c200', 'a300']);
    expect(hits[3]).to.deep.equal({ collection: 'a', id: 200, score: 40_000 });
    const ones = await search(rw, { k: 2, metadata_filter: { from: { in: [1, 2] }, hit: { ne: false } } });
    expect(places(ones)).to.deep.equal(['a100', 'c100']);
    await collections[0]!.patch(3, { hit: true });
    await collections[1]!.remove(100);
    expect(places(await search(rw, { k: 3, metadata_filter: { hit: true } }))).to.deep.equal(['b3', 'b100', 'c100']);
    expect(await search(rw, { metadata_filter: { hit: 'no' } })).to.deep.equal([]);
  });

  it('merge by decayed distance, while scores stay true distances', async () => {
    const { rw } = await service.newProject();
    const [b, a, c] = (await make(rw)) as [SearchedByHttp, SearchedByHttp, SearchedByHttp];
    await b.fill({ batch: [[2], [6]] });
    await a.insert([0]);
    await service.until(async () => {
      const [, old] = await search(rw, { decay_half_life_secs: 1 });
      return old!.age_secs! >= 3;
    });
    await a.fill({ batch: [[4], [5]] });
    await c.insert([3]);
    const hits = await search(rw, { decay_half_life_secs: 1 });
    // Three half-lives turn 4 into 32, and 36 into 288; 0 stays 0.
    expect(hits[0]).to.include({ collection: 'a', id: 1, score: 0 });
    expect(hits.map(({ collection, score }) => [collection, score])).to.deep.equal([
      ['a', 0],
      ['c', 9],
      ['a', 16],
      ['a', 25],
      ['b', 4],
      ['b', 36],
    ]);
    for (const hit of hits) {
      expect(hit).to.have.all.keys('collection', 'id', 'score', 'decay_factor', 'age_secs');
      expect(hit.decay_factor).to.equal(2 ** -hit.age_secs!);
    }
    const distances = hits.map(({ score, decay_factor }) => score / decay_factor!);
    expect(distances).to.deep.equal([...distances].sort((one, other) => one - other));
    expect(places(await search(rw, { k: 2 }))).to.deep.equal(['a1', 'b1']);
    expect(places(await search(rw, { decay_half_life_secs: 1, k: 2 }))).to.deep.equal(['a1', 'c1']);
    expect((await search(rw, { decay_half_life_secs: 0 }))[0]).to.have.all.keys('collection', 'id', 'score');
  });

  it('allow decay and a filter together', async () => {
    const { rw } = await service.newProject();
    const [b, a] = (await make(rw)) as [SearchedByHttp, SearchedByHttp];
    await b.fill({ batch: [[1], [2], [3]], metadata: [{ x: 1 }, { x: 2 }, { x: 1 }] });
    await a.fill({ batch: [[1], [2]], metadata: [null, { x: 1 }] });
    const hits = await search(rw, { decay_half_life_secs: 1_000_000, metadata_filter: { x: 1 } });
    expect(places(hits)).to.deep.equal(['b1', 'a2', 'b3']);
    for (const hit of hits) expect(hit).to.include.keys('decay_factor', 'age_secs');
  });

  it('refuse texts, graphs and groups, which do not span collections', async () => {
    const { rw } = await service.newProject();
    await make(rw);
    const asked = { query: [0], k: 3, collections: ['b', 'a'] };
    for (const field of ['query_text', 'rerank', 'hybrid', 'graph_rerank', 'group_by', 'group_size', 'as_of']) {
      const { status, body } = await rw.post('/v1/search/multi', { ...asked, [field]: null });
      expect([status, body.code], field).to.deep.equal([400, 'validation_error']);
      expect(body.error).to.include(`$.${field} is unknown here`);
    }
  });

  it('skip a collection that is being imported, and report it', async () => {
    const { rw } = await service.newProject();
    await fill(rw, 'a');
    answered(await begin(rw, await exported(rw, 'a'), 'b'));
    await rw.post('/v1/namespaces', { name: 'narrow', dimension: 2, metric: 'squared_l2' });
    const search = (collections: string[], query = [1, 2, 3]): Promise<Answer> =>
      rw.post('/v1/search/multi', { collections, query, k: 3 });
    const alone = answered(await search(['a']));
    const { partial_failures, ...rest } = answered(await search(['b', 'a']));
    expect(rest).to.deep.equal(alone);
    expect(partial_failures).to.have.length(1);
    expect(partial_failures[0]).to.include({ collection: 'b', code: 'conflict' });
    expect(partial_failures[0].error).to.include('is being imported');
    const none = answered(await search(['b']));
    expect(none).to.deep.include({ results: [], collections_searched: [] });
    expect(none.partial_failures).to.deep.equal(partial_failures);
    const refusals: [Answer, number, string][] = [
      [await search(['b', 'a', 'nope']), 404, 'collection_not_found'],
      [await search(['b', 'a', 'narrow']), 400, 'validation_error'],
      [await search(['b', 'a'], [1]), 400, 'dimension_mismatch'],
    ];
    for (const [answer, status, code] of refusals)
      expect([answer.status, answer.body.code]).to.deep.equal([status, code]);
  });
});
