/** Writes on the condition that their records have not changed, over HTTP. */
import { expect } from 'chai';
import { answered, refused } from '../support/launch/answers.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';

const ROUTES = [
  'GET /v1/records/{id}',
  'PATCH /v1/records/{id}/metadata',
  'POST /v1/records/delete',
  'POST /v1/records/metadata',
  'POST /v1/soft-delete',
  'POST /v1/delete',
  'POST /v1/vectors/batch-upsert',
] as const;

inBothModesAndThroughClient('a write with if_log_index', ROUTES, (service) => {
  let rw: Client;
  let admin: Client;
  beforeEach(async () => {
    ({ rw, admin } = await service.newProject());
    answered(await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' }));
  });
  const post = (path: string, body: object): Promise<Answer> => rw.post(path, { collection: 'c', ...body });
  const upsert = (external_ids: string[], more: object = {}): Promise<Answer> =>
    post('/v1/vectors/batch-upsert', { external_ids, batch: external_ids.map(() => [1]), ...more });
  const patch = (id: number, metadata: object, if_log_index?: number): Promise<Answer> =>
    rw.raw(
      'PATCH',
      `/v1/records/${id}/metadata?collection=c${if_log_index === undefined ? '' : `&if_log_index=${if_log_index}`}`,
      JSON.stringify(metadata),
    );
  const logIndex = async (id: number): Promise<number> =>
    answered(await rw.get(`/v1/records/${id}?collection=c&with=log_index`)).log_index;
  const sequence = async (): Promise<number> => answered(await rw.get('/v1/proof/state?collection=c')).sequence;

  it('has the log_index of the last write of a record from every read', async () => {
    answered(await upsert(['a', 'b', 'c']));
    answered(await patch(2, { n: 1 }));
    answered(await upsert(['a']));
    const wanted = [5, 4, 3];
    for (const [i, log_index] of wanted.entries()) expect(await logIndex(i + 1)).to.equal(log_index);
    const byName = answered(await rw.get('/v1/records/by-external-id?collection=c&external_id=b&with=text,log_index'));
    expect(byName).to.include({ log_index: 4, text: null });
    const listed = answered(await rw.get('/v1/records?collection=c&with=log_index')).records;
    const many = answered(await post('/v1/records/get', { ids: [1, 2, 3], with: ['log_index'] })).records;
    for (const records of [listed, many])
      expect(records.map((one: { log_index: number }) => one.log_index)).to.deep.equal(wanted);
    expect(answered(await rw.get('/v1/records/1?collection=c'))).not.to.have.property('log_index');
  });

  it('changes a record that is as it was read, and refuses one that has changed', async () => {
    answered(await upsert(['a', 'b']));
    const read = await logIndex(1);
    answered(await patch(2, { other: 1 }));
    answered(await patch(1, { n: 1 }, read));
    const before = await sequence();
    expect(refused(await patch(1, { n: 2 }, read), 409, 'conflict')).to.equal(
      'record 1 was changed by event 4, after 1: read it again',
    );
    for (const path of ['/v1/soft-delete', '/v1/delete'])
      for (const name of [{ id: 1 }, { external_id: 'a' }])
        refused(await post(path, { ...name, if_log_index: read }), 409, 'conflict');
    const byName = `/v1/records/by-external-id/metadata?collection=c&external_id=a&if_log_index=${read}`;
    refused(await rw.raw('PATCH', byName, '{}', { 'content-type': 'application/merge-patch+json' }), 409, 'conflict');
    expect(await sequence()).to.equal(before);
    answered(await post('/v1/soft-delete', { id: 1, if_log_index: await logIndex(1) }));
    refused(await post('/v1/soft-delete', { id: 1, if_log_index: 99 }), 404, 'record_not_found');
  });

  it('is refused for many records if one of them has changed, and then changes none', async () => {
    answered(await upsert(['a', 'b', 'c'], { metadata: [{ n: 1 }, { n: 1 }, { n: 2 }] }));
    answered(await patch(2, { n: 1, changed: true }));
    const before = await sequence();
    for (const of of [{ ids: [1, 2] }, { external_ids: ['a', 'b'] }, { metadata_filter: { n: 1 } }]) {
      refused(await post('/v1/records/delete', { ...of, if_log_index: 3 }), 409, 'conflict');
      refused(await post('/v1/records/metadata', { ...of, merge: { m: 1 }, if_log_index: 3 }), 409, 'conflict');
    }
    expect(await sequence()).to.equal(before);
    const merged = await post('/v1/records/metadata', { metadata_filter: { n: 1 }, merge: { m: 1 }, if_log_index: 4 });
    expect(answered(merged)).to.deep.equal({ updated: 2, log_index: 6 });
    const gone = await post('/v1/records/delete', { ids: [3, 99], if_log_index: 3 });
    expect(answered(gone)).to.deep.equal({ deleted: 1, log_index: 7, missing: [99] });
  });

  it('inserts with 0 what is not there, and replaces above 0 what is still there', async () => {
    expect(answered(await upsert(['a', 'b'], { if_log_index: 0 }))).to.include({ created: 2 });
    expect(refused(await upsert(['c', 'a'], { if_log_index: 0 }), 409, 'conflict')).to.match(
      /^record 1 was changed by/,
    );
    expect(answered(await upsert(['a', 'b'], { if_log_index: 2 }))).to.include({ replaced: 2 });
    refused(await upsert(['b'], { if_log_index: 3 }), 409, 'conflict');
    expect(refused(await upsert(['new'], { if_log_index: 4 }), 409, 'conflict')).to.match(
      /^no live record has .* "new"/,
    );
    answered(await post('/v1/delete', { external_id: 'a' }));
    refused(await upsert(['a'], { if_log_index: 3 }), 409, 'conflict');
    expect(answered(await upsert(['a'], { if_log_index: 0 }))).to.include({ created: 1 });
  });

  it('is checked for a hidden record and for an encrypted one too', async () => {
    answered(await upsert(['a']));
    answered(await post('/v1/soft-delete', { id: 1 }));
    refused(await post('/v1/delete', { id: 1, if_log_index: 1 }), 409, 'conflict');
    answered(await post('/v1/delete', { id: 1, if_log_index: 2 }));
    answered(await post('/v1/records/encrypted', { payload: 'QQ==' }));
    refused(await post('/v1/delete', { id: 2, if_log_index: 3 }), 409, 'conflict');
    answered(await post('/v1/delete', { id: 2, if_log_index: 4 }));
  });

  it('is checked under an alias, and under a key that is limited to the collection', async () => {
    answered(await upsert(['a']));
    answered(await rw.put('/v1/aliases/x', { collection: 'c' }));
    answered(await post('/v1/records/metadata', { collection: 'x', ids: [1], merge: { n: 1 }, if_log_index: 1 }));
    expect(answered(await rw.get('/v1/records/1?collection=x&with=log_index')).log_index).to.equal(2);
    refused(await post('/v1/delete', { collection: 'x', id: 1, if_log_index: 1 }), 409, 'conflict');
    const keyOf = async (name: string): Promise<Client> =>
      service.client(answered(await admin.post('/v1/keys', { scope: 'read_write', collections: [name] })).key);
    const [allowed, other] = [await keyOf('c'), await keyOf('other')];
    const deletion = { collection: 'c', id: 1, if_log_index: 1 };
    refused(await other.post('/v1/delete', deletion), 403, 'forbidden');
    refused(await allowed.post('/v1/delete', deletion), 409, 'conflict');
    answered(await allowed.post('/v1/delete', { ...deletion, if_log_index: 2 }));
  });

  it('counts once of several that are sent at once', async () => {
    answered(await upsert(['a']));
    const statuses = await Promise.all(Array.from({ length: 20 }, async (_, n) => (await patch(1, { n }, 1)).status));
    expect(statuses.filter((status) => status === 200)).to.have.length(1);
    expect(statuses.filter((status) => status === 409)).to.have.length(19);
  });

  it('gets the first answer when it is sent again under its request id or key', async () => {
    answered(await upsert(['a', 'b']));
    const deletion = { ids: [1], if_log_index: 1, request_id: 'a'.repeat(32) };
    answered(await post('/v1/records/delete', deletion));
    expect(answered(await post('/v1/records/delete', deletion))).to.include({ deleted: 1, deduplicated: true });
    const body = { collection: 'c', external_ids: ['b'], batch: [[2]], if_log_index: 2 };
    const key = { 'idempotency-key': 'b'.repeat(32) };
    for (let n = 0; n < 2; n++)
      expect(answered(await rw.post('/v1/vectors/batch-upsert', body, key))).to.include({ replaced: 1 });
  });

  it('is 400 with a number that is not an event of the log, and changes nothing', async () => {
    answered(await upsert(['a']));
    for (const if_log_index of [2, 10 ** 9]) {
      expect(refused(await patch(1, {}, if_log_index), 400, 'validation_error')).to.match(
        /the collection has 1 event$/,
      );
      refused(await upsert(['a'], { if_log_index }), 400, 'validation_error');
      refused(await upsert(['b'], { if_log_index }), 400, 'validation_error');
    }
    for (const of of [{ ids: [1] }, { ids: [9] }, { external_ids: ['none'] }, { metadata_filter: { n: 1 } }])
      for (const path of ['/v1/records/delete', '/v1/records/metadata']) {
        const merge = path.endsWith('metadata') ? { merge: { n: 1 } } : {};
        expect(refused(await post(path, { ...of, ...merge, if_log_index: 2 }), 400, 'validation_error')).to.match(
          /the collection has 1 event$/,
        );
      }
    for (const if_log_index of [-1, 1.5, '3', true, {}])
      for (const [path, body] of [
        ['/v1/delete', { id: 1 }],
        ['/v1/soft-delete', { external_id: 'a' }],
        ['/v1/records/delete', { ids: [1] }],
        ['/v1/records/metadata', { ids: [1], merge: {} }],
        ['/v1/vectors/batch-upsert', { external_ids: ['a'], batch: [[1]] }],
      ] as const)
        expect(refused(await post(path, { ...body, if_log_index }), 400, 'validation_error')).to.include(
          'if_log_index',
        );
    for (const path of ['/v1/records/1/metadata?', '/v1/records/by-external-id/metadata?external_id=a&'])
      for (const given of ['-1', '1.5', '%223%22', 'x', '']) {
        const url = `${path}collection=c&if_log_index=${given}`;
        expect(refused(await rw.raw('PATCH', url, '{}'), 400, 'validation_error')).to.include('if_log_index');
      }
    refused(await post('/v1/vectors/batch-insert', { batch: [[1]], if_log_index: 0 }), 400, 'validation_error');
    expect(await sequence()).to.equal(1);
  });
});
