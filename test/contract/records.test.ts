// Covers: coordinator/handlers/records.ts
/** Records over HTTP: inserts, batches, reads, changes and deletions. */
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import type { Client, Project } from '../support/launch/service.js';

/** Also requested through the package. */
const ROUTES = [
  'POST /v1/namespaces',
  'POST /v1/records',
  'GET /v1/records/{id}',
  'PATCH /v1/records/{id}/metadata',
  'POST /v1/soft-delete',
  'POST /v1/delete',
] as const;
const BATCH_ROUTES = ['POST /v1/vectors/batch-insert', 'GET /v1/records/{id}'] as const;

const HEX_64 = /^[0-9a-f]{64}$/;
const id32 = (n: number): string => n.toString(16).padStart(32, '0');
const bytesOf = (text: string): number[] => [...Buffer.from(text)];

inBothModesAndThroughClient('records', ROUTES, (service) => {
  let project: Project;
  let rw: Client;
  beforeEach(async () => {
    project = await service.newProject();
    rw = project.rw;
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
  });
  const insert = (body: object) => rw.post('/v1/records', { collection: 'c', values: [1, 2], ...body });
  const count = async (): Promise<number> => (await rw.get('/v1/namespaces')).body.collections[0].record_count;

  it('insert assigns ids from 1 and answers with a receipt', async () => {
    const first = await insert({});
    expect(first.status).to.equal(200);
    expect(first.body).to.have.keys('id', 'deduplicated', 'receipt');
    expect(first.body).to.include({ id: 1, deduplicated: false });
    const { receipt } = first.body;
    expect(receipt).to.have.keys('record_id', 'old_root', 'new_root', 'proof', 'sequence', 'timestamp', 'state_hash');
    expect(receipt).to.include({ record_id: 1, sequence: 1 });
    for (const field of ['old_root', 'new_root', 'state_hash']) expect(receipt[field]).to.match(HEX_64);
    expect(receipt.proof).to.match(/^[A-Za-z0-9_-]+$/);
    expect(receipt.timestamp).to.be.closeTo(systemClock.nowMs() / 1000, 60);
    const second = await insert({});
    expect(second.body.receipt).to.include({ record_id: 2, sequence: 2, old_root: receipt.new_root });
    expect(second.body.receipt.new_root).not.to.equal(receipt.new_root);
  });

  it('inserts and their repetitions answer in one order of members, also under a key', async () => {
    for (const key of [{}, { key_id: 'new' }]) {
      const request_id = id32(Object.keys(key).length);
      const first = await insert({ request_id, ...key });
      const { id, deduplicated, receipt, key_id } = first.body;
      const { record_id, old_root, new_root, proof, sequence, timestamp, state_hash } = receipt;
      const inOrder = { record_id, old_root, new_root, proof, sequence, timestamp, state_hash };
      expect(first.text).to.equal(JSON.stringify({ id, deduplicated, receipt: inOrder, key_id }));
      const repeated = await insert({ request_id, ...key });
      expect(repeated.text).to.equal(first.text.replace('"deduplicated":false', '"deduplicated":true'));
    }
  });

  it('get returns the text where `with` names it, and null where the record has none', async () => {
    const text = 'Grüße \u{1f984}';
    await insert({ text });
    await insert({});
    const got = await rw.get('/v1/records/1?collection=c&with=text');
    expect(got.body, got.text).to.deep.equal({ id: 1, vector: [1, 2], tag: 0, metadata: null, text });
    expect((await rw.get('/v1/records/1?collection=c')).body).not.to.have.property('text');
    expect((await rw.get('/v1/records/2?collection=c&with=text,vector')).body).to.include({ text: null });
    for (const fields of ['', 'texts', 'text,', 'metadata']) {
      const refused = await rw.get(`/v1/records/1?collection=c&with=${fields}`);
      expect([refused.status, refused.body.code], fields).to.deep.equal([400, 'validation_error']);
    }
  });

  it('insert takes the metadata as an object too, and stores it as a batch does', async () => {
    const metadata = { b: [1, { x: null }], a: 'é', '10': 1, 2: -0, t: true };
    const written = [
      (await insert({ metadata })).body.id,
      (await insert({ metadata: bytesOf(JSON.stringify(metadata)) })).body.id,
      ...(await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: [[1, 2]], metadata: [metadata] })).body
        .ids,
    ];
    for (const id of written)
      expect((await rw.get(`/v1/records/${id}?collection=c`)).text).to.include(
        `"metadata":${JSON.stringify(metadata)}`,
      );
    expect((await insert({ metadata: {} })).status).to.equal(200);
    for (const refused of ['{"a":1}', 7, true, [{}], [256], { a: 'x'.repeat(65_536) }]) {
      const { status, body, text } = await insert({ metadata: refused });
      expect([status, body.code], text).to.deep.equal([400, 'validation_error']);
      expect(body.error).to.match(/^\$\.metadata/);
    }
    expect(await count()).to.equal(4);
  });

  it('get returns the vector in fixed-point precision, the tag and the metadata', async () => {
    const metadata = { label: 'é', n: [1, { x: null }] };
    await insert({ values: [0.1, -32_768], tag: 2 ** 53 - 1, metadata: bytesOf(JSON.stringify(metadata)) });
    const got = await rw.get('/v1/records/1?collection=c');
    expect(got.status).to.equal(200);
    const rounded = Math.fround(Math.round(0.1 * 65_536) / 65_536);
    expect(got.body).to.deep.equal({ id: 1, vector: [rounded, -32_768], tag: 2 ** 53 - 1, metadata });
    await insert({});
    expect((await rw.get('/v1/records/2?collection=c')).body).to.deep.equal({
      id: 2,
      vector: [1, 2],
      tag: 0,
      metadata: null,
    });
  });

  it('metadata that is not a JSON object is kept and returned as null', async () => {
    await insert({ metadata: bytesOf('[1,2]') });
    await insert({ metadata: [0, 255, 128] });
    for (const id of [1, 2]) expect((await rw.get(`/v1/records/${id}?collection=c`)).body.metadata).to.equal(null);
  });

  it('a repeated request_id answers with the first id and receipt, and makes no second record', async () => {
    const hex = 'ABCDEF0123456789abcdef0123456789';
    const first = await insert({ request_id: hex });
    await insert({});
    for (const request_id of [hex, hex.toLowerCase(), [...Buffer.from(hex, 'hex')]]) {
      const replay = await insert({ request_id, values: [5, 5] });
      expect(replay.status).to.equal(200);
      expect(replay.body).to.deep.equal({ id: 1, deduplicated: true, receipt: first.body.receipt });
    }
    expect(await count()).to.equal(2);
  });

  it('a repeat answers with the first receipt even after later writes changed the tree', async () => {
    const receipts = [];
    for (let i = 0; i < 5; i++) receipts.push((await insert({ request_id: id32(i) })).body.receipt);
    await rw.post('/v1/soft-delete', { collection: 'c', id: 2 });
    await rw.post('/v1/delete', { collection: 'c', id: 1 });
    await rw.patch('/v1/records/4/metadata?collection=c', { a: 1 });
    await insert({});
    for (let i = 0; i < 5; i++)
      expect((await insert({ request_id: id32(i) })).body).to.deep.equal({
        id: i + 1,
        deduplicated: true,
        receipt: receipts[i],
      });
  });

  it('the Idempotency-Key header works like a request_id', async () => {
    const headers = { 'idempotency-key': id32(7) };
    await rw.post('/v1/records', { collection: 'c', values: [1, 2] }, headers);
    const replay = await rw.post('/v1/records', { collection: 'c', values: [1, 2] }, headers);
    expect(replay.body).to.include({ id: 1, deduplicated: true });
    expect((await insert({ request_id: id32(7) })).body.deduplicated).to.equal(true);
    const bad = await rw.post('/v1/records', { collection: 'c', values: [1, 2] }, { 'idempotency-key': 'x' });
    expect(bad.body.code).to.equal('validation_error');
  });

  const refusals: [string, object, number, string][] = [
    ['no values', { values: undefined }, 400, 'validation_error'],
    ['values of another dimension', { values: [1, 2, 3] }, 400, 'dimension_mismatch'],
    ['no values at all in the list', { values: [] }, 400, 'dimension_mismatch'],
    ['a value out of range', { values: [1, 32_768] }, 400, 'validation_error'],
    ['a string as value', { values: [1, '2'] }, 400, 'validation_error'],
    ['an unknown collection', { collection: 'nope' }, 404, 'collection_not_found'],
    ['a request_id of 31 hex', { request_id: 'a'.repeat(31) }, 400, 'validation_error'],
    ['a request_id that is not hex', { request_id: 'g'.repeat(32) }, 400, 'validation_error'],
    ['a request_id of 15 bytes', { request_id: new Array(15).fill(1) }, 400, 'validation_error'],
    ['a request_id with 256 in it', { request_id: new Array(16).fill(256) }, 400, 'validation_error'],
    ['a negative tag', { tag: -1 }, 400, 'validation_error'],
    ['a fractional tag', { tag: 0.5 }, 400, 'validation_error'],
    ['a tag of 2^53', { tag: 2 ** 53 }, 400, 'validation_error'],
    ['metadata with 256 in it', { metadata: [256] }, 400, 'validation_error'],
    ['metadata that is a text', { metadata: '{}' }, 400, 'validation_error'],
    ['metadata over 64 KiB', { metadata: new Array(65_537).fill(32) }, 400, 'validation_error'],
    ['text over 64 KiB', { text: 'é'.repeat(32_769) }, 400, 'validation_error'],
    ['text that is a number', { text: 1 }, 400, 'validation_error'],
  ];
  for (const [title, change, status, code] of refusals)
    it(`insert refuses ${title} and changes nothing`, async () => {
      const answer = await insert(change);
      expect(answer.status).to.equal(status);
      expect(answer.body.code).to.equal(code);
      expect(await count()).to.equal(0);
    });

  it('null for an optional field means absent', async () => {
    const answer = await insert({ tag: null, metadata: null, text: null, request_id: null });
    expect(answer.status).to.equal(200);
  });

  it('an omitted collection means the one named default', async () => {
    expect((await rw.post('/v1/records', { values: [1] })).body.code).to.equal('collection_not_found');
    await rw.post('/v1/namespaces', { name: 'default', dimension: 1, metric: 'squared_l2' });
    expect((await rw.post('/v1/records', { values: [4] })).body.id).to.equal(1);
    expect((await rw.get('/v1/records/1')).body.vector).to.deep.equal([4]);
    expect((await rw.post('/v1/search', { query: [4], k: 1 })).body.results).to.deep.equal([{ id: 1, score: 0 }]);
    expect((await rw.post('/v1/soft-delete', { id: 1 })).status).to.equal(200);
  });

  it('soft delete hides the record; a second one is 404', async () => {
    await insert({});
    const deleted = await rw.post('/v1/soft-delete', { collection: 'c', id: 1 });
    expect(deleted.status).to.equal(200);
    expect(deleted.body).to.deep.equal(
      service.mode === 'cluster' ? { success: true, log_index: 2 } : { success: true },
    );
    expect((await rw.get('/v1/records/1?collection=c')).body.code).to.equal('record_not_found');
    expect((await rw.post('/v1/soft-delete', { collection: 'c', id: 1 })).body.code).to.equal('record_not_found');
    expect(await count()).to.equal(0);
    expect((await insert({})).body.id).to.equal(2);
  });

  it('hard delete takes live and tombstoned records, once; ids are never reused', async () => {
    await insert({});
    await insert({});
    await rw.post('/v1/soft-delete', { collection: 'c', id: 1 });
    for (const id of [1, 2]) {
      const deleted = await rw.post('/v1/delete', { collection: 'c', id });
      expect(deleted.status).to.equal(200);
      expect(deleted.body.success).to.equal(true);
      expect('log_index' in deleted.body).to.equal(service.mode === 'cluster');
      expect((await rw.post('/v1/delete', { collection: 'c', id })).body.code).to.equal('record_not_found');
    }
    expect((await insert({})).body.id).to.equal(3);
  });

  it('deletes refuse bad ids and unknown collections', async () => {
    for (const path of ['/v1/soft-delete', '/v1/delete']) {
      expect((await rw.post(path, { collection: 'c', id: 'x' })).body.code).to.equal('validation_error');
      expect((await rw.post(path, { collection: 'c', id: 1.5 })).body.code).to.equal('validation_error');
      expect((await rw.post(path, { collection: 'c' })).body.code).to.equal('validation_error');
      expect((await rw.post(path, { collection: 'c', id: 1 })).body.code).to.equal('record_not_found');
      expect((await rw.post(path, { collection: 'x', id: 1 })).body.code).to.equal('collection_not_found');
    }
    expect((await rw.get('/v1/records/abc?collection=c')).body.code).to.equal('validation_error');
    expect((await rw.get('/v1/records/1?collection=c')).body.code).to.equal('record_not_found');
    expect((await rw.get('/v1/records/1?collection=x')).body.code).to.equal('collection_not_found');
  });

  it('a metadata update replaces all of it', async () => {
    await insert({ metadata: bytesOf('{"a":1}') });
    const updated = await rw.patch('/v1/records/1/metadata?collection=c', { b: { c: 2 } });
    expect(updated.status).to.equal(200);
    expect(updated.body).to.deep.equal(
      service.mode === 'cluster' ? { ok: true, id: 1, log_index: 2 } : { ok: true, id: 1 },
    );
    expect((await rw.get('/v1/records/1?collection=c')).body.metadata).to.deep.equal({ b: { c: 2 } });
    expect((await rw.patch('/v1/records/9/metadata?collection=c', {})).body.code).to.equal('record_not_found');
    expect((await rw.patch('/v1/records/1/metadata?collection=c', [1])).body.code).to.equal('validation_error');
    await rw.post('/v1/soft-delete', { collection: 'c', id: 1 });
    expect((await rw.patch('/v1/records/1/metadata?collection=c', {})).body.code).to.equal('record_not_found');
  });

  it('concurrent writes are all applied, each with its own receipt', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => insert({ values: [i, i] })));
    expect(answers.map(({ status }) => status)).to.deep.equal(new Array(60).fill(200));
    expect(new Set(answers.map(({ body }) => body.id)).size).to.equal(60);
    const bySequence = answers.map(({ body }) => body.receipt).sort((a, b) => a.sequence - b.sequence);
    bySequence.forEach((receipt, i) => {
      expect(receipt.sequence).to.equal(i + 1);
      if (i > 0) expect(receipt.old_root).to.equal(bySequence[i - 1].new_root);
    });
  });

  it('usage counts records, collections and the bytes of the log', async () => {
    await insert({});
    const { status, body } = await rw.get('/v1/usage');
    expect(status).to.equal(200);
    expect(body).to.include({ records: 1, collections: 1 });
    expect(body.storage.event_log_bytes).to.be.above(100);
    expect(body.storage.total_bytes).to.equal(body.storage.event_log_bytes + body.storage.snapshot_bytes);
  });
});

inBothModesAndThroughClient('batch insert', BATCH_ROUTES, (service) => {
  let rw: Client;
  beforeEach(async () => {
    rw = (await service.newProject()).rw;
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
  });
  const batch = (body: object) => rw.post('/v1/vectors/batch-insert', { collection: 'c', ...body });
  const count = async (): Promise<number> => (await rw.get('/v1/namespaces')).body.collections[0].record_count;
  const rows = [
    [1, 2],
    [3, 4],
    [5, 6],
  ]; // prettier-ignore

  it('answers ids in the order of the batch, and accepts an empty one', async () => {
    expect((await batch({ batch: rows })).body).to.deep.equal({ ids: [1, 2, 3] });
    expect((await batch({ batch: rows.slice(1) })).body).to.deep.equal({ ids: [4, 5] });
    expect((await batch({ batch: [] })).body).to.deep.equal({ ids: [] });
  });

  it('gives metadata, texts and request ids to the item at their position', async () => {
    const answer = await batch({
      batch: rows,
      metadata: [{ a: 1 }, null, '{"b": 2}'],
      texts: ['one', null, 'three'],
      request_ids: [id32(1), null, id32(3)],
    });
    expect(answer.body.ids).to.deep.equal([1, 2, 3]);
    const metadata = await Promise.all([1, 2, 3].map((id) => rw.get(`/v1/records/${id}?collection=c`)));
    expect(metadata.map(({ body }) => body.metadata)).to.deep.equal([{ a: 1 }, null, { b: 2 }]);
  });

  it('skips an item with a used request id, and answers with the first id', async () => {
    await batch({ batch: rows, request_ids: [id32(1), id32(2), null] });
    const again = await batch({ batch: rows, request_ids: [id32(9), id32(2), id32(9)] });
    expect(again.body.ids).to.deep.equal([4, 2, 4]);
    expect(await count()).to.equal(4);
    const single = await rw.post('/v1/records', { collection: 'c', values: [0, 0], request_id: id32(9) });
    expect(single.body).to.include({ id: 4, deduplicated: true });
    expect(single.body.receipt).to.include({ record_id: 4, sequence: 4 });
  });

  const refusals: [string, object, string][] = [
    ['no batch', {}, 'validation_error'],
    ['one row of another dimension', { batch: [[1, 2], [3]] }, 'dimension_mismatch'],
    [
      'a bad value in the last row',
      {
        batch: [
          [1, 2],
          [3, 1e6],
        ],
      },
      'validation_error',
    ],
    ['fewer metadata than vectors', { batch: rows, metadata: [{}] }, 'validation_error'],
    ['more texts than vectors', { batch: rows, texts: ['a', 'b', 'c', 'd'] }, 'validation_error'],
    ['fewer request ids than vectors', { batch: rows, request_ids: [] }, 'validation_error'],
    ['a bad request id', { batch: rows, request_ids: [null, 'x', null] }, 'validation_error'],
    ['metadata that is a number', { batch: rows, metadata: [1, null, null] }, 'validation_error'],
    ['metadata text that is not JSON', { batch: rows, metadata: ['x', null, null] }, 'validation_error'],
    ['16,385 vectors', { batch: new Array(16_385).fill([1, 2]) }, 'validation_error'],
  ]; // prettier-ignore
  for (const [title, body, code] of refusals)
    it(`refuses ${title}, and commits none of it`, async () => {
      const answer = await batch(body);
      expect(answer.status).to.equal(400);
      expect(answer.body.code).to.equal(code);
      expect(await count()).to.equal(0);
    });

  it('answers 404 for an unknown collection', async () => {
    const answer = await batch({ batch: rows, collection: 'nope' });
    expect(answer.status).to.equal(404);
    expect(answer.body.code).to.equal('collection_not_found');
  });

  it('takes 16,384 vectors at once', async () => {
    const answer = await batch({ batch: Array.from({ length: 16_384 }, (_, i) => [i, -i]) });
    expect(answer.status).to.equal(200);
    expect(answer.body.ids).to.have.length(16_384);
    const found = await rw.post('/v1/search', { collection: 'c', query: [12_345, -12_345], k: 1 });
    expect(found.body.results).to.deep.equal([{ id: 12_346, score: 0 }]);
  });
});
