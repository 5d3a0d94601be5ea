/** Metadata is returned as sent, or refused: numbers that a double cannot represent, and repeated keys. */
import { expect } from 'chai';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';

/** A JSON object, and the path of its refused part. */
const REFUSED: readonly [json: string, place: string][] = [
  ['{"n": 1e400}', '.n'],
  ['{"n": -1e400}', '.n'],
  ['{"a": [1, {"n": 1.8e308}]}', '.a[1].n'],
  ['{"n": 9007199254740993}', '.n'],
  ['{"n": 9007199254740994}', '.n'],
  ['{"n": -9007199254740993}', '.n'],
  ['{"o": {"p": [0, 12345678901234567890]}}', '.o.p[1]'],
  [`{"n": 1${'0'.repeat(400)}}`, '.n'],
  ['{"n": 1e-400}', '.n'],
  [`{"n": 0.${'0'.repeat(330)}1}`, '.n'],
  [`{"n": -0.${'0'.repeat(250)}1e-99}`, '.n'],
  ['{"a": 1, "a": 2}', '.a'],
  ['{"a": 1, "\\u0061": 1}', '.a'],
  ['{"o": [{"b": {"c": 1, "d": 2, "c": 3}}]}', '.o[0].b.c'],
  ['{"__proto__": 1, "__proto__": 2}', '.__proto__'],
  [`{"a"${' '.repeat(100)}: "\\"", "a"\n:"1e400"}`, '.a'],
];

const KEPT: readonly string[] = [
  '{"n": 9007199254740992}',
  '{"n": -9007199254740992}',
  '{"n": 9007199254740991}',
  '{"n": 1e300}',
  '{"n": 1.7976931348623157e308}',
  '{"n": 5e-324}',
  '{"n": 2.5e-310}',
  '{"n": 0.1234567890123456789}',
  '{"n": 1E16, "m": 0, "z": 0.0, "e": 0e-400, "x": 0.000e5}',
  '{"s": "1e400", "9007199254740993": "\\"9007199254740993"}',
  '{"a": {"a": {"a": [{"a": 1}, {"a": 2}]}}, "b": ":", "c": "\\\\"}',
  '{"__proto__": {"x": 1}, "constructor": {"prototype": 2}, "toString": null}',
];

inBothModes('metadata', (service) => {
  let rw: Client;
  before(async () => {
    rw = (await service.newProject()).rw;
    await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    await rw.post('/v1/records', { collection: 'c', values: [0] });
  });
  const insert = (json: string) =>
    rw.post('/v1/records', { collection: 'c', values: [1], metadata: [...Buffer.from(json)] });
  const insertObject = (json: string) =>
    rw.raw('POST', '/v1/records', `{"collection":"c","values":[1],"metadata":${json}}`);
  const batch = (...items: string[]) =>
    rw.raw(
      'POST',
      '/v1/vectors/batch-insert',
      `{"collection":"c","batch":[${items.map(() => '[1e0]')}],"metadata":[${items}]}`,
    );
  it('and every other field that a body has twice are refused', async () => {
    const before = await sequence();
    for (const [path, field, body] of [
      ['/v1/search', 'metadata_filter', '"query":[0],"k":1,"metadata_filter":{"a":1},"metadata_filter":null'],
      ['/v1/search', 'k', '"query":[0],"k":1,"k":2'],
      ['/v1/search', 'graph_rerank.weight', '"query":[0],"k":1,"graph_rerank":{"weight":0,"weight":1}'],
      ['/v1/delete', 'id', '"id":2,"id":1'],
      ['/v1/records/delete', 'ids', '"ids":[2],"\\u0069ds":[1]'],
      ['/v1/vectors/batch-insert', 'texts', '"batch":[[1]],"metadata":[{}],"texts":["a"],"texts":["b"]'],
      ['/v1/graph/node', 'kind', '"kind":1,"kind":2'],
    ] as const) {
      const { status, body: answer } = await rw.raw('POST', path, `{"collection":"c",${body}}`);
      expect([status, answer.error], path).to.deep.equal([400, `$.${field} appears twice`]);
    }
    expect(await sequence()).to.equal(before);
  });

  const patch = (json: string) => rw.raw('PATCH', '/v1/records/1/metadata?collection=c', json);
  const shown = async (id: number): Promise<unknown> => (await rw.get(`/v1/records/${id}?collection=c`)).body.metadata;
  const sequence = async (): Promise<number> => (await rw.get('/v1/proof/state?collection=c')).body.sequence;
  const expectRefused = ({ status, body, text }: Answer, place: string, json: string): void => {
    expect([status, body?.code], `${json} ${text}`).to.deep.equal([400, 'validation_error']);
    expect(body.error, json).to.match(new RegExp(`^${place.replaceAll(/[$.[\]]/g, '\\$&')}(?::| appears)`));
  };

  it('is refused on every route if storing would change it, and nothing is stored', async () => {
    const before = await sequence();
    for (const [json, place] of REFUSED) {
      expectRefused(await insert(json), `$.metadata${place}`, json);
      expectRefused(await insertObject(json), `$.metadata${place}`, json);
      expectRefused(await patch(json), `$${place}`, json);
      expectRefused(await batch('{"a": 1}', json), `$.metadata[1]${place}`, json);
      expectRefused(await batch('null', JSON.stringify(json)), `$.metadata[1]${place}`, json);
    }
    expect(await sequence()).to.equal(before);
  });

  it('is returned as sent on every route if it can be kept', async () => {
    for (const json of KEPT) {
      const single = [(await insert(json)).body.id, (await insertObject(json)).body.id];
      const ids = [...single, ...(await batch(json, JSON.stringify(json))).body.ids];
      const patched = await patch(json);
      expect(patched.status, patched.text).to.equal(200);
      for (const id of [...ids, 1])
        expect(JSON.stringify(await shown(id)), json).to.equal(JSON.stringify(JSON.parse(json)));
    }
  });

  it('is opaque if it is not a JSON object, whatever it looks like', async () => {
    for (const bytes of ['[1e400]', '9007199254740993', '{"a": 1e400', '{"a": 1, "a"}']) {
      const { status, body, text } = await insert(bytes);
      expect(status, text).to.equal(200);
      expect(await shown(body.id)).to.equal(null);
    }
  });

  it('is refused on every route if it is an object beyond the bounds of JSON', async () => {
    const beyond = [`{"${'k'.repeat(1_025)}":1}`, `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`];
    for (const json of beyond)
      for (const answer of [await insert(json), await insertObject(json), await batch(json), await patch(json)])
        expect([answer.status, answer.body.code], answer.text).to.deep.equal([400, 'validation_error']);
  });

  it('is refused only for its own content, not for other fields of the batch', async () => {
    const beside = '"texts":["1e400", "9007199254740993"]';
    const body = `{"collection":"c","batch":[[1.0000000000000000001],[1]],"metadata":[{"z":0},null],${beside}}`;
    const kept = await rw.raw('POST', '/v1/vectors/batch-insert', body);
    expect(kept.status, kept.text).to.equal(200);
    const twice = '{"collection":"c","batch":[[1]],"metadata":[{"a":1}],"metadata":[{"a":2}]}';
    expectRefused(await rw.raw('POST', '/v1/vectors/batch-insert', twice), '$.metadata', twice);
  });

  it('is not compared with numbers that a double cannot represent', async () => {
    const filters: [string, string][] = [
      ['{"n": 9007199254740993}', '.n'],
      ['{"n": {"gte": 9007199254740993}}', '.n.gte'],
      ['{"n": {"in": [1, 9007199254740993]}}', '.n.in[1]'],
      ['{"$or": [{"n": {"lt": -1e400}}]}', '.$or[0].n.lt'],
      ['{"n": {"gt": 1e-400}}', '.n.gt'],
      ['{"n": {"gte": 1}, "n": {"lt": 5}}', '.n'],
    ];
    for (const [filter, place] of filters) {
      const rest = `"query":[0],"k":1,"metadata_filter":${filter}}`;
      for (const answer of [
        await rw.raw('POST', '/v1/search', `{"collection":"c",${rest}`),
        await rw.raw('POST', '/v1/search/multi', `{"collections":["c"],${rest}`),
      ])
        expectRefused(answer, `$.metadata_filter${place}`, filter);
    }
    const known = await rw.raw(
      'POST',
      '/v1/search',
      '{"collection":"c","query":[0],"k":1,"metadata_filter":{"n":{"lt":1e300}}}',
    );
    expect(known.status, known.text).to.equal(200);
  });

  it('has the same rule for numbers as every other field', async () => {
    const bodies: [path: string, body: string, field: string][] = [
      ['/v1/records', '{"collection":"c","values":[1e400]}', '$.values[0]'],
      ['/v1/records', '{"collection":"c","values":[1],"tag":9007199254740993}', '$.tag'],
      ['/v1/records', '{"collection":"c","values":[1],"tag":1e400}', '$.tag'],
      ['/v1/vectors/batch-insert', '{"collection":"c","batch":[[-1e400]]}', '$.batch[0][0]'],
      ['/v1/search', '{"collection":"c","query":[1e400],"k":1}', '$.query[0]'],
      ['/v1/search', '{"collection":"c","query":[1],"k":1e400}', '$.k'],
      ['/v1/search', '{"collection":"c","query":[1],"k":1,"as_of_log_index":9007199254740993}', '$.as_of_log_index'],
      ['/v1/search', '{"collection":"c","query":[1],"k":1,"decay_half_life_secs":1e400}', '$.decay_half_life_secs'],
      ['/v1/delete', '{"collection":"c","id":9007199254740993}', '$.id'],
      ['/v1/soft-delete', '{"collection":"c","id":1e400}', '$.id'],
      ['/v1/graph/node', '{"collection":"c","kind":0,"record_id":9007199254740993}', '$.record_id'],
      ['/v1/records/encrypted', '{"collection":"c","payload":"AAAA","tag":9007199254740993}', '$.tag'],
    ];
    const before = await sequence();
    for (const [path, body, field] of bodies) expectRefused(await rw.raw('POST', path, body), field, body);
    expect((await rw.get('/v1/records/9007199254740993?collection=c')).status).to.be.within(400, 404);
    expect(await sequence()).to.equal(before);
  });
});
