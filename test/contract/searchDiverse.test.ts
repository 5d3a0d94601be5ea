/** `diversity` over HTTP. */
import { expect } from 'chai';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { SearchedByHttp } from '../support/launch/searchClient.js';

inBothModesAndThroughClient('diversity in a search', ['POST /v1/search', 'POST /v1/search/batch'], (service) => {
  let line: SearchedByHttp;

  beforeEach(async () => {
    line = await SearchedByHttp.create((await service.newProject()).rw);
    const batch = [[1], [1], [2], [-2], [9]];
    await line.fill({ batch, metadata: batch.map((_, i) => ({ n: i + 1 })), texts: batch.map(() => 'a') });
  });

  it('finds hits that are near to the query and far from one another, with their true scores', async () => {
    expect(await line.search({ k: 3, diversity: 0.5 })).to.deep.equal([
      { id: 1, score: 1 },
      { id: 4, score: 4 },
      { id: 2, score: 1 },
    ]);
    for (const diversity of [0, null, undefined]) expect(await line.ids({ k: 3, diversity })).to.deep.equal([1, 2, 3]);
  });

  it('works with filters, like, thresholds, the graph and in batches', async () => {
    const diversity = 0.5;
    expect(await line.ids({ k: 2, diversity: 0.8, metadata_filter: { n: { lt: 4 } } })).to.deep.equal([1, 3]);
    expect(await line.ids({ k: 2, diversity, query: undefined, like: 1 })).to.deep.equal([2, 3]);
    expect(await line.ids({ k: 5, diversity, score_threshold: 3 })).to.deep.equal([1, 2]);
    expect(await line.ids({ k: 2, diversity, metadata_filter: { n: 0 } })).to.deep.equal([]);
    const [hit] = await line.search({ k: 1, diversity, graph_rerank: {} });
    expect(hit).to.deep.equal({ id: 1, score: 1, graph_distance: null });
    const searches = [
      { query: [0], k: 2, diversity },
      { query: [0], k: 2 },
    ];
    const { body } = await line.client.post('/v1/search/batch', { collection: 'c', searches });
    const found = body.answers.map(({ results }: { results: { id: number }[] }) => results.map(({ id }) => id));
    expect(found).to.deep.equal([
      [1, 4],
      [1, 2],
    ]);
  });

  it('finds in past states what it found then, also of records hidden or deleted since', async () => {
    const past = { k: 3, diversity: 0.5, as_of_log_index: 5 };
    await line.remove(4, '/v1/soft-delete');
    expect(await line.ids({ k: 3, diversity: 0.5 })).to.deep.equal([1, 2, 3]);
    expect(await line.ids(past)).to.deep.equal([1, 4, 2]);
    await line.remove(3);
    expect(await line.ids(past)).to.deep.equal([1, 4, 2]);
  });

  it('is 400 validation_error beyond 0 to 1, with more than 100 hits, and beside text or groups', async () => {
    for (const options of [
      { diversity: -0.1 },
      { diversity: 1.1 },
      { diversity: '1' },
      { diversity: 0.5, k: 101 },
      { diversity: 0.5, query_text: 'a' },
      { diversity: 0.5, group_by: 'n' },
    ]) {
      const { status, body } = await line.post(options);
      expect([status, body.code], JSON.stringify(options)).to.deep.equal([400, 'validation_error']);
    }
    expect(await line.ids({ diversity: 0.5, query_text: 'a', rerank: false, k: 1 })).to.deep.equal([1]);
  });
});
