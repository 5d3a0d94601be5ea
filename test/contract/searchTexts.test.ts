/** `POST /v1/search/text`, and `hybrid` with options. */
import { expect } from 'chai';
import type { Answer } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { SearchedByHttp } from '../support/launch/searchClient.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { searchTexts } from '../support/model/search.js';
import { Generator } from '../support/rigs/generate.js';
import { Mirrored } from '../support/rigs/mirrored.js';
import { changeAtRandom } from '../support/rigs/writes.js';

const PATH = '/v1/search/text';
const BATCH = [[1], [2], [3], [4]];
const TEXTS = ['red apple', 'green apple pie with apple cream', 'blue sky', 'apple, apple! APPLE'];
const METADATA = [{ n: 1 }, { n: 2 }, null, { n: 4 }];
const SEARCHES = 120;

function assertError({ status, body }: Answer, wanted: number, code: string): void {
  expect([status, body.code], body.error).to.deep.equal([wanted, code]);
}

inBothModesAndThroughClient('a search of texts alone', [`POST ${PATH}`, 'POST /v1/search'], (service) => {
  let fruit: SearchedByHttp;
  const post = (more: object): Promise<Answer> => fruit.client.post(PATH, { collection: 'c', k: 10, ...more });
  const found = async (more: object) => {
    const { status, text, body } = await post(more);
    expect(status, text).to.equal(200);
    return body.results;
  };
  const ids = async (more: object): Promise<number[]> => (await found(more)).map(({ id }: { id: number }) => id);

  beforeEach(async () => {
    fruit = await SearchedByHttp.create((await service.newProject()).rw);
    await fruit.fill({ batch: BATCH, texts: TEXTS, metadata: METADATA });
  });

  it('finds the best matches with their BM25, equal ones by id, and no record without a word', async () => {
    const [first, ...others] = await found({ query_text: 'Apple' });
    expect(first).to.have.all.keys('id', 'text_score');
    expect(first.text_score).to.be.closeTo(0.606, 1e-3);
    expect([first, ...others].map(({ id }) => id)).to.deep.equal([4, 1, 2]);
    expect(others[0].text_score).to.be.closeTo(0.431, 1e-3);
    await fruit.fill({ batch: [[9], [0]], texts: ['red apple', 'red apple'] });
    expect(await ids({ query_text: 'red', k: 2 })).to.deep.equal([1, 5]);
    expect(await ids({ query_text: 'plum' })).to.deep.equal([]);
    for (const query_text of ['', '?!', ' ']) expect(await ids({ query_text })).to.deep.equal([]);
  });

  it('takes filters, fields and external ids', async () => {
    expect(await ids({ query_text: 'apple', metadata_filter: { n: { lt: 4 } } })).to.deep.equal([1, 2]);
    const fields = await found({ query_text: 'sky', with: ['text', 'metadata', 'vector'] });
    const { text_score, ...rest } = fields[0];
    expect(rest).to.deep.equal({ id: 3, text: 'blue sky', metadata: null, vector: [3] });
    expect(text_score).to.be.above(1);
    await fruit.client.post('/v1/vectors/batch-upsert', {
      ...{ collection: 'c', batch: [[5]], external_ids: ['night'], texts: ['night sky'] },
    });
    expect((await found({ query_text: 'night' }))[0]).to.include({ id: 5, external_id: 'night' });
  });

  it('finds written texts in the very next search, and searches any past state exactly', async () => {
    await fruit.insert([7], { text: 'plum' });
    await fruit.remove(4);
    await fruit.remove(1, '/v1/soft-delete');
    expect(await ids({ query_text: 'apple plum' })).to.deep.equal([5, 2]);
    const past = await post({ query_text: 'apple plum', as_of_log_index: 5 });
    expect(past.body.results.map(({ id }: { id: number }) => id)).to.deep.equal([5, 4, 1, 2]);
    expect(past.body.as_of_log_index).to.equal(5);
    expect(past.body.as_of_state_hash).to.match(/^[0-9a-f]{64}$/);
    const empty = await post({ query_text: 'apple', as_of: '2001-01-01T00:00Z' });
    expect(empty.body).to.include({ as_of_log_index: 0, as_of_timestamp: null }).and.deep.include({ results: [] });
  });

  it('names the searched state with eventual consistency', async () => {
    const { body } = await post({ query_text: 'apple', consistency: 'eventual' });
    expect(body.sequence).to.equal(4);
    expect(body.results).to.deep.equal(await found({ query_text: 'apple' }));
  });

  it('shows vectors of a collection that normalises with length 1', async () => {
    const { client } = fruit;
    await client.post('/v1/namespaces', { name: 'unit', dimension: 2, metric: 'squared_l2', normalise: true });
    await client.post('/v1/vectors/batch-insert', { collection: 'unit', batch: [[0, 9]], texts: ['plum'] });
    const { body } = await client.post(PATH, { collection: 'unit', query_text: 'plum', k: 1, with: ['vector'] });
    expect(body.results[0]).to.have.all.keys('id', 'text_score', 'vector');
    expect(body.results[0].vector).to.deep.equal([0, 1]);
  });

  it('is as a model that counts all words again, between writes and in the past', async () => {
    const generator = new Generator(seededRandom(testSeed()), 2);
    const { rw, ro } = await service.newProject();
    const collection = new Mirrored(rw, 'm', 2);
    await collection.create('brute');
    await collection.insertAll(Array.from({ length: 80 }, () => generator.record()));
    const options = new Set(['filter', 'text'] as const);
    for (let i = 0; i < SEARCHES; i++) {
      if (generator.chance(0.5)) await changeAtRandom(collection, generator, options);
      const filter = generator.chance(0.5) ? { metadata_filter: generator.filter() } : {};
      const request = { query_text: generator.text(4), k: generator.pick([1, 5, 1_000]), ...filter };
      const moment = generator.chance(0.3) ? generator.moment(collection.history) : undefined;
      const searched = moment === undefined ? collection.model : collection.history.at(moment.logIndex);
      const { body, text } = await ro.post(PATH, { collection: 'm', ...request, ...moment?.request });
      expect(body.results, `${JSON.stringify(request)} ${text}`).to.deep.equal(searchTexts(searched, request));
    }
  });

  it('is 400 validation_error for what it does not take, and 404 for an unknown collection', async () => {
    for (const more of [
      {},
      { query_text: null },
      { query_text: 5 },
      { query_text: 'x'.repeat(65_537) },
      { query_text: 'a', k: 0 },
      { query_text: 'a', k: 5_001 },
      { query_text: 'a', query: [1] },
      { query_text: 'a', with: ['tag'] },
      { query_text: 'a', as_of_log_index: 5 },
      { query_text: 'a', metadata_filter: { n: { gtee: 1 } } },
    ])
      assertError(await post(more), 400, 'validation_error');
    const misspelt = await post({ query: 'apple' });
    expect(misspelt.body.error).to.equal('$.query is unknown here: did you mean query_text?');
    assertError(await post({ query_text: 'a', collection: 'none' }), 404, 'collection_not_found');
  });

  it('with a weight of the text orders hybrid hits by the weighted sum, and shows text scores', async () => {
    const text = { query_text: 'apple' };
    const plain = await fruit.search({ ...text, hybrid: true });
    expect(plain.every((hit) => !('text_score' in hit))).to.equal(true);
    const even = await fruit.search({ ...text, hybrid: {} });
    expect(even.map(({ id, score }) => ({ id, score }))).to.deep.equal(plain);
    const scores = new Map(
      (await found(text)).map(({ id, text_score }: { id: number; text_score: number }) => [id, text_score]),
    );
    expect(even.map((hit) => (hit as { text_score?: number }).text_score)).to.deep.equal(
      even.map(({ id }) => scores.get(id) ?? 0),
    );
    expect(await fruit.ids({ ...text, hybrid: { text_weight: 0 } })).to.deep.equal([1, 2, 3, 4]);
    expect(await fruit.ids({ ...text, hybrid: { text_weight: 1 } })).to.deep.equal([4, 1, 2, 3]);
    const unmatched = await fruit.search({ query_text: 'plum', hybrid: {} });
    expect(unmatched[0]).to.deep.equal({ id: 1, score: 1, text_score: 0 });
  });

  it('with rrf orders hybrid hits by their ranks among the candidates', async () => {
    // The ranks are 1 2 3 4 by distance, and 4 1 2 by text: 1/61 + 1/62, 1/62 + 1/63, 1/63, 1/64 + 1/61.
    expect(await fruit.ids({ query_text: 'apple', hybrid: { fusion: 'rrf' } })).to.deep.equal([1, 4, 2, 3]);
    const hybrid = { fusion: 'rrf', text_weight: 1 };
    expect(await fruit.ids({ query_text: 'apple', hybrid })).to.deep.equal([4, 1, 2, 3]);
    const batch = { collection: 'c', searches: [{ query: [0], k: 2, query_text: 'apple', hybrid }] };
    const { body } = await fruit.client.post('/v1/search/batch', batch);
    expect(body.answers[0].results.map(({ id }: { id: number }) => id)).to.deep.equal([4, 1]);
  });

  it('is 400 validation_error for options of hybrid that do not exist, or without a text', async () => {
    for (const options of [
      { hybrid: {} },
      { hybrid: {}, query_text: '' },
      { hybrid: {}, query_text: 'a', rerank: false },
      { hybrid: { text_weight: 1.5 }, query_text: 'a' },
      { hybrid: { text_weight: -0.1 }, query_text: 'a' },
      { hybrid: { fusion: 'sum' }, query_text: 'a' },
      { hybrid: [], query_text: 'a' },
      { hybrid: 'rrf', query_text: 'a' },
    ])
      assertError(await fruit.post(options), 400, 'validation_error');
    const misspelt = await fruit.post({ query_text: 'a', hybrid: { textweight: 1 } });
    expect(misspelt.body.error).to.include('did you mean text_weight?');
  });
});
