// Covers: coordinator/handlers/aliases.ts
/** Aliases: they are accepted wherever a collection's name is, and can be moved. */
import { expect } from 'chai';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes, inBothModesAndThroughClient } from '../support/launch/modes.js';
import type { Project, Service } from '../support/launch/service.js';
import { answered } from '../support/rigs/backups.js';

const create = (client: Client, name: string, more: object = {}): Promise<Answer> =>
  client.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2', ...more });
const expectError = ({ status, body, text }: Answer, wanted: number, code: string): void =>
  void expect([status, body?.code], text).to.deep.equal([wanted, code]);

inBothModesAndThroughClient('aliases', ['GET /v1/aliases', 'POST /v1/search'], (service) => {
  let project: Project;
  let rw: Client;
  beforeEach(async () => {
    project = await service.newProject();
    rw = project.rw;
    for (const name of ['one', 'two']) answered(await create(rw, name));
    answered(await rw.post('/v1/records', { collection: 'one', values: [1, 0] }));
    answered(await rw.post('/v1/records', { collection: 'two', values: [2, 0] }));
  });
  const put = (alias: string, collection: string): Promise<Answer> => rw.put(`/v1/aliases/${alias}`, { collection });
  const scoreIn = async (collection: string): Promise<number> =>
    answered(await rw.post('/v1/search', { collection, query: [0, 0], k: 1 })).results[0].score;

  it('are created, moved, listed and deleted', async () => {
    expect(answered(await put('x', 'one'))).to.deep.equal({ alias: 'x', collection: 'one' });
    expect(await scoreIn('x')).to.equal(1);
    expect(answered(await put('x', 'two'))).to.deep.equal({ alias: 'x', collection: 'two' });
    expect(await scoreIn('x')).to.equal(4);
    expect(answered(await put('x', 'two'))).to.deep.equal({ alias: 'x', collection: 'two' });
    answered(await put('a', 'two'));
    const aliases = [
      { alias: 'a', collection: 'two' },
      { alias: 'x', collection: 'two' },
    ];
    expect(answered(await project.ro.get('/v1/aliases'))).to.deep.equal({ aliases });
    expect((await rw.delete('/v1/aliases/x')).status).to.equal(204);
    expectError(await rw.delete('/v1/aliases/x'), 404, 'not_found');
    expectError(await rw.post('/v1/search', { collection: 'x', query: [0, 0], k: 1 }), 404, 'collection_not_found');
    expect(await scoreIn('two')).to.equal(4);
  });

  it('may be named default, which requests without a name mean', async () => {
    answered(await put('default', 'two'));
    expect(answered(await rw.post('/v1/search', { query: [0, 0], k: 1 })).results[0].score).to.equal(4);
  });

  it('are refused where they name an alias, no collection, or themselves', async () => {
    answered(await put('x', 'one'));
    const ofAlias = await put('y', 'x');
    expectError(ofAlias, 400, 'validation_error');
    expect(ofAlias.body.error).to.include('"x" is an alias; name its collection "one"');
    expectError(await put('x', 'x'), 400, 'validation_error');
    expectError(await put('y', 'missing'), 404, 'collection_not_found');
    expectError(await put('one', 'two'), 409, 'conflict');
    expectError(await put('one', 'one'), 409, 'conflict');
    expectError(await put('a.b', 'one'), 400, 'validation_error');
    expectError(await rw.put('/v1/aliases/y', {}), 400, 'validation_error');
    expectError(await rw.put('/v1/aliases/y', { collection: 'one', colection: 'two' }), 400, 'validation_error');
    expect(answered(await rw.get('/v1/aliases')).aliases).to.deep.equal([{ alias: 'x', collection: 'one' }]);
  });

  it('need a key that may write', async () => {
    expectError(await project.ro.put('/v1/aliases/x', { collection: 'one' }), 403, 'forbidden');
    expectError(await project.ro.delete('/v1/aliases/x'), 403, 'forbidden');
  });

  it('keep their name from a collection, and their collection from deletion', async () => {
    answered(await put('x', 'one'));
    expectError(await create(rw, 'x'), 409, 'conflict');
    const ofAlias = await rw.delete('/v1/namespaces/x');
    expectError(ofAlias, 409, 'conflict');
    expect(ofAlias.body.error)
      .to.include('"x" is an alias of collection "one"')
      .and.to.include('DELETE /v1/aliases/x ');
    const ofCollection = await rw.delete('/v1/namespaces/one');
    expectError(ofCollection, 409, 'conflict');
    expect(ofCollection.body.error).to.include('collection "one" has the alias "x"');
    expect(await scoreIn('one')).to.equal(1);
    answered(await put('x', 'two'));
    expect((await rw.delete('/v1/namespaces/one')).status).to.equal(204);
    answered(await create(rw, 'one'));
    expect(await scoreIn('x')).to.equal(4);
  });

  it('are of one project', async () => {
    answered(await put('x', 'one'));
    const other = await service.newProject();
    expectError(
      await other.rw.post('/v1/search', { collection: 'x', query: [0, 0], k: 1 }),
      404,
      'collection_not_found',
    );
    expect(answered(await other.rw.get('/v1/aliases'))).to.deep.equal({ aliases: [] });
    expectError(await other.rw.put('/v1/aliases/x', { collection: 'one' }), 404, 'collection_not_found');
    answered(await create(other.rw, 'x'));
    expect(await scoreIn('x')).to.equal(1);
  });

  it('are searched once beside their collection, under the name that was asked first', async () => {
    answered(await put('x', 'one'));
    const multi = async (collections: string[]) => {
      const body = { collections, query: [0, 0], k: 5, consistency: 'eventual' };
      const { results, collections_searched: names, sequences } = answered(await rw.post('/v1/search/multi', body));
      const hits = results.map(({ collection, score }: { collection: string; score: number }) => [collection, score]);
      expect(Object.keys(sequences)).to.deep.equal(names);
      return { hits, names };
    };
    expect(await multi(['x', 'one', 'two'])).to.deep.equal({
      hits: [
        ['x', 1],
        ['two', 4],
      ],
      names: ['x', 'two'],
    });
    expect((await multi(['one', 'x'])).names).to.deep.equal(['one']);
    const like = { collections: ['x', 'two'], like: { collection: 'one', id: 1 }, k: 5 };
    const { results } = answered(await rw.post('/v1/search/multi', like));
    expect(results.map(({ collection }: { collection: string }) => collection)).to.deep.equal(['two']);
  });

  it('divide vectors as their collection does', async () => {
    answered(await create(rw, 'unit', { normalise: true }));
    answered(await put('x', 'unit'));
    answered(await rw.post('/v1/records', { collection: 'x', values: [3, 4] }));
    const { results } = answered(await rw.post('/v1/search', { collection: 'x', query: [30, 40], k: 1 }));
    expect(results[0].similarity).to.be.closeTo(1, 1e-6);
  });
});

/** Requests that name the collection, with the place of the name: `{c}`. All are answered the same for an alias. */
const NAMING: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['POST', '/v1/records', { collection: '{c}', values: [5, 5] }],
  ['POST', '/v1/vectors/batch-insert', { collection: '{c}', batch: [[6, 6]] }],
  ['POST', '/v1/vectors/batch-upsert', { collection: '{c}', external_ids: ['e'], batch: [[7, 7]] }],
  ['POST', '/v1/records/encrypted', { collection: '{c}', payload: 'aGk=' }],
  ['GET', '/v1/records/encrypted/4?collection={c}'],
  ['PATCH', '/v1/records/1/metadata?collection={c}', { n: 1 }],
  ['POST', '/v1/records/metadata', { collection: '{c}', ids: [1], merge: { m: 2 } }],
  ['PATCH', '/v1/records/by-external-id/metadata?external_id=e&collection={c}', { n: 1 }],
  ['GET', '/v1/records/by-external-id?external_id=e&collection={c}'],
  ['GET', '/v1/records/1?collection={c}'],
  ['GET', '/v1/records?collection={c}'],
  ['POST', '/v1/records/list', { collection: '{c}', metadata_filter: { n: 1 } }],
  ['POST', '/v1/records/get', { collection: '{c}', ids: [1] }],
  ['GET', '/v1/records/count?collection={c}'],
  ['POST', '/v1/records/count', { collection: '{c}', metadata_filter: { n: 1 } }],
  ['GET', '/v1/facets?key=n&collection={c}'],
  ['POST', '/v1/facets', { collection: '{c}', key: 'n' }],
  ['POST', '/v1/search', { collection: '{c}', query: [0, 0], k: 5 }],
  ['POST', '/v1/search', { collection: '{c}', query: [0, 0], k: 5, consistency: 'eventual' }],
  ['POST', '/v1/search', { collection: '{c}', query: [0, 0], k: 5, as_of_log_index: 1 }],
  ['POST', '/v1/search/text', { collection: '{c}', query_text: 'a', k: 5 }],
  ['POST', '/v1/search/batch', { collection: '{c}', searches: [{ query: [0, 0], k: 5 }] }],
  ['POST', '/v1/graph/node', { collection: '{c}', kind: 1, record_id: 1 }],
  ['POST', '/v1/graph/node', { collection: '{c}', kind: 2 }],
  ['POST', '/v1/graph/edge', { collection: '{c}', from: 1, to: 2, kind: 3 }],
  ['GET', '/v1/graph/node/1?collection={c}'],
  ['GET', '/v1/graph/nodes?collection={c}'],
  ['GET', '/v1/graph/edges/1?collection={c}'],
  ['GET', '/v1/graph/subgraph?root=1&collection={c}'],
  ['GET', '/v1/graph/query?start=1&collection={c}'],
  ['DELETE', '/v1/graph/edge/1?collection={c}'],
  ['DELETE', '/v1/graph/node/2?collection={c}'],
  ['GET', '/v1/proof/state?collection={c}'],
  ['GET', '/v1/proof/event-log?collection={c}'],
  ['GET', '/v1/proof/receipt?sequence=1&collection={c}'],
  ['GET', '/v1/proof/inclusion?sequence=1&collection={c}'],
  ['GET', '/v1/proof/consistency?from=1&to=2&collection={c}'],
  ['GET', '/v1/proof/checkpoint?collection={c}'],
  ['GET', '/v1/timeline?collection={c}'],
  ['GET', '/v1/export?collection={c}'],
  ['GET', '/v1/export/log?collection={c}'],
  ['GET', '/v1/namespaces/{c}'],
  ['GET', '/v1/namespaces/{c}/index'],
  ['POST', '/v1/namespaces/{c}/index', { type: null }],
  ['POST', '/v1/soft-delete', { collection: '{c}', id: 1 }],
  ['POST', '/v1/delete', { collection: '{c}', id: 2 }],
  ['POST', '/v1/records/delete', { collection: '{c}', ids: [3] }],
  ['POST', '/v1/erasures', { collection: '{c}', metadata_filter: { n: 9 } }],
];
/** Places that name the collection and are tested elsewhere, or cannot name an alias. */
const APART = [
  ...['POST /v1/search/multi', 'POST /v1/namespaces', 'DELETE /v1/namespaces/{name}', 'PUT /v1/aliases/{alias}'],
  ...['POST /v1/import', 'POST /v1/import/{name}/log', 'POST /v1/import/{name}/finish', 'POST /v1/keys'],
  // They need a key of scope `admin`; test/contract/access.test.ts calls them.
  ...['PATCH /v1/namespaces/{name}', 'GET /v1/access', 'GET /v1/access/log', 'GET /v1/access/checkpoint'],
];

inBothModes('an alias', (service) => {
  it('is accepted by every endpoint that takes the name of a collection', async () => {
    const { rw } = await service.newProject();
    answered(await create(rw, 'c'));
    answered(await rw.put('/v1/aliases/x', { collection: 'c' }));
    for (const [method, path, body] of NAMING) {
      const json = body && JSON.stringify(body).replace('{c}', 'x');
      const { status, text } = await rw.raw(method, path.replace('{c}', 'x'), json);
      expect(status, `${method} ${path}: ${text}`).to.be.within(200, 204);
    }
  });

  it('is tested at every endpoint of the document that takes the name of a collection', async () => {
    const document = (await service.client(undefined).get('/openapi.json')).body;
    const tested = new Set([...APART, ...NAMING.map(([method, path]) => `${method} ${path.split('?')[0]}`)]);
    const isTested = (method: string, path: string): boolean => {
      const pattern = new RegExp(`^${method} ${path.replaceAll(/{\w+}/g, '[^/]+')}$`);
      return [...tested].some((one) => pattern.test(one));
    };
    for (const [path, methods] of Object.entries<Record<string, object>>(document.paths))
      for (const [method, operation] of Object.entries(methods)) {
        const takesName = /"collections?"|\{name\}/.test(path + parametersIn(document, operation));
        if (takesName) expect(isTested(method.toUpperCase(), path), `${method} ${path}`).to.equal(true);
      }
  });

  it('can lead to an imported collection once the import is finished', async () => {
    const { rw } = await service.newProject();
    answered(await create(rw, 'c'));
    answered(await rw.post('/v1/records', { collection: 'c', values: [1, 2] }));
    const exported = answered(await rw.get('/v1/export?collection=c'));
    const log = (await rw.get('/v1/export/log?collection=c')).bytes;
    answered(await rw.post('/v1/import', { ...exported, name: 'copy' }));
    expectError(await rw.put('/v1/aliases/x', { collection: 'copy' }), 409, 'conflict');
    answered(await rw.postBytes('/v1/import/copy/log', log));
    answered(await rw.post('/v1/import/copy/finish', {}));
    answered(await rw.put('/v1/aliases/x', { collection: 'copy' }));
    expect(answered(await rw.get('/v1/records/count?collection=x'))).to.deep.equal({ count: 1 });
    expectError(await rw.post('/v1/import', { ...exported, name: 'x' }), 409, 'conflict');
  });
});

/** The text of the parameters and the body of an operation, with the schema of the body. */
function parametersIn(document: { components: { schemas: Record<string, object> } }, operation: object): string {
  const { parameters, requestBody } = operation as Record<'parameters' | 'requestBody', unknown>;
  const text = JSON.stringify([parameters, requestBody]);
  const refs = [...text.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name!);
  return text + refs.map((name) => JSON.stringify(document.components.schemas[name])).join();
}

inBothModes('the number of aliases', (_, { start }) => {
  let service: Service;
  before(async () => {
    service = await start({ VOUCH_MAX_ALIASES: '2' });
  });

  it('is bounded for each project', async () => {
    const { rw } = await service.newProject();
    answered(await create(rw, 'c'));
    for (const alias of ['x', 'y']) answered(await rw.put(`/v1/aliases/${alias}`, { collection: 'c' }));
    const refused = await rw.put('/v1/aliases/z', { collection: 'c' });
    expectError(refused, 507, 'capacity_exceeded');
    expect(refused.body.error).to.equal('the project has 2 aliases, its bound; delete one first');
    answered(await rw.put('/v1/aliases/x', { collection: 'c' }));
    expect((await rw.delete('/v1/aliases/x')).status).to.equal(204);
    answered(await rw.put('/v1/aliases/z', { collection: 'c' }));
  });
});
