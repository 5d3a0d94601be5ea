/** Requests and answers in msgpack: equal to JSON, with vectors as bytes. */
import { expect } from 'chai';
import { pack, unpack } from 'msgpackr';
import { Vouch } from '../../client/index.js';
import { quantise } from '../../shared/fixedPoint.js';
import type { Answer } from '../support/launch/client.js';
import { inBothModesAndEngines } from '../support/launch/modes.js';
import type { Client, Project } from '../support/launch/service.js';

const TYPE = 'application/msgpack';
const bin = (...values: number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
const fixed = (...values: number[]): Buffer => Buffer.from(quantise(values).buffer);

inBothModesAndEngines('msgpack', (service) => {
  let project: Project;
  let rw: Client;
  beforeEach(async () => {
    project = await service.newProject();
    rw = project.rw;
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
  });
  const post = (path: string, body: object, headers = {}): Promise<Answer> =>
    rw.raw('POST', path, pack(body), { 'content-type': TYPE, ...headers });
  /** The answer in msgpack. */
  const asked = async (path: string, body: object): Promise<unknown> => {
    const answer = await post(path, body, { accept: `text/html, ${TYPE};q=0.9` });
    expect([answer.status, answer.headers.get('content-type')], answer.text).to.deep.equal([200, TYPE]);
    return unpack(answer.bytes);
  };

  it('inserts and finds the same records as JSON, in each form of a vector', async () => {
    const metadata = { colour: 'red', size: 2 ** 40, deep: { __proto__x: [1.5, null, true] } };
    const bytes = Buffer.from(JSON.stringify(metadata));
    const first = await post('/v1/records', { collection: 'c', values: bin(1, 0.1), metadata: bytes, tag: 2 ** 50 });
    expect(first.body).to.include({ id: 1, deduplicated: false });
    const batch = [bin(2, 2), bin(3, -3)];
    const more = { metadata: [metadata, null], texts: [null, 'é'], tags: [7, null] };
    expect((await post('/v1/vectors/batch-insert', { collection: 'c', batch, ...more })).body).to.deep.equal({
      ids: [2, 3],
    });
    const q16 = { collection: 'c', batch_q16: [fixed(4, 4)], external_ids: ['d'] };
    expect((await post('/v1/vectors/batch-upsert', q16)).body).to.deep.equal({ ids: [4], created: 1, replaced: 0 });
    expect((await post('/v1/records', { collection: 'c', values: [5, 5] })).body.id).to.equal(5);

    const got = async (id: number) => (await rw.get(`/v1/records/${id}?collection=c`)).body;
    expect(await got(1)).to.deep.equal({
      id: 1,
      vector: [1, Math.fround(quantise([0.1])[0]! / 65_536)],
      tag: 2 ** 50,
      metadata,
    });
    expect(await got(2)).to.deep.equal({ id: 2, vector: [2, 2], tag: 7, metadata });
    expect(await got(4)).to.deep.equal({ id: 4, vector: [4, 4], tag: 0, metadata: null, external_id: 'd' });

    const options = { collection: 'c', k: 3, metadata_filter: { colour: 'red' } };
    const expected = (await rw.post('/v1/search', { ...options, query: [1, Math.fround(0.1)] })).body;
    expect(expected.results.map(({ id }: { id: number }) => id)).to.deep.equal([1, 2]);
    for (const query of [
      { query: bin(1, 0.1) },
      { query_q16: fixed(1, Math.fround(0.1)) },
      { query: [1, Math.fround(0.1)] },
    ])
      expect((await post('/v1/search', { ...options, ...query })).body).to.deep.equal(expected);
    const { searches, ...whole } = {
      collection: 'c',
      searches: [
        { k: 1, query: bin(3, -3) },
        { k: 1, like: 1 },
      ],
    };
    const batched = await post('/v1/search/batch', { ...whole, searches });
    expect(batched.body.answers[0].results).to.deep.equal([{ id: 3, score: 0 }]);
    const multi = await post('/v1/search/multi', { collections: ['c'], k: 1, query: bin(4, 4) });
    expect(multi.body.results).to.deep.equal([{ collection: 'c', id: 4, score: 0, external_id: 'd' }]);
  });

  it('keeps every vector of long batches that arrive at once, in either form', async () => {
    const [dimension, rows, batches, rounds] = [768, 100, 4, 2];
    await rw.post('/v1/namespaces', { name: 'long', dimension, metric: 'squared_l2' });
    const componentOf = (batch: number, row: number, i: number): number =>
      ((131 * batch + 17 * row + i * i) % 2_000) - 1_000;
    const vectorOf = (batch: number, row: number): number[] =>
      Array.from({ length: dimension }, (_, i) => componentOf(batch, row, i));
    const insert = async (batch: number): Promise<readonly [number, number[]]> => {
      const vectors = Array.from({ length: rows }, (_, row) => vectorOf(batch, row));
      const isPacked = batch % 2 === 0;
      const body = { collection: 'long', batch: isPacked ? vectors.map((vector) => bin(...vector)) : vectors };
      const path = '/v1/vectors/batch-insert';
      const answer = await (isPacked ? post(path, body) : rw.post(path, body));
      return [batch, answer.body.ids];
    };
    for (let round = 0; round < rounds; round++) {
      const all = Array.from({ length: batches }, (_, i) => insert(round * batches + i));
      for (const [batch, ids] of await Promise.all(all)) {
        const got = await rw.post('/v1/records/get', { collection: 'long', ids, with: ['vector'] });
        const vectors = got.body.records.map(({ vector }: { vector: number[] }) => vector);
        expect(vectors).to.deep.equal(ids.map((_, row) => vectorOf(batch, row)));
      }
    }
  });

  it('answers in msgpack on request; errors stay JSON', async () => {
    const { receipt, ...inserted } = (await asked('/v1/records', { collection: 'c', values: bin(1, 0.1) })) as {
      receipt: object;
    };
    expect(inserted).to.deep.equal({ id: 1, deduplicated: false });
    expect(receipt).to.have.property('sequence');
    const one = { query: bin(1, 0.1), k: 1, with: ['vector', 'metadata'] };
    const search = { collection: 'c', ...one };
    const { results } = (await rw.post('/v1/search', { ...search, query: [1, 0.1] })).body;
    const [hit] = results;
    const packed = { ...hit, vector: bin(...hit.vector) };
    expect(await asked('/v1/search', search)).to.deep.equal({ results: [packed] });
    const { answers } = (await asked('/v1/search/batch', {
      searches: [one],
      collection: 'c',
    })) as {
      answers: unknown;
    };
    expect(answers).to.deep.equal([{ results: [packed] }]);
    const json = await rw.post(
      '/v1/search',
      { collection: 'c', query: [1, 0.1], k: 1 },
      { accept: `${TYPE};q=0, */*` },
    );
    expect(json.body.results).to.have.length(1);
    const refused = await post('/v1/search', { ...search, k: 0 }, { accept: TYPE });
    expect([refused.status, refused.body.code]).to.deep.equal([400, 'validation_error']);
    expect(refused.body.error).to.match(/^\$\.k: /);
  });

  it('is bounded and idempotent like JSON', async () => {
    const key = { 'idempotency-key': 'ab'.repeat(16) };
    const body = { collection: 'c', batch: [bin(1, 2), bin(3, 4)] };
    for (let i = 0; i < 2; i++)
      expect((await post('/v1/vectors/batch-insert', body, key)).body).to.deep.equal({ ids: [1, 2] });
    const request_id = Buffer.alloc(16, 9);
    const insert = { collection: 'c', values: bin(5, 5), request_id };
    expect((await post('/v1/records', insert)).body).to.include({ id: 3, deduplicated: false });
    expect((await post('/v1/records', { ...insert, request_id: request_id.toString('hex') })).body).to.include({
      id: 3,
      deduplicated: true,
    });
    const codes = async (sent: object) => {
      const { status, body: refusal } = await post('/v1/records', { collection: 'c', ...sent });
      return [status, refusal.code];
    };
    expect(await codes({ values: bin(1) })).to.deep.equal([400, 'dimension_mismatch']);
    expect(await codes({ values: bin(1, Number.NaN) })).to.deep.equal([400, 'validation_error']);
    expect(await codes({ values: Buffer.alloc(7) })).to.deep.equal([400, 'validation_error']);
    expect(await codes({ values: bin(1, 1), metadata: Buffer.alloc(70_000) })).to.deep.equal([400, 'validation_error']);
    const large = await rw.raw('POST', '/v1/search', Buffer.alloc(33 << 20), { 'content-type': TYPE });
    expect([large.status, large.body.code]).to.deep.equal([413, 'payload_too_large']);
    for (const [path, type] of [
      ['/v1/search', `${TYPE}; charset=utf-8`],
      ['/v1/soft-delete', TYPE],
    ] as const) {
      const { status, body: refusal } = await rw.raw('POST', path, pack({ id: 1 }), { 'content-type': type });
      expect([status, refusal.code], path).to.deep.equal([415, 'unsupported_media_type']);
    }
    expect((await rw.get('/v1/namespaces')).body.collections[0].record_count).to.equal(3);
  });

  it('is in the OpenAPI document wherever a vector appears', async () => {
    const { paths } = (await rw.get('/openapi.json')).body;
    const packable = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(
        methods as Record<
          string,
          { requestBody?: { content: object }; responses: Record<string, { content: object }> }
        >,
      )
        .filter(({ requestBody }) => requestBody !== undefined && TYPE in requestBody.content)
        .map(({ responses }) => [path, TYPE in responses[200]!.content]),
    );
    expect(packable.sort()).to.deep.equal(
      [
        ...['/v1/records', '/v1/search', '/v1/search/batch', '/v1/search/multi'],
        ...['/v1/vectors/batch-insert', '/v1/vectors/batch-upsert'],
      ].map((path) => [path, true]),
    );
  });

  it('carries the Float32Arrays of the client', async () => {
    const docs = new Vouch({ url: rw.url, apiKey: rw.key }).collection('c');
    const [one, two] = [Float32Array.of(1, 0.1), Float32Array.of(-2, 0.25)];
    expect((await docs.insert({ values: one, metadata: { a: 1 } })).id).to.equal(1);
    await docs.insertMany([one, two]);
    const { results } = await docs.search({ query: two, k: 1, with: ['vector'] });
    expect(results).to.deep.equal([{ id: 3, score: 0, vector: [-2, 0.25] }]);
    expect(
      (await docs.search({ query: one, k: 5, metadataFilter: { a: 1 } })).results.map(({ id }) => id),
    ).to.deep.equal([1]);
  });
});
