import { expect } from 'chai';
import { VouchError } from '../../../../shared/errors/errors.js';
import type { Client } from '../../../support/launch/client.js';
import { TestEdge } from '../../../support/rigs/testEdge.js';

describe('the handlers of the API', () => {
  let edge: TestEdge;
  let rw: Client;
  beforeEach(async () => {
    edge = await TestEdge.start();
    rw = await edge.client();
    for (const name of ['a', 'b', 'c']) await edge.backend.create('p', { name, dimension: 1, index: 'brute' });
    for (const name of ['a', 'b', 'c'])
      await rw.post('/v1/vectors/batch-insert', { collection: name, batch: [[1], [2], [3]] });
  });
  afterEach(() => edge.stop());

  it('show log_index in cluster mode only', async () => {
    const remove = () => rw.post('/v1/soft-delete', { collection: 'a', id: 1 });
    expect((await remove()).body).to.deep.equal({ success: true, log_index: 4 });
    edge.backend.mode = 'standalone';
    expect((await rw.post('/v1/delete', { collection: 'a', id: 2 })).body).to.deep.equal({ success: true });
    const patched = await rw.patch('/v1/records/3/metadata?collection=a', { x: 1 });
    expect(patched.body).to.deep.equal({ ok: true, id: 3 });
    expect((await rw.get('/v1/records/3?collection=a')).body).to.deep.equal({
      id: 3,
      vector: [3],
      tag: 0,
      metadata: { x: 1 },
    });
  });

  it('use the Idempotency-Key header if the body names no request id', async () => {
    const sent = async (body: object, key: string) => {
      const headers = { 'idempotency-key': key };
      const answer = await rw.post('/v1/records', { collection: 'a', values: [1], ...body }, headers);
      const call = edge.backend.calls.at(-1);
      return answer.status === 200 && call?.op === 'insert'
        ? Buffer.from(call.requestId ?? []).toString('hex')
        : answer;
    };
    expect(await sent({}, 'AB'.repeat(16))).to.equal('ab'.repeat(16));
    expect(await sent({ request_id: 'ab'.repeat(16) }, 'AB'.repeat(16))).to.equal('ab'.repeat(16));
    expect(await sent({ request_id: '00'.repeat(16) }, 'AB'.repeat(16))).to.have.nested.property(
      'body.code',
      'validation_error',
    );
    expect(await sent({}, 'zz')).to.have.nested.property('body.code', 'validation_error');
  });

  it('merge the answers of a multi search, and list the collections that failed', async () => {
    const search = (collections: string[], k = 4) => rw.post('/v1/search/multi', { query: [1], k, collections });
    const all = await search(['c', 'a', 'c', 'b']);
    expect(all.body).to.deep.equal({
      results: [
        { collection: 'a', id: 1, score: 0 },
        { collection: 'b', id: 1, score: 0 },
        { collection: 'c', id: 1, score: 0 },
        { collection: 'a', id: 2, score: 1 },
      ],
      collections_searched: ['c', 'a', 'b'],
    });
    edge.backend.beforeCall = ({ name }) => {
      if (name === 'b') throw new VouchError('unavailable', 'its shard is gone');
      if (name === 'c') throw new Error('secret');
    };
    const some = await search(['a', 'b', 'c'], 1);
    expect(some.status).to.equal(200);
    expect(some.body.results).to.deep.equal([{ collection: 'a', id: 1, score: 0 }]);
    expect(some.body.collections_searched).to.deep.equal(['a']);
    expect(some.body.partial_failures[0]).to.deep.equal({
      collection: 'b',
      code: 'unavailable',
      error: 'its shard is gone',
    });
    expect(some.body.partial_failures[1]).to.include({ collection: 'c', code: 'internal_error' });
    expect(some.text).not.to.include('secret');
    const none = await search(['b', 'c']);
    expect(none.body).to.deep.include({ results: [], collections_searched: [] });
    expect(none.body.partial_failures).to.have.length(2);
  });

  it('search no collection of a multi search before all of them are known to fit', async () => {
    await edge.backend.create('p', { name: 'wide', dimension: 2, index: 'brute' });
    const before = edge.backend.calls.length;
    const code = async (collections: string[], query = [1]) => {
      const answer = await rw.post('/v1/search/multi', { query, k: 1, collections });
      return [answer.status, answer.body.code];
    };
    expect(await code(['a', 'none'])).to.deep.equal([404, 'collection_not_found']);
    expect(await code(['a', 'wide'])).to.deep.equal([400, 'validation_error']);
    expect(await code(['wide'])).to.deep.equal([400, 'dimension_mismatch']);
    expect(await code([])).to.deep.equal([400, 'validation_error']);
    expect(await code(Array.from({ length: 33 }, (_, i) => `c${i}`))).to.deep.equal([400, 'validation_error']);
    expect(edge.backend.calls).to.have.length(before);
  });

  it('add up the collections of the project in rebuild and usage', async () => {
    await edge.backend.create('q', { name: 'a', dimension: 1, index: 'brute' });
    expect((await rw.post('/v1/index/rebuild', {})).body).to.deep.equal({ ok: true, effective: 'rebuilt', records: 9 });
    const raw = await rw.raw('POST', '/v1/index/rebuild', '');
    expect(raw.body).to.deep.equal({ ok: true, effective: 'rebuilt', records: 9 });
    expect((await rw.post('/v1/index/rebuild', { index: 'brute' })).body.effective).to.equal('brute');
    expect((await rw.get('/v1/usage')).body).to.deep.equal({
      records: 9,
      collections: 3,
      storage: { event_log_bytes: 900, snapshot_bytes: 90, total_bytes: 990 },
      bytes: { vectors: 0, metadata: 0, texts: 0, payloads: 0, log: 900, total: 900, limit: 16 * 1024 ** 3 },
    });
  });

  it('check the shape of a request before they call a shard', async () => {
    const asked = edge.backend.calls.length;
    const wrong = await Promise.all([
      rw.post('/v1/records/encrypted', { payload: '!' }),
      rw.delete('/v1/crypto/shred/xyz'),
      rw.post('/v1/graph/node', { kind: 7 }),
      rw.get('/v1/graph/node/x'),
      rw.get('/v1/graph/query'),
      rw.get('/v1/graph/query?start=1&direction=up'),
      rw.get('/v1/proof/receipt?sequence=x'),
    ]);
    for (const { status, body } of wrong) expect([status, body.code]).to.deep.equal([400, 'validation_error']);
    expect(edge.backend.calls).to.have.length(asked);
  });

  it('show a key its own id, project and scope, unless it may not read', async () => {
    for (const scope of ['read_only', 'read_write', 'admin'] as const) {
      const { body } = await (await edge.client(scope)).get('/v1/keys/self');
      expect(body).to.deep.equal({ id: body.id, project: 'p', scope });
      expect(body.id).to.match(/^[0-9a-f]{16}$/);
    }
    expect((await (await edge.client('metrics')).get('/v1/keys/self')).body.code).to.equal('forbidden');
  });

  it('create, list and revoke keys within the project of an admin', async () => {
    const admin = await edge.client('admin');
    const other = await edge.client('admin', 'q');
    expect((await rw.get('/v1/keys')).body.code).to.equal('forbidden');
    const made = await admin.post('/v1/keys', { scope: 'read_only', label: 'ci', expires_in_secs: 60 });
    expect(made.body).to.include({ project: 'p', scope: 'read_only', label: 'ci' });
    expect(made.body.expires_at_ms - made.body.created_at_ms).to.be.within(59_000, 60_000);
    const list = await admin.get('/v1/keys');
    expect(list.text).not.to.include(made.body.key.slice(3));
    expect(list.body.keys.map(({ id }: { id: string }) => id)).to.include(made.body.id);
    expect((await other.get('/v1/keys')).body.keys).to.have.length(1);
    const client = (key: string) =>
      fetch(`${edge.edge.url}/v1/version`, { headers: { authorization: `Bearer ${key}` } });
    expect(await (await client(made.body.key)).text()).to.equal('1.2.3');
    expect((await other.delete(`/v1/keys/${made.body.id}`)).body.code).to.equal('not_found');
    expect((await admin.delete(`/v1/keys/${made.body.id}`)).status).to.equal(204);
    expect((await client(made.body.key)).status).to.equal(401);
    for (const body of [{}, { scope: 'root' }, { scope: 'admin', expires_in_secs: 0 }, { scope: 'admin', label: 5 }])
      expect((await admin.post('/v1/keys', body)).body.code).to.equal('validation_error');
  });

  it('answer a deletion of a collection with 204, without body or length', async () => {
    const answer = await rw.delete('/v1/namespaces/a');
    expect(answer.status).to.equal(204);
    expect(answer.text).to.equal('');
    expect(answer.headers.has('content-length')).to.equal(false);
    expect((await rw.delete('/v1/namespaces/a')).body.code).to.equal('collection_not_found');
  });
});
