// Covers: coordinator/body/bodyPool.ts, coordinator/body/bodyWorker.ts, coordinator/body/batch.ts
// Covers: coordinator/body/kinds.ts, coordinator/body/recordSets.ts, coordinator/body/vectors.ts
// Covers: shared/process/workerThread.ts
import { expect } from 'chai';
import { BodyPool } from '../../../../coordinator/body/bodyPool.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { InsertBatchCall, InsertCall } from '../../../../shared/protocol/writes.js';
import type { Client } from '../../../support/launch/client.js';
import { componentsOf } from '../../../support/rigs/fakeBackend.js';
import { TestEdge } from '../../../support/rigs/testEdge.js';

const HEX = '000102030405060708090A0b0c0d0e0f';
const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));

describe('a request body', () => {
  let edge: TestEdge;
  let rw: Client;
  before(async () => {
    edge = await TestEdge.start({ limits: { metadataBytes: 100, textBytes: 100, batchVectors: 3_000 } });
    rw = await edge.client();
    await edge.backend.create('p', { name: 'c', dimension: 2, index: 'brute' });
  });
  after(() => edge.stop());
  const lastCall = () => edge.backend.calls.at(-1);

  it('with an insert reaches the shard quantised, with bytes and defaults', async () => {
    const full = { values: [0.5 / 65_536, -1.5 / 65_536], request_id: HEX, metadata: [123, 125], text: 'é', tag: 9 };
    expect((await rw.post('/v1/records', { collection: 'c', ...full })).status).to.equal(200);
    const { vector, ...rest } = lastCall() as InsertCall;
    // Half to even, in both directions.
    expect(componentsOf(vector)).to.deep.equal([0, -2]);
    const requestId = Uint8Array.from({ length: 16 }, (_, i) => i);
    const metadata = bytesOf('{}');
    expect({
      ...rest,
      metadata: Uint8Array.from(rest.metadata!),
      requestId: Uint8Array.from(rest.requestId!),
    }).to.deep.equal({
      op: 'insert',
      requestId,
      metadata,
      text: 'é',
      tag: 9,
    });
    await rw.post('/v1/records', { collection: 'c', values: [-32_768, 32_767.99998], request_id: null });
    const { vector: extremes, ...defaults } = lastCall() as InsertCall;
    expect(componentsOf(extremes)).to.deep.equal([-(2 ** 31), 2 ** 31 - 1]);
    expect(defaults).to.deep.equal({ op: 'insert', tag: 0, requestId: null, metadata: null, text: null });
  });

  it('with a batch reaches the shard as one block, with each item at its position', async () => {
    const metadata = [{ a: [1] }, null, ' {"b": 1} '];
    const texts = [null, 'x', ''];
    const batch = [
      [1, 2],
      [3, 4],
      [5, 6],
    ]; // prettier-ignore
    const body = { collection: 'c', batch, metadata, texts, request_ids: [null, HEX, null] };
    expect((await rw.post('/v1/vectors/batch-insert', body)).body.ids).to.have.length(3);
    const call = lastCall() as InsertBatchCall;
    expect(componentsOf(call.vectors).map((value) => value / 65_536)).to.deep.equal([1, 2, 3, 4, 5, 6]);
    const stored = call.metadata!.map((item) => item && Buffer.from(item).toString());
    expect(stored).to.deep.equal(['{"a":[1]}', null, ' {"b": 1} ']);
    expect(call.texts!.map((text) => text && Buffer.from(text).toString())).to.deep.equal(texts);
    expect(call.requestIds!.map((id) => id && Buffer.from(id).toString('hex'))).to.deep.equal([
      null,
      HEX.toLowerCase(),
      null,
    ]);
  });

  const refusals: [title: string, path: string, body: unknown, code: string, message: string][] = [
    ['a string among values', 'records', { values: [1, 'x'] }, 'validation_error', '$.values[1]: expected a number'],
    ['a value above', 'records', { values: [1, 32_768] }, 'validation_error', '$.values[1]'],
    ['a value below', 'records', { values: [-32_768.01, 1] }, 'validation_error', '$.values[0]'],
    ['null among values', 'records', { values: [null, 1] }, 'validation_error', '$.values[0]'],
    ['no values', 'records', {}, 'validation_error', '$.values is missing'],
    ['an array for an object', 'records', [1], 'validation_error', '$: expected a JSON object'],
    ['null for an object', 'records', null, 'validation_error', '$: expected a JSON object'],
    ['a byte of 256', 'records', { values: [1, 2], metadata: [0, 256] }, 'validation_error', '$.metadata[1]'],
    [
      'too much metadata',
      'records',
      { values: [1, 2], metadata: Array(101).fill(1) },
      'validation_error',
      '$.metadata',
    ],
    ['too long a text', 'records', { values: [1, 2], text: 'é'.repeat(51) }, 'validation_error', '$.text takes 102'],
    ['a short request id', 'records', { values: [1, 2], request_id: 'ab' }, 'validation_error', '$.request_id'],
    ['15 bytes of request id', 'records', { values: [1, 2], request_id: Array(15).fill(1) }, 'validation_error', '16'],
    ['another dimension', 'records', { values: [1] }, 'dimension_mismatch', '$.values has 1'],
    ['an uneven batch', 'vectors/batch-insert', { batch: [[1, 2], [3]] }, 'dimension_mismatch', '$.batch[1]'],
    ['an uneven first row', 'vectors/batch-insert', { batch: [[1], [3, 4]] }, 'dimension_mismatch', '$.batch[0]'],
    ['a bad value in a batch', 'vectors/batch-insert', { batch: [[1, true]] }, 'validation_error', '$.batch[0][1]'],
    ['a short list', 'vectors/batch-insert', { batch: [[1, 2]], texts: [] }, 'validation_error', '$.texts has 0'],
    ['a bad id in a batch', 'vectors/batch-insert', { batch: [[1, 2]], request_ids: ['x'] }, 'validation_error', '[0]'],
    [
      'metadata no JSON',
      'vectors/batch-insert',
      { batch: [[1, 2]], metadata: ['x'] },
      'validation_error',
      'metadata[0]',
    ],
    [
      'metadata an array',
      'vectors/batch-insert',
      { batch: [[1, 2]], metadata: ['[]'] },
      'validation_error',
      'a JSON object',
    ],
    [
      'long metadata',
      'vectors/batch-insert',
      { batch: [[1, 2]], metadata: [{ a: 'x'.repeat(99) }] },
      'validation_error',
      '[0]',
    ],
    [
      'too many vectors',
      'vectors/batch-insert',
      { batch: Array(3_001).fill([1, 2]) },
      'validation_error',
      '$.batch has 3001',
    ],
    ['k of 0', 'search', { query: [1, 2], k: 0 }, 'validation_error', '$.k'],
    ['k of 5001', 'search', { query: [1, 2], k: 5_001 }, 'validation_error', '$.k'],
    ['k of 1.5', 'search', { query: [1, 2], k: 1.5 }, 'validation_error', '$.k'],
    [
      'a filter that is a list',
      'search',
      { query: [1, 2], k: 1, metadata_filter: [] },
      'validation_error',
      '$.metadata_filter',
    ],
    ['a negative half-life', 'search', { query: [1, 2], k: 1, decay_half_life_secs: -1 }, 'validation_error', 'decay'],
    [
      'a time without zone',
      'search',
      { query: [1, 2], k: 1, as_of: '2026-01-01T00:00:00' },
      'validation_error',
      '$.as_of',
    ],
    ['a long query', 'search', { query: [1, 2, 3], k: 1 }, 'dimension_mismatch', '$.query has 3'],
  ]; // prettier-ignore
  for (const [title, path, body, code, message] of refusals)
    it(`with ${title} is refused with the place`, async () => {
      const sent = body === null || Array.isArray(body) ? body : { collection: 'c', ...(body as object) };
      const answer = await rw.post(`/v1/${path}`, sent);
      expect([answer.status, answer.body.code]).to.deep.equal([400, code]);
      expect(answer.body.error).to.include(message);
    });

  it('is refused if it is not JSON, not UTF-8, infinite or too deep', async () => {
    const search = (text: string) => rw.raw('POST', '/v1/search', text);
    for (const text of ['', '{', '{"query":[1,}', 'nonsense', '\ufeff{}'])
      expect((await search(text)).body.error).to.match(/^the body is /);
    expect((await search('{"collection":"c","query":[1,1e999],"k":1}')).body.error).to.include('$.query[1]');
    expect((await search('['.repeat(60_000))).body.error).to.include('nests deeper');
    expect((await search(`[${'[],'.repeat(1_500_001)}1]`)).body.error).to.include('arrays, objects and strings');
    const pool = new BodyPool(
      { metadataBytes: 1, textBytes: 1, payloadBytes: 1, batchVectors: 1, commitBytes: 1 },
      () => 'plain',
      silentLogger,
      { maxQueueWaitMs: 500, clock: systemClock },
    );
    const notUtf8 = await pool
      .prepare('search', 'json', Buffer.from([0x22, 0xff, 0x22]), 'p')
      .catch((error: Error) => error);
    expect(notUtf8).to.have.property('message', 'the body is not UTF-8');
  });

  it('may contain metadata of 64 levels, and no more, in every field', async () => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
    const wide = await TestEdge.start();
    const client = await wide.client();
    await wide.backend.create('p', { name: 'c', dimension: 1, index: 'brute' });
    await client.post('/v1/records', { collection: 'c', values: [1] });
    const patch = (levels: number) => client.raw('PATCH', '/v1/records/1/metadata?collection=c', nested(levels));
    const batch = (metadata: string) =>
      client.raw('POST', '/v1/vectors/batch-insert', `{"collection":"c","batch":[[1]],"metadata":[${metadata}]}`);
    expect((await patch(64)).status).to.equal(200);
    expect((await patch(65)).status).to.equal(400);
    expect((await batch(nested(64))).status).to.equal(200);
    expect((await batch(JSON.stringify(nested(64)))).status).to.equal(200);
    const search = client.raw('POST', '/v1/search', `{"query":[1],"k":1,"metadata_filter":${nested(65)}}`);
    for (const refused of [await batch(nested(65)), await batch(JSON.stringify(nested(65))), await search])
      expect([refused.status, refused.body.error]).to.satisfy(
        ([status, error]: [number, string]) =>
          status === 400 && /the 64 levels of metadata or of a filter$/.test(error),
      );
    // Opaque bytes are stored as they are, and shown as null if they are not an object.
    for (const metadata of ['[1]', '{', '\ud800']) {
      const { body } = await client.post('/v1/records', {
        collection: 'c',
        values: [1],
        metadata: [...Buffer.from(metadata)],
      });
      expect((await client.get(`/v1/records/${body.id}?collection=c`)).body.metadata).to.equal(null);
    }
    const deep = { collection: 'c', values: [1], metadata: [...Buffer.from(nested(65))] };
    expect((await client.post('/v1/records', deep)).body.error).to.include(
      '$.metadata nests deeper than the 64 levels',
    );
    await wide.stop();
  });

  it('with a batch larger than one commit is refused with 413', async () => {
    const small = await TestEdge.start({ limits: { textBytes: 65_536 } });
    const client = await small.client();
    await small.backend.create('p', { name: 'c', dimension: 1, index: 'brute' });
    const texts = Array(300).fill('x'.repeat(65_000));
    const body = { collection: 'c', batch: texts.map(() => [1]), texts };
    const answer = await client.post('/v1/vectors/batch-insert', body);
    expect([answer.status, answer.body.code]).to.deep.equal([413, 'payload_too_large']);
    expect(small.backend.calls).to.have.length(0);
    await small.stop();
  });

  it('with an empty batch returns no ids, if the collection exists', async () => {
    const empty = (collection: string) => rw.post('/v1/vectors/batch-insert', { collection, batch: [] });
    expect((await empty('c')).body).to.deep.equal({ ids: [] });
    expect((await empty('none')).body.code).to.equal('collection_not_found');
  });
});
