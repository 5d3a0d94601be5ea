/** Unknown fields and parameters, at every endpoint of the OpenAPI document. */
import { expect } from 'chai';
import { pack } from 'msgpackr';
import { ApiDocument, type JsonSchema, type Operation } from '../support/api/document.js';
import type { Answer, Client } from '../support/launch/client.js';
import { rawExchange, requestHead } from '../support/launch/http.js';
import { inBothModesAndEngines } from '../support/launch/modes.js';

const STRANGER = 'unheard_of';
const PACKED = 'application/msgpack';

interface Written {
  readonly requestBody?: { readonly content: Readonly<Record<string, object>> };
}

inBothModesAndEngines('an unknown field or parameter', (service) => {
  let api: ApiDocument;
  let paths: Readonly<Record<string, Readonly<Record<string, Written>>>>;
  let clients: Readonly<Record<string, Client>>;
  before(async () => {
    const { rw, ro, admin } = await service.newProject();
    clients = { none: service.client(undefined), read_only: ro, read_write: rw, admin };
    const { body } = await service.client(undefined).get('/openapi.json');
    [api, paths] = [new ApiDocument(body), body.paths];
  });

  const ask = ({ method, path, scope }: Operation, query: string, body?: string | Uint8Array, type?: string) =>
    clients[scope ?? 'none']!.raw(
      method,
      `${path.replace('{key_id}', 'ab'.repeat(16)).replaceAll(/{\w+}/g, '1')}${query}`,
      body,
      type === undefined ? {} : { 'content-type': type },
    );
  const expectRefused = ({ status, body, text }: Answer, said: string, of: string): void => {
    expect([status, body?.code], `${of} ${text}`).to.deep.equal([400, 'validation_error']);
    expect(body.error, of).to.include(said);
  };

  /** Objects of known fields in a schema: each with its path, and a value that contains it. */
  function objectsIn(schema: JsonSchema): { path: string; around: (inner: object) => unknown }[] {
    const { properties = {}, items, oneOf = [], additionalProperties } = api.resolved(schema);
    if (schema.$ref?.endsWith('/IndexParameters') || additionalProperties !== undefined) return [];
    if (items !== undefined)
      return objectsIn(items).map(({ path, around }) => ({ path: `[0]${path}`, around: (inner) => [around(inner)] }));
    if (oneOf.length > 0) return oneOf.flatMap(objectsIn);
    if (api.resolved(schema).type !== 'object') return [];
    const inner = Object.entries(properties).flatMap(([name, field]) =>
      objectsIn(field).map(({ path, around }) => ({
        path: `.${name}${path}`,
        around: (value: object) => ({ [name]: around(value) }),
      })),
    );
    return [{ path: '', around: (value: object) => value }, ...inner];
  }

  it('in the query is refused and named, whatever else the request lacks', async () => {
    for (const operation of api.operations) {
      const { method, path, body } = operation;
      const type = body?.contentType;
      const content = body === undefined ? undefined : '{}';
      for (const name of [STRANGER, 'Collection_name', '__proto__', 'x'.repeat(3_000)]) {
        const answer = await ask(operation, `?${name}=1`, content, type);
        expectRefused(answer, `query parameter ${name.slice(0, 64)}`, `${method} ${path}`);
        expect(answer.text.length).to.be.below(600);
      }
    }
  });

  it('in any object of a body is refused before missing fields are, in JSON and msgpack', async () => {
    let packed = 0;
    const seen: string[] = [];
    for (const operation of api.operations) {
      const { method, path, body } = operation;
      const objects = body?.schema === undefined ? [] : objectsIn(body.schema);
      const isPackable = paths[path]![method.toLowerCase()]!.requestBody?.content[PACKED] !== undefined;
      for (const { path: at, around } of objects) {
        seen.push(`${method} ${path} ${at}`);
        for (const name of [STRANGER, '__proto__', 'y'.repeat(1_000)]) {
          const value = around(JSON.parse(`{${JSON.stringify(name)}:1}`));
          const said = `$${at}.${name.slice(0, 64)}`;
          expectRefused(await ask(operation, '', JSON.stringify(value)), said, `${method} ${path}`);
        }
        if (!isPackable) continue;
        packed += 1;
        expectRefused(await ask(operation, '', pack(around({ [STRANGER]: 1 })), PACKED), `$${at}.${STRANGER}`, path);
      }
    }
    expect(seen).to.include.members([
      ...['POST /v1/search ', 'POST /v1/search .graph_rerank', 'POST /v1/search/batch .searches[0].graph_rerank'],
      ...['POST /v1/search/multi .like', 'POST /v1/import .origin', 'POST /v1/import .index', 'POST /v1/keys '],
    ]);
    expect(packed).to.be.above(8);
  });

  it('is named with the field that was probably meant', async () => {
    const { read_only: ro, read_write: rw } = clients as Record<'read_only' | 'read_write', Client>;
    const meant: [string, object, string][] = [
      ['/v1/search', { query: [1], filter: { warm: true } }, '$.filter is unknown here: did you mean metadata_filter?'],
      ['/v1/search', { vector: [1], top_k: 3 }, '$.vector is unknown here: did you mean query?'],
      ['/v1/search', { query: [1], limit: 3, namespace: 'a' }, '$.limit is unknown here: did you mean k?'],
      ['/v1/search', { query: [1], k: 1, metadataFilter: {} }, 'did you mean metadata_filter?'],
      [
        '/v1/search',
        { query: [1], k: 1, graph_rerank: { weigth: 1 } },
        '$.graph_rerank.weigth is unknown here: did you mean weight?',
      ],
      [
        '/v1/search/batch',
        { searches: [{}, { query_q16: [1], topK: 1 }] },
        '$.searches[1].query_q16 is unknown here: did you mean query?',
      ],
      [
        '/v1/search/multi',
        { query: [1], k: 1, group_by: 'a' },
        '$.group_by is unknown here: groups are made in one collection',
      ],
      ['/v1/search', { [STRANGER]: 1 }, 'expected only query, like, like_external_id, k, '],
    ];
    for (const [path, body, said] of meant) expectRefused(await ro.post(path, body), said, path);
    const packed = pack({ values_q16: Buffer.alloc(4), k: 1 });
    expectRefused(
      await ro.raw('POST', '/v1/search', packed, { 'content-type': PACKED }),
      '$.values_q16 is unknown here: did you mean query?',
      'msgpack',
    );
    expectRefused(await ro.get('/v1/records?page_size=3'), 'page_size is unknown here: did you mean limit?', 'list');
    expectRefused(await rw.delete('/v1/namespaces/c?force=1'), 'force is unknown here: there are none', 'drop');
  });

  it('is refused after a wrong key, a repeated parameter and broken JSON', async () => {
    const { read_only: ro, none } = clients as Record<'read_only' | 'none', Client>;
    expect((await none.post('/v1/search?x=1', { y: 1 })).status).to.equal(401);
    expect((await ro.post('/v1/records?x=1', { y: 1 })).status).to.equal(403);
    expectRefused(await ro.post('/v1/search?x=1', { y: 1 }), 'query parameter x is unknown', 'the query comes first');
    expectRefused(await ro.get('/v1/records?x=1&x=2'), 'query parameter x is repeated', 'a repeated one');
    expectRefused(await ro.raw('POST', '/v1/search', '{"y":'), 'not JSON', 'torn');
    expectRefused(await ro.post('/v1/search', [{ y: 1 }]), '$: expected a JSON object, got an array of 1', 'a list');
  });

  it('in a body is refused if the request takes no body, and an empty body is accepted', async () => {
    const { port } = new URL(service.url);
    const { key } = clients.read_write as Client;
    const ask = async (method: string, path: string, body: string, framing: Readonly<Record<string, string>>) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...framing };
      return (await rawExchange(Number(port), requestHead(method, path, headers) + body))[0]!;
    };
    const body = '{"metadata_filter":{"a":1}}';
    for (const [method, path] of [
      ['GET', '/v1/namespaces'],
      ['GET', '/v1/records/count?collection=c'],
      ['DELETE', '/v1/namespaces/c'],
      ['DELETE', '/v1/graph/node/1'],
    ] as const)
      for (const [sent, framing] of [
        [body, { 'content-length': String(body.length) }],
        [`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`, { 'transfer-encoding': 'chunked' }],
      ] as const) {
        const answer = await ask(method, path, sent, framing);
        expect([answer.status, answer.body], `${method} ${path}`).to.deep.equal([
          400,
          '{"error":"this request takes no body: its parameters are in the URL","code":"validation_error"}',
        ]);
      }
    for (const [sent, framing] of [
      ['{}', { 'content-length': '2' }],
      ['', { 'content-length': '0' }],
      ['0\r\n\r\n', { 'transfer-encoding': 'chunked' }],
    ] as const)
      expect((await ask('GET', '/v1/namespaces', sent, framing)).status, sent).to.equal(200);
  });

  it('is accepted if a public client sends it and the table lists it', async () => {
    const { read_write: rw, admin } = clients as Record<'read_write' | 'admin', Client>;
    await rw.post('/v1/namespaces', { name: 'default', dimension: 1, metric: 'squared_l2' });
    await rw.post('/v1/vectors/batch-insert', { batch: [[1], [2]] });
    const request_id = Array.from({ length: 16 }, (_, i) => i);
    for (const [id, path] of ['/v1/delete', '/v1/soft-delete'].entries()) {
      expect((await rw.post(path, { id: id + 1, request_id })).status, path).to.equal(200);
      expect((await rw.post(path, { id: id + 1, request_id })).body.code, path).to.equal('record_not_found');
    }
    const make = (fields: object) => admin.post('/v1/keys', { scope: 'read_only', ...fields });
    expect((await make({ description: 'for the page' })).body.label).to.equal('for the page');
    expect((await make({ description: 'long', label: 'short' })).body.label).to.equal('short');
    for (const description of ['x'.repeat(10_000), null, 5])
      expect((await make({ description })).body.label).to.equal(null);
    expectRefused(
      await make({ collection: 'docs' }),
      '$.collection is unknown here: a key is for all collections',
      'key',
    );
  });
});
