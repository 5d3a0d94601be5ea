// Covers: coordinator/handlers/recordJson.ts, coordinator/handlers/recordReads.ts
/** Pages of records, records by id, counts and values of a key, over HTTP and compared with simple loops. */
import { expect } from 'chai';
import { quantise } from '../../shared/fixedPoint.js';
import type { Json } from '../../shared/model/filter.js';
import type { Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import { SearchedByHttp } from '../support/launch/searchClient.js';
import { matches } from '../support/model/filter.js';
import { seededRandom, testSeed } from '../support/model/random.js';
import { compareScalars, hasKey, type Scalar, scalarsAt } from '../support/model/values.js';
import { Generator, type JsonObject } from '../support/rigs/generate.js';

/** Also requested through the package. */
const ROUTES = [
  ...(['GET /v1/records', 'POST /v1/records/get', 'GET /v1/records/count', 'GET /v1/facets'] as const),
  ...(['POST /v1/records/list', 'POST /v1/records/count', 'POST /v1/facets'] as const),
] as const;

const RECORDS = 300;
const ROUNDS = 25;
const KEYS = ['n', 's', 'f', 'o', 'l', 'any', 'o.n', 'o.s', 'l.n', 'n.n', 'absent'] as const;

interface Kept {
  readonly id: number;
  readonly metadata: JsonObject | undefined;
  readonly text: string | null;
  readonly vector: number[];
}

interface Filled {
  readonly collection: SearchedByHttp;
  readonly kept: readonly Kept[];
  readonly random: Generator;
}

/** Random records, of which some have been changed and deleted. */
async function filled(rw: Client): Promise<Filled> {
  const random = new Generator(seededRandom(testSeed()), 2, false);
  const collection = await SearchedByHttp.create(rw, 'c', 2);
  const records = Array.from({ length: RECORDS }, () => random.record());
  await collection.fill({
    batch: records.map(({ values }) => values),
    metadata: records.map(({ metadata }) => (metadata as JsonObject | undefined) ?? null),
    texts: records.map(({ text }) => text ?? null),
  });
  const kept = new Map<number, Kept>();
  for (const [i, { values, metadata, text }] of records.entries())
    kept.set(i + 1, {
      id: i + 1,
      metadata: metadata as JsonObject | undefined,
      text: text ?? null,
      vector: Array.from(quantise(values), (fixed) => Math.fround(fixed / 65_536)),
    });
  for (let n = 0; n < 30; n++) {
    const id = 1 + random.int(RECORDS);
    if (!kept.has(id)) continue;
    if (n % 3 === 0) {
      const metadata = random.metadata();
      await collection.patch(id, metadata);
      kept.set(id, { ...kept.get(id)!, metadata });
    } else {
      await collection.remove(id, n % 3 === 1 ? '/v1/delete' : '/v1/soft-delete');
      kept.delete(id);
    }
  }
  return { collection, kept: [...kept.values()], random };
}

const encoded = (filter: JsonObject | undefined): string =>
  filter === undefined ? '' : `&metadata_filter=${encodeURIComponent(JSON.stringify(filter))}`;

const among = (kept: readonly Kept[], filter: JsonObject | undefined): Kept[] =>
  kept.filter(({ metadata }) => filter === undefined || matches(filter, metadata as Json | undefined));

const plain = ({ id, metadata }: Kept): object => ({ id, tag: 0, metadata: metadata ?? null });

async function scrolled(rw: Client, rest: string): Promise<{ readonly pages: number; readonly records: object[] }> {
  const records: object[] = [];
  for (let pages = 1, after = 0; ; pages++) {
    const { status, body, text } = await rw.get(`/v1/records?collection=c&after=${after}${rest}`);
    expect(status, text).to.equal(200);
    records.push(...body.records);
    if (body.next === null) return { pages, records };
    expect(body.next).to.equal(body.records.at(-1).id);
    after = body.next;
  }
}

inBothModesAndThroughClient('reads of many records', ROUTES, (service) => {
  it('scroll, count and facets equal those of a simple loop, with any filter', async () => {
    const { rw } = await service.newProject();
    const { kept, random } = await filled(rw);
    for (let round = 0; round < ROUNDS; round++) {
      const filter = round === 0 ? undefined : random.filter();
      const wanted = among(kept, filter);
      const limit = random.pick([1, 7, 100, 1_000]);
      const { pages, records } = await scrolled(rw, `&limit=${limit}${encoded(filter)}`);
      expect(records, JSON.stringify(filter)).to.deep.equal(wanted.map(plain));
      expect(pages).to.equal(Math.max(1, Math.ceil(wanted.length / limit)));
      const count = await rw.get(`/v1/records/count?collection=c${encoded(filter)}`);
      expect(count.body).to.deep.equal({ count: wanted.length });
      const key = random.pick(KEYS);
      const facets = await rw.get(`/v1/facets?collection=c&key=${key}&limit=5${encoded(filter)}`);
      expect(facets.body, `${key} ${JSON.stringify(filter)}`).to.deep.equal(facetsOf(wanted, key, 5));
    }
  });

  it('scroll, count and facets accept a body too, whose filter may exceed a URL', async () => {
    const { rw, ro } = await service.newProject();
    const { kept } = await filled(rw);
    const long = { $or: [{ n: { in: Array.from({ length: 4_000 }, (_, i) => `${'x'.repeat(30)}${i}`) } }, { n: 2 }] };
    const filters: readonly (JsonObject | null | undefined)[] = [undefined, null, {}, { n: { gte: 2 } }, long];
    for (const filter of filters) {
      const wanted = among(kept, filter ?? undefined);
      const asked = { collection: 'c', metadata_filter: filter };
      const page = await ro.post('/v1/records/list', { ...asked, limit: 1_000, after: 3, with: ['text'] });
      const shown = wanted.filter(({ id }) => id > 3).map((one) => ({ ...plain(one), text: one.text }));
      expect(page.body, page.text).to.deep.equal({ records: shown, next: null });
      expect((await ro.post('/v1/records/count', asked)).body).to.deep.equal({ count: wanted.length });
      const facets = await ro.post('/v1/facets', { ...asked, key: 's', limit: 5 });
      expect(facets.body, facets.text).to.deep.equal(facetsOf(wanted, 's', 5));
    }
  });

  it('errors name the wrong field of a body by its path', async () => {
    const { rw } = await service.newProject();
    await SearchedByHttp.create(rw);
    const wrong: [string, object | string, string][] = [
      ['/v1/records/list', { limit: 0 }, '$.limit'],
      ['/v1/records/list', { with: ['tag'] }, '$.with[0]'],
      ['/v1/records/list', { metadata_filter: '{}' }, '$.metadata_filter'],
      ['/v1/records/count', { metadata_filter: { n: { gtee: 1 } } }, '$.metadata_filter.n'],
      ['/v1/records/count', '{"metadata_filter":{"n":1,"n":2}}', '$.metadata_filter.n'],
      ['/v1/facets', {}, '$.key'],
      ['/v1/facets', { key: 'x'.repeat(2_000) }, '$.key'],
      ['/v1/facets', '{"key":"n","metadata_filter":{"n":9007199254740993}}', '$.metadata_filter.n'],
    ];
    for (const [path, body, at] of wrong) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const answer = await rw.raw('POST', path, text);
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([400, 'validation_error']);
      expect(answer.body.error).to.include(at);
    }
    expect((await rw.get('/v1/records/1?with=metadata')).body.error).to.equal(
      'query parameter with: expected a string of vector, text, log_index, salt, separated by commas, got "metadata"',
    );
    for (const [path, body] of Object.entries({ 'records/list': {}, 'records/count': {}, facets: { key: 'n' } }))
      expect((await rw.post(`/v1/${path}`, body)).body.code).to.equal('collection_not_found');
  });

  it('fields are sent only on request', async () => {
    const { rw } = await service.newProject();
    const { kept } = await filled(rw);
    const { records } = await scrolled(rw, '&limit=1000&with=vector,text');
    expect(records).to.deep.equal(kept.map((one) => ({ ...plain(one), text: one.text, vector: one.vector })));
    const texts = await scrolled(rw, '&limit=1000&with=text');
    expect(texts.records).to.deep.equal(kept.map((one) => ({ ...plain(one), text: one.text })));
  });

  it('records by id come in the order of the ids, and missing ones are named', async () => {
    const { rw } = await service.newProject();
    const { kept } = await filled(rw);
    const [first, , third] = kept as [Kept, Kept, Kept];
    const gone = Array.from({ length: RECORDS }, (_, i) => i + 1).find((id) => kept.every((one) => one.id !== id))!;
    const ids = [third.id, gone, first.id, 999_999, third.id];
    const { body } = await rw.post('/v1/records/get', { collection: 'c', ids, with: ['vector'] });
    const shown = (one: Kept): object => ({ ...plain(one), vector: one.vector });
    expect(body).to.deep.equal({
      records: [shown(third), shown(first), shown(third)],
      missing: [gone, 999_999],
    });
  });

  it('encrypted records are listed without vector, metadata and text', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw, 'c', 2);
    await collection.insert([1, 2], { text: 'open' });
    const payload = Buffer.from('closed').toString('base64');
    await rw.post('/v1/records/encrypted', { collection: 'c', payload, tag: 7 });
    const { body } = await rw.get('/v1/records?collection=c&with=vector,text');
    expect(body).to.deep.equal({
      records: [
        { id: 1, tag: 0, metadata: null, text: 'open', vector: [1, 2] },
        { id: 2, tag: 7, metadata: null, text: null, vector: [0, 0] },
      ],
      next: null,
    });
    expect((await rw.get('/v1/records/count?collection=c')).body).to.deep.equal({ count: 2 });
  });

  it('long strings are counted whole', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw);
    const [long, other] = ['x'.repeat(500), `${'x'.repeat(499)}y`];
    await collection.fill({ batch: [[1], [2], [3]], metadata: [{ s: long }, { s: [long, 1] }, { s: other }] });
    const { body } = await rw.get('/v1/facets?collection=c&key=s');
    expect(body.values[0]).to.deep.equal({ value: long, count: 2 });
    expect(body.values.slice(1)).to.deep.equal([
      { value: 1, count: 1 },
      { value: other, count: 1 },
    ]);
    expect([body.distinct, body.records]).to.deep.equal([3, 3]);
  });

  it('a page ends before it would exceed the size of an answer', async () => {
    const { rw } = await service.newProject();
    const collection = await SearchedByHttp.create(rw, 'wide', 32_768);
    // Each takes 32 KiB as JSON, and 128 KiB in storage.
    const batch = Array.from({ length: 80 }, (_, i) => new Array(32_768).fill(i % 2));
    await collection.fill({ batch });
    const { body } = await rw.get('/v1/records?collection=wide&limit=1000&with=vector');
    expect(body.records.length).to.be.within(1, 79);
    expect(body.next).to.equal(body.records.at(-1).id);
    const ids = batch.map((_, i) => i + 1);
    const got = await rw.post('/v1/records/get', { collection: 'wide', ids, with: ['vector'] });
    expect(got.body.records).to.have.length(80);
    const tooMany = await rw.post('/v1/records/get', {
      collection: 'wide',
      ids: [...ids, ...ids, ...ids, ...ids],
      with: ['vector'],
    });
    expect([tooMany.status, tooMany.body.code]).to.deep.equal([400, 'validation_error']);
  });

  const refused: readonly [string, string, string][] = [
    ['limit 0', '/v1/records?collection=c&limit=0', 'limit'],
    ['limit 1001', '/v1/records?collection=c&limit=1001', 'limit'],
    ['an unknown field', '/v1/records?collection=c&with=vector,tag', 'with'],
    ['an invalid id', '/v1/records?collection=c&after=-1', 'after'],
    ['a filter that is not JSON', '/v1/records?collection=c&metadata_filter={', 'metadata_filter'],
    ['a filter that is not an object', '/v1/records/count?collection=c&metadata_filter=[]', 'metadata_filter'],
    ['an unknown operator', '/v1/facets?collection=c&key=n&metadata_filter={"n":{"gtee":1}}', 'metadata_filter.n'],
    ['a key twice', '/v1/records/count?collection=c&metadata_filter={"n":1,"n":2}', 'metadata_filter.n'],
    ['facets of no key', '/v1/facets?collection=c', 'key'],
  ];
  for (const [title, path, named] of refused)
    it(`reads refuse ${title}`, async () => {
      const { rw } = await service.newProject();
      await SearchedByHttp.create(rw);
      const answer = await rw.get(path);
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([400, 'validation_error']);
      expect(answer.body.error).to.include(named);
    });

  it('reads refuse too many ids, no ids, and an unknown collection', async () => {
    const { rw } = await service.newProject();
    await SearchedByHttp.create(rw);
    for (const body of [{}, { ids: [] }, { ids: new Array(1_001).fill(1) }, { ids: [1], with: ['tag'] }]) {
      const answer = await rw.post('/v1/records/get', { collection: 'c', ...body });
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([400, 'validation_error']);
    }
    for (const path of ['/v1/records', '/v1/records/count', '/v1/facets?key=n'])
      expect((await rw.get(path)).body.code).to.equal('collection_not_found');
  });
});

function facetsOf(kept: readonly Kept[], key: string, limit: number): object {
  const counts = new Map<Scalar, number>();
  for (const { metadata } of kept)
    for (const value of scalarsAt(metadata as Json | undefined, key)) counts.set(value, (counts.get(value) ?? 0) + 1);
  const values = [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || compareScalars(a.value, b.value));
  return {
    values: values.slice(0, limit),
    distinct: values.length,
    records: kept.filter(({ metadata }) => hasKey(metadata as Json | undefined, key)).length,
  };
}
