/** `query_text` over HTTP: orders worked out by hand from the formulas of BM25 and of the blend. */
import { expect } from 'chai';
import { inBothModes } from '../support/launch/modes.js';
import { SearchedByHttp } from '../support/launch/searchClient.js';
import type { Service } from '../support/launch/service.js';

/**
 * The query is the origin, so the vector scores are 1, 0.8, 0.467 and 0. The mean length is 3.25 words. BM25 of `apple`
 * is 0.431, 0.401, 0 and 0.606, which gives text scores of 0.712, 0.661, 0 and 1.
 */
const BATCH = [[1], [2], [3], [4]];
const TEXTS = ['red apple', 'green apple pie with apple cream', 'blue sky', 'apple, apple! APPLE'];

async function fruit(service: Service): Promise<SearchedByHttp> {
  const collection = await SearchedByHttp.create((await service.newProject()).rw);
  await collection.fill({ batch: BATCH, texts: TEXTS });
  return collection;
}

inBothModes('reranking by text', (service) => {
  it('blends text and distance half and half, and keeps true distances as scores', async () => {
    const collection = await fruit(service);
    // 0.856, 0.730, 0.233, 0.5
    expect(await collection.search({ query_text: 'apple' })).to.deep.equal([
      { id: 1, score: 1 },
      { id: 2, score: 4 },
      { id: 4, score: 16 },
      { id: 3, score: 9 },
    ]);
    // 0.5, 0.4, 0.733, 0
    expect(await collection.ids({ query_text: 'sky' })).to.deep.equal([3, 1, 2, 4]);
    // Each word is in one text; 0.5, 0.699, 0.733, 0
    expect(await collection.ids({ query_text: 'SKY, pie?' })).to.deep.equal([3, 2, 1, 4]);
    expect(await collection.ids({ query_text: 'apple', k: 3 })).to.deep.equal([1, 2, 4]);
    // The pool is larger than k.
    expect(await collection.ids({ query_text: 'sky', k: 1 })).to.deep.equal([3]);
  });

  it('keeps vector order if it is off or no text matches', async () => {
    const collection = await fruit(service);
    for (const options of [
      {},
      { rerank: true },
      { rerank: true, query_text: null },
      { query_text: '' },
      { query_text: 'plum' },
      { query_text: '?!' },
      { rerank: false, query_text: 'sky' },
    ])
      expect(await collection.ids(options), JSON.stringify(options)).to.deep.equal([1, 2, 3, 4]);
    const wordless = await SearchedByHttp.create(collection.client, 'wordless');
    await wordless.fill({ batch: [[2], [1]] });
    expect(await wordless.ids({ query_text: 'apple', hybrid: true })).to.deep.equal([2, 1]);
  });

  it('separates words of any script by letters and digits, ignoring case', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    const texts = ['plain words', 'Éclairs for 2, please', 'ДОМ на горе', '東京 タワー'];
    await collection.fill({ batch: BATCH, texts });
    const first = async (query_text: string) => (await collection.ids({ query_text }))[0];
    // The matching text scores 1 for BM25 and at least 0.4 for its distance, the nearest 0 and 1; the last only 0.
    expect(await first('nothing here')).to.equal(1);
    expect(await first('éclairs')).to.equal(2);
    expect(await first('(2)')).to.equal(2);
    expect(await first('дом')).to.equal(3);
    await collection.insert([5]);
    // A record without text takes no part in BM25.
    expect(await first('東京')).to.equal(4);
  });

  it('reflects inserts and both kinds of deletes in the very next search', async () => {
    const collection = await fruit(service);
    await collection.insert([3.5], { text: 'night sky' });
    expect((await collection.ids({ query_text: 'sky' })).slice(0, 2)).to.have.members([3, 5]);
    await collection.remove(3);
    expect((await collection.ids({ query_text: 'sky' }))[0]).to.equal(5);
    await collection.patch(5, { changed: true });
    expect((await collection.ids({ query_text: 'sky' }))[0]).to.equal(5);
    await collection.remove(5, '/v1/soft-delete');
    expect(await collection.ids({ query_text: 'sky' })).to.deep.equal([1, 2, 4]);
  });

  it('adds the best texts to the candidates with hybrid, if no near record matches', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    const texts = Array.from({ length: 60 }, () => 'filler');
    texts[39] = 'needle needle';
    texts[59] = 'a needle in a haystack of many words';
    await collection.fill({ batch: texts.map((_, i) => [i + 1]), texts });
    // The pool of 20 has no match. The 40th joined it, with 0.556 for its distance among the 1st to 20th, 40th and
    // 60th.
    expect(await collection.ids({ query_text: 'needle', k: 1 })).to.deep.equal([1]);
    expect(await collection.search({ query_text: 'needle', k: 1, hybrid: true })).to.deep.equal([
      { id: 40, score: 1_600 },
    ]);
    const metadata_filter = { $not: { absent: 1 } };
    expect(await collection.ids({ query_text: 'needle', k: 1, hybrid: true, metadata_filter })).to.deep.equal([]);
  });

  it('is 400 validation_error for hybrid without a text, and for a text that is too long', async () => {
    const collection = await fruit(service);
    for (const options of [
      { hybrid: true },
      { hybrid: true, query_text: '' },
      { hybrid: true, query_text: 'sky', rerank: false },
      { query_text: 'x'.repeat(65_537) },
      { query_text: 5 },
      { rerank: 'yes' },
    ]) {
      const { status, body } = await collection.post(options);
      expect([status, body.code]).to.deep.equal([400, 'validation_error']);
    }
  });
});
