import { expect } from 'chai';
import { TestEdge } from '../../../support/rigs/testEdge.js';

describe('the query of a request', () => {
  const edges: TestEdge[] = [];
  const start = async (): Promise<TestEdge> => {
    const edge = await TestEdge.start();
    edges.push(edge);
    await edge.backend.create('p', { name: 'c', dimension: 2, index: 'brute' });
    return edge;
  };
  afterEach(async () => {
    await Promise.all(edges.splice(0).map((edge) => edge.stop()));
  });

  it('has parameters that are text, each once, and whole numbers of digits only', async () => {
    const edge = await start();
    const client = await edge.client();
    for (const name of ['null', 'true', '5', 'undefined'])
      await edge.backend.create('p', { name, dimension: 2, index: 'brute' });
    const graph = async (query: string) => {
      const { status, body } = await client.get(`/v1/graph/nodes?${query}`);
      return [status, body.code ?? body.count];
    };
    const named: unknown[] = [];
    const { find } = edge.backend;
    edge.backend.find = (project, name, ...rest) => {
      named.push(name);
      return find.call(edge.backend, project, name, ...rest);
    };
    for (const name of ['null', 'true', '5', 'undefined']) await client.get(`/v1/records/1?collection=${name}`);
    await client.get('/v1/records/1?%63ollection=%6eull&');
    expect(named).to.deep.equal(['null', 'true', '5', 'undefined', 'null']);
    for (const missing of ['collection=', 'collection=a+b', 'collection'])
      expect(await graph(missing), missing).to.deep.equal([404, 'collection_not_found']);
    for (const bad of ['null', '', '1e2', '0x10', '%205', '+5', '-1', '1.0', '5x', '9007199254740992', 'NaN', 'true']) {
      const { status, body } = await client.get(`/v1/graph/nodes?collection=c&offset=${bad}`);
      expect([status, body.code], bad).to.deep.equal([400, 'validation_error']);
      expect(body.error).to.include('query parameter offset');
    }
    for (const direction of ['null', '', 'both&direction=both', 'Both'])
      expect(await (await client.get(`/v1/graph/query?collection=c&start=1&direction=${direction}`)).status).to.equal(
        400,
      );
    const repeated = await client.get('/v1/graph/nodes?collection=c&limit=1&collection=null');
    expect([repeated.status, repeated.body]).to.deep.equal([
      400,
      { error: 'query parameter collection is repeated', code: 'validation_error' },
    ]);
    for (const broken of ['collection=%zz', 'collection=%ff', 'x=%', '%c3%28=1'])
      expect(await graph(broken), broken).to.deep.equal([400, 'validation_error']);
  });

  it('is checked also where no parameter is used, and may not name a collection of the body', async () => {
    const edge = await start();
    const client = await edge.client();
    const refusal = async (answer: ReturnType<typeof client.get>): Promise<unknown[]> => {
      const { status, body } = await answer;
      return [status, body.error];
    };
    expect(await refusal(client.get('/v1/namespaces?a=1&a=2'))).to.deep.equal([400, 'query parameter a is repeated']);
    expect(await refusal(client.delete('/v1/namespaces/c?x=%zz'))).to.deep.equal([
      400,
      'the query has a broken percent-encoding',
    ]);
    for (const path of ['delete', 'soft-delete', 'records', 'search', 'graph/node'])
      expect(await refusal(client.post(`/v1/${path}?collection=c`, {})), path).to.deep.equal([
        400,
        'query parameter collection: expected in the body, as $.collection',
      ]);
    expect((await refusal(client.post('/v1/delete?colection=c', { id: 1 })))[1]).to.include('did you mean collection?');
    for (const refused of [client.get('/v1/namespaces?other=1'), client.delete('/v1/namespaces/c?collection=d')])
      expect((await refusal(refused))[1]).to.match(
        /^query parameter (other|collection) is unknown here: there are none$/,
      );
  });
});
