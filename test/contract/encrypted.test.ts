// Covers: coordinator/body/payload.ts, coordinator/contract/encrypted.ts, coordinator/handlers/encrypted.ts
/** Encrypted records over HTTP: inserts, reads, shreds, and keys of projects. */
import { expect } from 'chai';
import type { Answer } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Client, Project } from '../support/launch/service.js';

const HEX_32 = /^[0-9a-f]{32}$/;
const id32 = (n: number): string => n.toString(16).padStart(32, '0');
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const PLAINTEXT = 'Žluťoučký kůň\0, sealed';

inBothModes('encrypted records', (service) => {
  let project: Project;
  let rw: Client;
  beforeEach(async () => {
    project = await service.newProject();
    rw = project.rw;
    for (const name of ['c', 'd']) await rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2' });
  });

  const insert = (body: object, headers?: Record<string, string>): Promise<Answer> =>
    rw.post('/v1/records/encrypted', { collection: 'c', payload: base64(PLAINTEXT), ...body }, headers);
  const read = (id: number, collection = 'c', client = rw): Promise<Answer> =>
    client.get(`/v1/records/encrypted/${id}?collection=${collection}`);
  const status = (keyId: string, client = rw): Promise<Answer> => client.get(`/v1/crypto/status/${keyId}`);
  const shred = (keyId: string, client = rw): Promise<Answer> => client.delete(`/v1/crypto/shred/${keyId}`);
  const counts = async (): Promise<number[]> =>
    (await rw.get('/v1/namespaces')).body.collections.map((one: { record_count: number }) => one.record_count);
  const expectError = ({ status: found, body, text }: Answer, wanted: number, code: string): void => {
    expect([found, body?.code], text).to.deep.equal([wanted, code]);
  };

  it('insert answers id and key, and a read returns the payload', async () => {
    const { status: inserted, body } = await insert({ tag: 7 });
    expect(inserted).to.equal(200);
    expect(body).to.have.all.keys('id', 'key_id');
    expect(body.id).to.equal(1);
    expect(body.key_id).to.match(HEX_32);
    expect((await read(1)).body).to.deep.equal({ id: 1, key_id: body.key_id, payload: base64(PLAINTEXT) });
    expect((await rw.get('/v1/records/1?collection=c')).body).to.deep.equal({
      id: 1,
      vector: [0, 0],
      tag: 7,
      metadata: null,
    });
    expect(await counts()).to.deep.equal([1, 0]);
    expect((await insert({ key_id: null, tag: null })).body.key_id)
      .to.match(HEX_32)
      .and.not.equal(body.key_id);
  });

  it('insert accepts a given key, an empty payload, and one of 64 KiB', async () => {
    const keyId = id32(1);
    expect((await insert({ key_id: keyId, payload: '' })).body).to.deep.equal({ id: 1, key_id: keyId });
    const largest = Buffer.alloc(65_536, 7).toString('base64');
    expect((await insert({ key_id: keyId, payload: largest })).body).to.deep.equal({ id: 2, key_id: keyId });
    expect((await read(1)).body.payload).to.equal('');
    expect((await read(2)).body.payload).to.equal(largest);
    expectError(await insert({ payload: Buffer.alloc(65_537).toString('base64') }), 400, 'validation_error');
    expectError(await insert({ payload: Buffer.alloc(1_000_000).toString('base64') }), 400, 'validation_error');
  });

  it('insert refuses non-canonical base64, and never quotes it', async () => {
    for (const payload of ['c2VjcmV', 'c2VjcmV0IQ', 'c2Vj cmV0', 'c2Vj-_0=', 'c2VjcmV0IR==', 'c2Vjcm=V', '====', 'č']) {
      const answer = await insert({ payload });
      expectError(answer, 400, 'validation_error');
      expect(answer.text).to.include('payload').and.not.include(payload);
    }
    for (const payload of [12_345_678, null, ['c2VjcmV0'], { c2VjcmV0: 1 }]) {
      const answer = await insert({ payload });
      expectError(answer, 400, 'validation_error');
      expect(answer.text).not.to.match(/12345678|c2VjcmV0/);
    }
    const torn = await rw.raw('POST', '/v1/records/encrypted', '{"payload":"c2VjcmV0",}');
    expectError(torn, 400, 'validation_error');
    expect(torn.text).not.to.include('c2Vj');
    expectError(await rw.raw('POST', '/v1/records/encrypted', '"c2VjcmV0"'), 400, 'validation_error');
  });

  it('insert refuses a bad key id, tag or request id, and an unknown collection like a bad field', async () => {
    for (const key_id of ['', 'ab', id32(10).toUpperCase(), `${id32(1)}0`, 'g'.repeat(32), 5])
      expectError(await insert({ key_id }), 400, 'validation_error');
    for (const tag of [-1, 0.5, 2 ** 53, '1']) expectError(await insert({ tag }), 400, 'validation_error');
    expectError(await insert({}, { 'idempotency-key': 'nope' }), 400, 'validation_error');
    for (const collection of ['nope', 'no such name!'])
      expectError(await insert({ collection }), 400, 'validation_error');
    expectError(await rw.post('/v1/records/encrypted', { payload: '' }), 400, 'validation_error');
    expect(await counts()).to.deep.equal([0, 0]);
  });

  it('insert with a repeated Idempotency-Key is applied once, and answers with the first key', async () => {
    const headers = { 'idempotency-key': 'AB'.repeat(16) };
    const { body } = await insert({}, headers);
    expect((await insert({ payload: base64('another'), key_id: id32(3) }, headers)).body).to.deep.equal(body);
    expect((await read(body.id)).body.payload).to.equal(base64(PLAINTEXT));
    expect((await status(id32(3))).body.status).to.equal('unknown');
    expect(await counts()).to.deep.equal([1, 0]);
    const vector = await rw.post('/v1/records', { collection: 'c', values: [1, 1] }, headers);
    expect(vector.body).to.include({ id: body.id, deduplicated: true });
  });

  it('reading answers 404 for records that are missing, have a vector, or are hidden or deleted', async () => {
    await rw.post('/v1/records', { collection: 'c', values: [1, 2] });
    for (const _ of [2, 3]) await insert({});
    await rw.post('/v1/soft-delete', { collection: 'c', id: 2 });
    await rw.post('/v1/delete', { collection: 'c', id: 3 });
    for (const id of [0, 1, 2, 3, 4]) expectError(await read(id), 404, 'record_not_found');
    expectError(await read(1, 'nope'), 404, 'collection_not_found');
    expectError(await rw.get('/v1/records/encrypted/x?collection=c'), 400, 'validation_error');
    expect(await counts()).to.deep.equal([1, 0]);
    const patched = await rw.patch('/v1/records/3/metadata?collection=c', {});
    expectError(patched, 404, 'record_not_found');
    const { body } = await insert({});
    expectError(await rw.patch(`/v1/records/${body.id}/metadata?collection=c`, {}), 400, 'validation_error');
  });

  it('no search of any kind finds an encrypted record', async () => {
    await rw.post('/v1/records', { collection: 'c', values: [3, 4], metadata: [...Buffer.from('{"a":1}')] });
    await insert({});
    await rw.post('/v1/records', { collection: 'd', values: [5, 0] });
    await insert({ collection: 'd' });
    const ids = (answer: Answer): number[] => answer.body.results.map(({ id }: { id: number }) => id);
    const search = { query: [0, 0], k: 10, collection: 'c' };
    for (const options of [
      {},
      { metadata_filter: { a: 1 } },
      { metadata_filter: { a: { exists: true } } },
      { decay_half_life_secs: 60 },
      { query_text: 'sealed', hybrid: true },
      { graph_rerank: {} },
      { as_of_log_index: 2 },
    ])
      expect(ids(await rw.post('/v1/search', { ...search, ...options })), JSON.stringify(options)).to.deep.equal([1]);
    expect(ids(await rw.post('/v1/search', { ...search, metadata_filter: { a: { exists: false } } }))).to.deep.equal(
      [],
    );
    const multi = await rw.post('/v1/search/multi', { query: [0, 0], k: 10, collections: ['c', 'd'] });
    expect(multi.body.results).to.deep.equal([
      { collection: 'c', id: 1, score: 25 },
      { collection: 'd', id: 1, score: 25 },
    ]);
  });

  it('a graph node can link to one', async () => {
    const { body } = await insert({});
    const node = await rw.post('/v1/graph/node', { kind: 0, record_id: body.id, collection: 'c' });
    expect(node.status, node.text).to.equal(200);
    await shred(body.key_id);
    expectError(
      await rw.post('/v1/graph/node', { kind: 0, record_id: body.id, collection: 'c' }),
      404,
      'record_not_found',
    );
    expect((await rw.get(`/v1/graph/node/${node.body.node_id}?collection=c`)).body.record_id).to.equal(body.id);
    await rw.post('/v1/delete', { collection: 'c', id: body.id });
    expect((await rw.get(`/v1/graph/node/${node.body.node_id}?collection=c`)).status).to.equal(404);
  });

  it('a shred destroys all records under the key, in every collection, and no others', async () => {
    const keyId = id32(1);
    for (const collection of ['c', 'd']) await insert({ collection, key_id: keyId });
    const other = await insert({});
    expect((await status(keyId)).body).to.deep.equal({ key_id: keyId, exists: true, status: 'active' });
    for (const _ of ['once', 'again']) {
      const answer = await shred(keyId);
      expect([answer.status, answer.body]).to.deep.equal([200, { key_id: keyId, shredded: true }]);
    }
    expect((await status(keyId)).body).to.deep.equal({ key_id: keyId, exists: false, status: 'shredded' });
    for (const collection of ['c', 'd']) {
      expectError(await read(1, collection), 410, 'record_shredded');
      expectError(await rw.get(`/v1/records/1?collection=${collection}`), 404, 'record_not_found');
      expectError(await insert({ collection, key_id: keyId }), 400, 'validation_error');
    }
    expect((await read(other.body.id)).body.payload).to.equal(base64(PLAINTEXT));
    expect(await counts()).to.deep.equal([1, 0]);
    expect((await rw.get('/v1/usage')).body.records).to.equal(1);
    expect((await rw.post('/v1/delete', { collection: 'c', id: 1 })).status).to.equal(200);
  });

  it('a key that never existed can be shredded, and then never be created', async () => {
    const keyId = id32(9);
    expect((await status(keyId)).body).to.deep.equal({ key_id: keyId, exists: false, status: 'unknown' });
    expect((await shred(keyId)).body).to.deep.equal({ key_id: keyId, shredded: true });
    expect((await status(keyId)).body.status).to.equal('shredded');
    expectError(await insert({ key_id: keyId }), 400, 'validation_error');
    for (const bad of ['x', id32(10).toUpperCase(), `${keyId}0`]) {
      expectError(await shred(bad), 400, 'validation_error');
      expectError(await status(bad), 400, 'validation_error');
    }
  });

  it('a shred succeeds although a collection with records under the key was deleted', async () => {
    const keyId = id32(1);
    for (const collection of ['c', 'd']) await insert({ collection, key_id: keyId });
    await rw.delete('/v1/namespaces/c');
    expect((await shred(keyId)).status).to.equal(200);
    expectError(await read(1, 'd'), 410, 'record_shredded');
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    expectError(await insert({ key_id: keyId }), 400, 'validation_error');
  });

  it('keys belong to a project: another neither uses nor shreds them, and may reuse their ids', async () => {
    const keyId = id32(1);
    await insert({ key_id: keyId });
    const stranger = (await service.newProject()).rw;
    await stranger.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    expect((await status(keyId, stranger)).body.status).to.equal('unknown');
    expectError(await read(1, 'c', stranger), 404, 'record_not_found');
    const own = { collection: 'c', payload: base64('theirs'), key_id: keyId };
    expect((await stranger.post('/v1/records/encrypted', own)).status).to.equal(200);
    expect((await read(1, 'c', stranger)).body.payload).to.equal(base64('theirs'));
    expect((await shred(keyId, stranger)).status).to.equal(200);
    expect((await status(keyId)).body.status).to.equal('active');
    expect((await read(1)).body.payload).to.equal(base64(PLAINTEXT));
  });

  it('reading needs read_only; writing and shredding need read_write', async () => {
    const { body } = await insert({});
    const { ro } = project;
    expect((await read(1, 'c', ro)).status).to.equal(200);
    expect((await status(body.key_id, ro)).status).to.equal(200);
    expectError(await shred(body.key_id, ro), 403, 'forbidden');
    expectError(await ro.post('/v1/records/encrypted', { collection: 'c', payload: '' }), 403, 'forbidden');
    expectError(await shred(body.key_id, service.client(undefined)), 401, 'unauthorized');
  });
});
