// Covers: coordinator/contract/graph.ts, coordinator/handlers/graph.ts
/** A collection's graph over HTTP: nodes, edges, walks and refusals. */
import { expect } from 'chai';
import { verifyReceipt } from '../../verifier/receipt.js';
import { atLength } from '../support/atLength.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Client, Project } from '../support/launch/service.js';

inBothModes('graph', (service) => {
  let project: Project;
  let rw: Client;
  let namespace: number;
  beforeEach(async () => {
    project = await service.newProject();
    rw = project.rw;
    namespace = (await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' })).body.id;
  });
  const insert = () => rw.post('/v1/records', { collection: 'c', values: [1] });
  const addNode = (body: object = {}) => rw.post('/v1/graph/node', { collection: 'c', kind: 1, ...body });
  const addEdge = (from: number, to: number, kind = 0) =>
    rw.post('/v1/graph/edge', { collection: 'c', from, to, kind });
  const get = (path: string) => rw.get(`/v1/graph/${path}${path.includes('?') ? '&' : '?'}collection=c`);
  const remove = (path: string) => rw.delete(`/v1/graph/${path}?collection=c`);
  /** Answer to a write, with its log index in a cluster. */
  const written = (answer: object, log_index: number) =>
    service.mode === 'cluster' ? { ...answer, log_index } : answer;
  /** Nodes 1 to n, and edges from pairs, all of kind 0. */
  async function build(nodes: number, edges: readonly (readonly [number, number])[]): Promise<void> {
    for (let n = 0; n < nodes; n++) await addNode();
    for (const [from, to] of edges) await addEdge(from, to);
  }

  it('nodes and edges are created, read and deleted', async () => {
    await insert();
    expect((await addNode({ kind: 0, record_id: 1 })).body).to.deep.equal(written({ node_id: 1 }, 2));
    expect((await addNode({ kind: 6 })).body).to.deep.equal(written({ node_id: 2 }, 3));
    expect((await addNode({ kind: 2, record_id: null })).body).to.deep.equal(written({ node_id: 3 }, 4));
    expect((await addEdge(1, 2, 8)).body).to.deep.equal(written({ edge_id: 1 }, 5));
    expect((await addEdge(1, 3)).body).to.deep.equal(written({ edge_id: 2 }, 6));
    expect((await addEdge(2, 1)).body).to.deep.equal(written({ edge_id: 3 }, 7));
    const node = await get('node/1');
    expect(node.status).to.equal(200);
    expect(node.body).to.deep.equal({ node_id: 1, kind: 0, record_id: 1, namespace_id: namespace });
    expect((await get('node/3')).body).to.deep.equal({ node_id: 3, kind: 2, record_id: null, namespace_id: namespace });
    expect((await get('edges/1')).body).to.deep.equal({
      edges: [
        { edge_id: 1, to_node: 2, kind: 8 },
        { edge_id: 2, to_node: 3, kind: 0 },
      ],
    });
    expect((await get('edges/1?offset=1&limit=1')).body.edges).to.deep.equal([{ edge_id: 2, to_node: 3, kind: 0 }]);
    expect((await remove('edge/2')).body).to.deep.equal(written({ success: true }, 8));
    expect((await get('edges/1')).body.edges).to.have.length(1);
    expect((await remove('node/2')).body).to.deep.equal(written({ success: true }, 9));
    expect((await get('edges/1')).body).to.deep.equal({ edges: [] });
    expect((await get('nodes')).body).to.deep.include({ count: 2 });
  });

  it('nodes are listed by id, in pages, of one kind or all, and counted before paging', async () => {
    for (const kind of [1, 2, 1, 3, 1]) await addNode({ kind });
    const page = async (query: string) => {
      const { body } = await get(`nodes?${query}`);
      return [body.nodes.map(({ node_id }: { node_id: number }) => node_id), body.count];
    };
    expect(await page('')).to.deep.equal([[1, 2, 3, 4, 5], 5]);
    expect(await page('offset=1&limit=2')).to.deep.equal([[2, 3], 5]);
    expect(await page('kind=1&limit=2')).to.deep.equal([[1, 3], 3]);
    expect(await page('kind=1&offset=2')).to.deep.equal([[5], 3]);
    expect(await page('kind=6')).to.deep.equal([[], 0]);
    expect(await page('limit=0')).to.deep.equal([[], 5]);
    expect((await get('nodes?kind=3')).body.nodes).to.deep.equal([
      { node_id: 4, kind: 3, record_id: null, namespace_id: namespace },
    ]);
  });

  it('a subgraph follows outgoing edges, two hops by default', async () => {
    await build(6, [
      [1, 2],
      [2, 3],
      [3, 4],
      [4, 5],
      [3, 1],
      [6, 1],
    ]);
    const shape = async (query: string) => {
      const { body } = await get(`subgraph?${query}`);
      const ids = (items: { id: number }[]) => items.map(({ id }) => id);
      return [ids(body.nodes), ids(body.edges)];
    };
    expect(await shape('root=1')).to.deep.equal([
      [1, 2, 3],
      [1, 2, 5],
    ]);
    expect(await shape('root=1&depth=1')).to.deep.equal([[1, 2], [1]]);
    expect(await shape('root=1&depth=0')).to.deep.equal([[1], []]);
    expect(await shape('root=1&depth=4')).to.deep.equal([
      [1, 2, 3, 4, 5],
      [1, 2, 3, 4, 5],
    ]);
    const { body } = await get('subgraph?root=4');
    expect(body).to.deep.equal({
      nodes: [
        { id: 4, kind: 1, record: null },
        { id: 5, kind: 1, record: null },
      ],
      edges: [{ id: 4, from: 4, to: 5, kind: 0 }],
    });
  });

  it('a query walks either direction or both, over kinds of edges and nodes, sorted by depth and id', async () => {
    await insert();
    for (const kind of [1, 2, 3, 2]) await addNode({ kind, ...(kind === 3 ? { record_id: 1 } : {}) });
    for (const [from, to, kind] of [
      [1, 4, 0],
      [1, 2, 5],
      [2, 3, 0],
      [3, 1, 0],
    ] as const)
      await addEdge(from, to, kind);
    const query = async (options: string) => {
      const { body } = await get(`query?start=1${options}`);
      return [
        body.hits.map(({ node_id, depth }: { node_id: number; depth: number }) => `${node_id}@${depth}`).join(' '),
        body.count,
      ];
    };
    expect(await query('')).to.deep.equal(['1@0 2@1 4@1 3@2', 4]);
    expect(await query('&direction=incoming')).to.deep.equal(['1@0 3@1 2@2', 3]);
    expect(await query('&direction=both&depth=1')).to.deep.equal(['1@0 2@1 3@1 4@1', 4]);
    expect(await query('&edge_kind=5')).to.deep.equal(['1@0 2@1', 2]);
    expect(await query('&node_kind=3')).to.deep.equal(['3@2', 1]);
    expect(await query('&limit=2')).to.deep.equal(['1@0 2@1', 4]);
    expect(await query('&depth=0')).to.deep.equal(['1@0', 1]);
    expect((await get('query?start=1&node_kind=3')).body).to.deep.equal({
      hits: [{ node_id: 3, kind: 3, record_id: 1, depth: 2 }],
      count: 1,
    });
  });

  it('a hard-deleted record takes its nodes and their edges along; a hidden one does not', async () => {
    await insert();
    await insert();
    for (const record_id of [1, 2, 1]) await addNode({ record_id });
    await addEdge(1, 2);
    await addEdge(2, 3);
    await rw.post('/v1/soft-delete', { collection: 'c', id: 1 });
    expect((await get('nodes')).body.count).to.equal(3);
    await rw.post('/v1/delete', { collection: 'c', id: 1 });
    expect((await get('nodes')).body.nodes).to.have.length(1);
    expect((await get('edges/2')).body).to.deep.equal({ edges: [] });
    expect((await get('node/1')).status).to.equal(404);
  });

  it('receipts verify, and repeated requests return the first ones, despite graph writes between', async () => {
    const values = { collection: 'c', values: [1] };
    const receipts = [];
    for (let n = 0; n < 4; n++) {
      const { body } = await rw.post('/v1/records', { ...values, request_id: `${n}`.repeat(32) });
      receipts.push(body.receipt);
      await addNode({ record_id: n + 1 });
      await addEdge(1, n + 1);
    }
    for (const [n, receipt] of receipts.entries()) {
      expect(verifyReceipt(receipt)).to.deep.equal([]);
      const replay = await rw.post('/v1/records', { ...values, request_id: `${n}`.repeat(32) });
      expect(replay.body.receipt).to.deep.equal(receipt);
    }
  });

  it('reading needs a key with read access, writing one with write access', async () => {
    await addNode();
    const { ro } = project;
    for (const path of ['node/1', 'nodes', 'edges/1', 'subgraph?root=1', 'query?start=1']) {
      const answer = await ro.get(`/v1/graph/${path}${path.includes('?') ? '&' : '?'}collection=c`);
      expect(answer.status, path).to.equal(200);
    }
    const refused = await Promise.all([
      ro.post('/v1/graph/node', { collection: 'c', kind: 1 }),
      ro.post('/v1/graph/edge', { collection: 'c', from: 1, to: 1, kind: 1 }),
      ro.delete('/v1/graph/node/1?collection=c'),
      ro.delete('/v1/graph/edge/1?collection=c'),
    ]);
    for (const { status, body } of refused) expect([status, body.code]).to.deep.equal([403, 'forbidden']);
  });

  const refusals: [string, () => ReturnType<Client['get']>, number, string][] = [
    ['a node of an unknown kind', () => addNode({ kind: 7 }), 400, 'validation_error'],
    ['a node without a kind', () => addNode({ kind: undefined }), 400, 'validation_error'],
    ['a node for an unknown record', () => addNode({ record_id: 9 }), 404, 'record_not_found'],
    ['a node for record 0', () => addNode({ record_id: 0 }), 404, 'record_not_found'],
    ['a node in an unknown collection', () => addNode({ collection: 'nope' }), 404, 'collection_not_found'],
    ['an edge of an unknown kind', () => addEdge(1, 1, 9), 400, 'validation_error'],
    ['an edge from an unknown node', () => addEdge(9, 1), 404, 'not_found'],
    ['an edge to an unknown node', () => addEdge(1, 9), 404, 'not_found'],
    ['deleting an unknown node', () => remove('node/9'), 404, 'not_found'],
    ['deleting an unknown edge', () => remove('edge/1'), 404, 'not_found'],
    ['reading an unknown node', () => get('node/9'), 404, 'not_found'],
    ['reading node x', () => get('node/x'), 400, 'validation_error'],
    ['edges of an unknown node', () => get('edges/9'), 404, 'not_found'],
    ['a subgraph of an unknown node', () => get('subgraph?root=9'), 404, 'not_found'],
    ['a subgraph without a root', () => get('subgraph'), 400, 'validation_error'],
    ['a subgraph of depth 5', () => get('subgraph?root=1&depth=5'), 400, 'validation_error'],
    ['a query from an unknown node', () => get('query?start=9'), 404, 'not_found'],
    ['a query of depth 5', () => get('query?start=1&depth=5'), 400, 'validation_error'],
    ['a query of limit 0', () => get('query?start=1&limit=0'), 400, 'validation_error'],
    ['a query of limit 1001', () => get('query?start=1&limit=1001'), 400, 'validation_error'],
    ['a query upwards', () => get('query?start=1&direction=up'), 400, 'validation_error'],
    ['a query over edges of an unknown kind', () => get('query?start=1&edge_kind=9'), 400, 'validation_error'],
    ['a query for nodes of an unknown kind', () => get('query?start=1&node_kind=7'), 400, 'validation_error'],
    ['a list of nodes of an unknown kind', () => get('nodes?kind=7'), 400, 'validation_error'],
    ['a list of more nodes than a page holds', () => get('nodes?limit=10001'), 400, 'validation_error'],
    ['a list in an unknown collection', () => rw.get('/v1/graph/nodes?collection=nope'), 404, 'collection_not_found'],
  ];
  it('invalid requests are refused, each with its code, and change nothing', async () => {
    await addNode();
    for (const [title, ask, status, code] of refusals) {
      const answer = await ask();
      expect([answer.status, answer.body.code], title).to.deep.equal([status, code]);
    }
    expect((await get('nodes')).body.count).to.equal(1);
    expect((await addNode()).body.node_id).to.equal(2);
  });
});

inBothModes(atLength('graph, restarted'), (_shared, { restartable }) => {
  it('is unchanged', async () => {
    const service = await restartable();
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    const insert = { collection: 'c', values: [1], request_id: 'ab'.repeat(16) };
    for (const kind of [1, 2, 3]) await rw.post('/v1/graph/node', { collection: 'c', kind });
    const { receipt } = (await rw.post('/v1/records', insert)).body;
    for (const to of [2, 3]) await rw.post('/v1/graph/edge', { collection: 'c', from: 1, to, kind: 4 });
    await rw.delete('/v1/graph/node/3?collection=c');
    const look = async () => {
      const paths = ['nodes?', 'edges/1?', 'query?start=1&', 'subgraph?root=1&'];
      return Promise.all(paths.map(async (path) => (await rw.get(`/v1/graph/${path}collection=c`)).body));
    };
    const before = await look();
    for (const name of service.processNames) await service.process(name).stop();
    await Promise.all(service.processNames.map((name) => service.run(name)));
    await service.until(async () => (await rw.get('/v1/graph/nodes?collection=c')).status === 200);
    expect(await look()).to.deep.equal(before);
    expect((await rw.post('/v1/records', insert)).body.receipt).to.deep.equal(receipt);
    expect((await rw.post('/v1/graph/node', { collection: 'c', kind: 0 })).body.node_id).to.equal(4);
  });
});
