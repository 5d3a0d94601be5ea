// Covers: coordinator/contract/publishedSchemas.ts, coordinator/contract/records.ts, coordinator/contract/search.ts
// Covers: coordinator/contract/service.ts, coordinator/contract/values.ts, shared/model/indexKinds.ts
import { expect } from 'chai';
import { openApi } from '../../../../coordinator/contract/openapi.js';
import { assertGetRecords } from '../../../../coordinator/contract/records.js';
import { assertSearch } from '../../../../coordinator/contract/search.js';
import { assertCreateKey } from '../../../../coordinator/contract/service.js';
import { API_ROUTES } from '../../../../coordinator/handlers/routes.js';
import { METRICS_ROUTE } from '../../../../coordinator/handlers/service.js';
import { ERRORS, type ErrorCode } from '../../../../shared/errors/errorTable.js';
import { joinMetricTexts, metricTexts } from '../../../../shared/metrics/metricsText.js';
import { Amounts, labelsText } from '../../../../shared/metrics/samples.js';
import { OUTSIDE_NAMES } from '../../../../shared/model/indexParameters.js';

interface Operation {
  readonly responses: Readonly<Record<string, unknown>>;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: unknown;
  readonly operationId: string;
}

describe('the OpenAPI document', () => {
  const routes = [...API_ROUTES, METRICS_ROUTE];
  const document = JSON.parse(JSON.stringify(openApi(routes, '1.2.3')));
  const operation = (method: string, path: string): Operation => document.paths[path][method.toLowerCase()];

  it("has every route, with each of its error codes under the code's status", () => {
    for (const { method, path, errors } of routes) {
      const { responses } = operation(method, path);
      for (const code of errors) expect(responses).to.have.property(String(ERRORS[code].status));
    }
    const ids = routes.map(({ method, path }) => operation(method, path).operationId);
    expect(new Set(ids).size).to.equal(routes.length);
  });

  it('mentions every error code except those that no route returns', () => {
    const documented = new Set(routes.flatMap(({ errors }) => errors));
    const undocumented = Object.keys(ERRORS).filter((code) => !documented.has(code as ErrorCode));
    expect(undocumented).to.deep.equal(['method_not_allowed']);
  });

  it('has every parameter of an index', () => {
    const { properties } = document.components.schemas.IndexParameters;
    expect(Object.keys(properties)).to.have.members(Object.values(OUTSIDE_NAMES));
  });

  it('refers only to schemas that it has', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
    expect(references.length).to.be.above(50);
    for (const [, name] of references) expect(document.components.schemas).to.have.property(name!);
  });

  it('names parameters and bodies, with the bounds that are checked', () => {
    expect(operation('GET', '/v1/records/{id}').parameters.map(({ name, in: place }) => [place, name])).to.deep.equal([
      ['path', 'id'],
      ['query', 'collection'],
      ['query', 'with'],
    ]);
    const { schemas } = document.components;
    // One of `query` and `like` is required, which the schema does not say.
    expect(schemas.SearchRequest.required).to.deep.equal(['k']);
    expect(schemas.Component ?? schemas.SearchRequest.properties.query.items).to.deep.include({
      minimum: -32_768,
      maximum: 32_767.99998,
    });
    for (const [property, { description }] of Object.entries<{ description?: string }>(
      schemas.SearchRequest.properties,
    ))
      expect(description === undefined, property).to.equal(property === 'k');
    expect(schemas.SearchRequest.properties.metadata_filter.description).to.match(/`eq`[\s\S]*`exists`[\s\S]*`\$not`/);
    expect(operation('POST', '/v1/search').requestBody).to.have.nested.property('content.application/json.schema');
  });
});

describe('the OpenAPI document promises', () => {
  const document = JSON.parse(JSON.stringify(openApi([...API_ROUTES, METRICS_ROUTE], '1.2.3')));
  const { schemas } = document.components;
  const operations: { path: string; method: string; responses: Record<string, { headers: object }> }[] = Object.entries<
    Record<string, object>
  >(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, written]) => ({ path, method, ...written }) as never),
  );
  const parameter = (method: string, path: string, name: string): { schema: { $ref: string } } =>
    document.paths[path][method].parameters.find((one: { name: string }) => one.name === name);

  it('a conflict wherever an unfinished import is refused', () => {
    const named = API_ROUTES.filter(({ errors }) => errors.includes('collection_not_found'));
    const without = named.filter(({ errors }) => !errors.includes('conflict')).map(({ name }) => name);
    expect(without).to.deep.equal(['GET /v1/namespaces/{name}']);
    expect(named.length).to.be.above(30);
  });

  it('ids up to 2^53 - 1, key ids of 32 hex digits, and for k only the minimum', () => {
    expect(parameter('get', '/v1/records/{id}', 'id').schema.$ref).to.match(/\/Whole$/);
    expect(schemas.Whole).to.include({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
    for (const method of ['delete', 'get']) {
      const path = `/v1/crypto/${method === 'get' ? 'status' : 'shred'}/{key_id}`;
      expect(parameter(method, path, 'key_id').schema.$ref).to.match(/\/KeyId$/);
    }
    expect(schemas.KeyId).to.deep.include({ pattern: '^[0-9a-f]{32}$' });
    expect(schemas.ResultCount).to.deep.equal({ type: 'integer', minimum: 1 });
    expect(schemas.CreateKeyRequest.properties.expires_in_secs.oneOf).to.deep.include({
      type: 'integer',
      minimum: 1,
      maximum: 4_294_967_295,
    });
  });

  it('schemas that client generators can read', () => {
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { oneOf, type, enum: values, properties } = value as Record<string, unknown>;
      expect(value, path).not.to.have.property('const');
      if (Array.isArray(values)) expect(type, path).to.equal(typeof values[0]);
      if (Array.isArray(oneOf)) expect(new Set(oneOf.map((one) => JSON.stringify(one))).size).to.equal(oneOf.length);
      for (const [name, one] of Object.entries(properties ?? {}))
        expect(one.type, `${path} ${name}`).not.to.equal('null');
      for (const [name, inner] of Object.entries(value)) visit(inner, `${path}.${name}`);
    };
    visit(document, '');
    expect(schemas.Whole.format).to.equal('int64');
    expect(schemas.SearchRequest.properties.consistency.oneOf).to.deep.equal([
      { type: 'null' },
      { type: 'string', enum: ['strong', 'eventual', 'linearizable', 'local'] },
    ]);
    expect(document.info.license.identifier).to.equal('Apache-2.0');
    expect(document.servers).to.have.length(1);
  });

  it('a schema for each content type, descriptions of path parameters, and listed tags', () => {
    const tags = document.tags.map(({ name }: { name: string }) => name);
    for (const { path, ...written } of operations) {
      const { tags: own, requestBody, responses, parameters } = written as never as Record<string, never>;
      expect(tags).to.include.members(own);
      for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)] as { content?: object }[])
        for (const [type, media] of Object.entries(content))
          expect(media, `${path} ${type}`).to.have.property('schema');
      for (const one of parameters as { in: string; description?: string }[])
        if (one.in === 'path') expect(one.description, path).to.be.a('string');
    }
    expect(new Set(operations.flatMap((one) => (one as never as { tags: string[] }).tags)).size).to.equal(tags.length);
  });

  it('optional bodies for exactly two operations', () => {
    const optional = API_ROUTES.filter(({ path, method }) => {
      const { requestBody } = document.paths[path][method.toLowerCase()];
      return requestBody !== undefined && !requestBody.required;
    });
    expect(optional.map(({ path }) => path)).to.deep.equal(['/v1/index/rebuild', '/v1/import/{name}/log']);
  });

  it('the headers of each status', () => {
    for (const { path, responses } of operations)
      for (const [status, { headers }] of Object.entries(responses)) {
        expect(headers, path).to.have.property('x-request-id');
        if (status === '401') expect(headers).to.have.property('www-authenticate');
        if (status === '429' || status === '503') expect(headers, path).to.have.property('retry-after');
        if (status === '429') expect(headers).to.have.property('ratelimit-reset');
      }
    expect(document.components.responses.MethodNotAllowed.headers).to.have.property('allow');
  });
});

describe('the refusal of a request', () => {
  const refusal = (expires_in_secs: unknown): string => {
    try {
      assertCreateKey({ scope: 'admin', expires_in_secs });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('names both bounds of a number, whichever bound it violates', () => {
    expect(refusal(4_294_967_295)).to.equal('');
    expect(refusal(4_294_967_296)).to.equal(
      '$.expires_in_secs: expected a whole number from 1 to 4294967295, got 4294967296',
    );
    expect(refusal(0)).to.equal('$.expires_in_secs: expected a whole number from 1 to 4294967295, got 0');
    for (const k of [5_001, 0, 1.5, -1])
      expect(() => assertSearch({ query: [], k })).to.throw(`$.k: expected a whole number from 1 to 5000, got ${k}`);
    expect(() => assertSearch({ query: [40_000], k: 1 })).to.throw(
      '$.query[0]: expected a number from -32768 to 32767.99998, got 40000',
    );
  });

  it('counts the bytes of a text whose bound is in bytes', () => {
    for (const id of ['', 'x'.repeat(257)])
      expect(() => assertGetRecords({ external_ids: [id] })).to.throw(
        `$.external_ids[0]: expected a string of 1 to 256 bytes, got ${id.length} bytes`,
      );
  });
});

describe('the Prometheus text', () => {
  it('groups the samples of all sources by name, with their own labels', async () => {
    const own = new Map([['a', new Amounts({ name: 'a', type: 'gauge', help: 'one\n\\', labelNames: [] }, '')]]);
    own.get('a')!.set(undefined, 1);
    const shared = labelsText(['shard'], { shard: 's"1' });
    const shard = new Map([
      ['b', new Amounts({ name: 'b', type: 'counter', help: 'two', labelNames: ['op'] }, shared)],
      ['a', new Amounts({ name: 'a', type: 'gauge', help: 'other', labelNames: [] }, shared)],
      ['c', new Amounts({ name: 'c', type: 'gauge', help: 'of nothing', labelNames: ['x'] }, shared)],
    ]);
    shard.get('b')!.add({ op: 'x' }, 1);
    shard.get('a')!.set(undefined, Number.POSITIVE_INFINITY);
    const text = joinMetricTexts([
      await metricTexts(own),
      await metricTexts(shard),
      await metricTexts(own),
      await metricTexts(shard),
    ]);
    expect(text).to.equal(
      '# HELP a one\\n\\\\\n# TYPE a gauge\na 1\na{shard="s\\"1"} +Inf\na 1\na{shard="s\\"1"} +Inf\n\n' +
        '# HELP b two\n# TYPE b counter\nb{op="x",shard="s\\"1"} 1\nb{op="x",shard="s\\"1"} 1\n\n' +
        '# HELP c of nothing\n# TYPE c gauge\n',
    );
  });
});
