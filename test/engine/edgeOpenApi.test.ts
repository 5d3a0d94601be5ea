import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { openApi } from '../../coordinator/contract/openapi.js';
import { exposition } from '../../coordinator/handlers/exposition.js';
import { API_ROUTES, METRICS_ROUTE } from '../../coordinator/handlers/routes.js';
import { ERROR_STATUS, type ErrorCode } from '../../shared/errors.js';

interface Operation {
  readonly responses: Readonly<Record<string, unknown>>;
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: unknown;
  readonly operationId: string;
}

describe('OpenAPI document', () => {
  const routes = [...API_ROUTES, METRICS_ROUTE];
  const document = JSON.parse(JSON.stringify(openApi(routes, '1.2.3')));
  const operation = (method: string, path: string): Operation => document.paths[path][method.toLowerCase()];

  it('has every route, and every code it can give under that code’s status', () => {
    for (const { method, path, errors } of routes) {
      const { responses } = operation(method, path);
      for (const code of errors) expect(responses).to.have.property(String(ERROR_STATUS[code]));
    }
    const ids = routes.map(({ method, path }) => operation(method, path).operationId);
    expect(new Set(ids).size).to.equal(routes.length);
  });

  it('tells of every code there is, but for those that no route gives', () => {
    const told = new Set(routes.flatMap(({ errors }) => errors));
    const untold = Object.keys(ERROR_STATUS).filter((code) => !told.has(code as ErrorCode));
    expect(untold).to.deep.equal(['method_not_allowed']);
  });

  it('tells of the same codes as the README, under the same statuses', async () => {
    const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8');
    const rows = [...readme.matchAll(/^\| (\d{3}) \| `(\w+)` \|/gm)].map(([, status, code]) => [code, Number(status)]);
    // Of 429 a body has no code.
    const { rate_limited: _, ...coded } = ERROR_STATUS;
    expect(Object.fromEntries(rows)).to.deep.equal(coded);
  });

  it('refers only to schemas it has', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
    expect(references.length).to.be.above(50);
    for (const [, name] of references) expect(document.components.schemas).to.have.property(name!);
  });

  it('names parameters and bodies, with the bounds that are checked', () => {
    expect(operation('GET', '/v1/records/{id}').parameters.map(({ name, in: place }) => [place, name])).to.deep.equal([
      ['path', 'id'],
      ['query', 'collection'],
    ]);
    const { schemas } = document.components;
    expect(schemas.SearchRequest.required).to.deep.equal(['query', 'k']);
    expect(schemas.Component ?? schemas.SearchRequest.properties.query.items).to.deep.include({
      minimum: -32_768,
      maximum: 32_767.99998,
    });
    for (const [property, { description }] of Object.entries<{ description?: string }>(
      schemas.SearchRequest.properties,
    ))
      expect(description === undefined, property).to.equal(property === 'k');
    expect(schemas.SearchRequest.properties.metadata_filter.description).to.match(/`eq`.*`exists`[\s\S]*`\$not`/);
    expect(operation('POST', '/v1/search').requestBody).to.have.nested.property('content.application/json.schema');
  });
});

describe('Prometheus text', () => {
  it('groups the samples of all sources by name, with their own labels', () => {
    const text = exposition([
      { labels: {}, families: [{ name: 'a', help: 'one\n\\', type: 'gauge', values: [{ value: 1, labels: {} }] }] },
      {
        labels: { shard: 's"1' },
        families: [
          {
            name: 'b',
            help: 'two',
            type: 'counter',
            values: [{ value: Number.POSITIVE_INFINITY, labels: { op: 'x' } }],
          },
          { name: 'a', help: 'other', type: 'gauge', values: [{ value: 2, labels: {}, metricName: 'a_sum' }] },
        ],
      },
    ]);
    expect(text).to.equal(
      '# HELP a one\\n\\\\\n# TYPE a gauge\na 1\na_sum{shard="s\\"1"} 2\n\n' +
        '# HELP b two\n# TYPE b counter\nb{op="x",shard="s\\"1"} +Inf\n',
    );
  });
});
