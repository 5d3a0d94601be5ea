/** `graph_rerank` over HTTP: hops, the resulting order, and options that are clamped silently. */
import { expect } from 'chai';
import { inBothModes } from '../support/launch/modes.js';
import { SearchedByHttp, seen } from '../support/launch/searchClient.js';
import type { Service } from '../support/launch/service.js';

/** Scores of 1, 4, 5 and 9. The first three records have nodes in a chain of outgoing edges; the fourth has none. */
async function chained(service: Service): Promise<SearchedByHttp> {
  const { rw } = await service.newProject();
  const collection = await SearchedByHttp.create(rw, 'c', 2);
  await collection.fill({
    batch: [
      [1, 0],
      [2, 0],
      [2, 1],
      [3, 0],
    ],
  });
  const nodes: number[] = [];
  for (const id of [1, 2, 3]) nodes.push(await collection.addNode(id));
  await collection.addEdge(nodes[0]!, nodes[1]!);
  await collection.addEdge(nodes[1]!, nodes[2]!);
  return collection;
}

/** Further options besides weight 1, and the expected `id:hops` in order. */
const CASES: readonly [graph_rerank: object, wanted: string][] = [
  // 1, 8, 9 and 15
  [{}, '1:0 2:1 4:null 3:2'],
  [{ weight: 0 }, '1:0 2:1 3:2 4:null'],
  // The default is 0.15: 1, 4.6, 6.5, 9
  [{ weight: null }, '1:0 2:1 3:2 4:null'],
  // Out of reach: 5 stays 5.
  [{ max_depth: 1 }, '1:0 3:null 2:1 4:null'],
  [{ seed_count: 2 }, '1:0 2:0 4:null 3:1'],
  [{ direction: 'incoming' }, '1:0 2:null 3:null 4:null'],
  [{ direction: 'both' }, '1:0 2:1 4:null 3:2'],
  [{ weight: 99, max_depth: 99, seed_count: -3 }, '1:0 2:1 4:null 3:2'],
  [{ weight: -1, max_depth: -1 }, '1:0 2:1 3:null 4:null'],
  [{ seed_count: 99 }, '1:0 2:0 3:0 4:null'],
];

inBothModes('reranking by the graph', (service) => {
  it('multiplies each distance by 1 + weight · hops, and keeps the score', async () => {
    const collection = await chained(service);
    const hits = await collection.search({ graph_rerank: { weight: 1 } });
    expect(hits).to.deep.equal([
      { id: 1, score: 1, graph_distance: 0 },
      { id: 2, score: 4, graph_distance: 1 },
      { id: 4, score: 9, graph_distance: null },
      { id: 3, score: 5, graph_distance: 2 },
    ]);
    for (const [options, wanted] of CASES) {
      const graph_rerank = { weight: 1, ...options };
      expect(seen(await collection.search({ graph_rerank })), JSON.stringify(graph_rerank)).to.equal(wanted);
    }
  });

  it('never drops a hit, nor adds one from outside of the k best', async () => {
    const collection = await chained(service);
    expect(seen(await collection.search({ k: 3, graph_rerank: { weight: 1 } }))).to.equal('1:0 2:1 3:2');
    await collection.remove(1);
    // Its node is gone with its edges: the next hit with a node is the seed.
    expect(seen(await collection.search({ graph_rerank: { weight: 1 } }))).to.equal('2:0 4:null 3:1');
  });

  it('keeps plain order in a collection without a graph, with null hops', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    await collection.fill({ batch: [[2], [1]] });
    expect(await collection.search({ graph_rerank: {} })).to.deep.equal([
      { id: 2, score: 1, graph_distance: null },
      { id: 1, score: 4, graph_distance: null },
    ]);
    expect((await collection.search({ graph_rerank: null }))[0]).to.have.all.keys('id', 'score');
  });

  it('refuses meaningless values, which clamping cannot repair', async () => {
    const collection = await SearchedByHttp.create((await service.newProject()).rw);
    for (const graph_rerank of [{ direction: 'up' }, { weight: '1' }, { seed_count: {} }, { max_depth: true }, [], 1]) {
      const { status, body } = await collection.post({ graph_rerank });
      expect([status, body.code], JSON.stringify(graph_rerank)).to.deep.equal([400, 'validation_error']);
      expect(body.error).to.include('$.graph_rerank');
    }
  });
});
