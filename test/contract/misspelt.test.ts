// Covers: coordinator/contract/refusal.ts, coordinator/contract/validationMessages.ts
/** Misspelt field names, where ignoring them would do something that is hard to undo. */
import { expect } from 'chai';
import type { Answer } from '../support/launch/client.js';
import { IndexedByHttp, rowsOf } from '../support/launch/indexClient.js';
import { inBothModesAndEngines } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';

inBothModesAndEngines('a misspelt field', (service) => {
  let project: Project;
  beforeEach(async () => {
    project = await service.newProject();
  });
  const expectRefused = ({ status, body, text }: Answer, field: string): void => {
    expect([status, body?.code], text).to.deep.equal([400, 'validation_error']);
    expect(body.error).to.include(field);
  };
  /** Fills the collection `default`; its record 1 has metadata. */
  const fillDefault = async (): Promise<void> => {
    await project.rw.post('/v1/namespaces', { name: 'default', dimension: 1, metric: 'squared_l2' });
    await project.rw.post('/v1/vectors/batch-insert', { batch: [[1]], metadata: [{ a: 1 }] });
  };

  it('for the type of an index drops no index', async () => {
    const collection = new IndexedByHttp(service, project.rw);
    await collection.create('hnsw');
    await collection.fill(rowsOf(1, 50));
    const before = await collection.settled('hnsw');
    const bodies: [string, object][] = [
      ['tpye', { tpye: 'hnsw' }],
      ['Type', { Type: 'ivf', parameters: { n_list: 4 } }],
      ['index', { index: 'hnsw' }],
      ['parameter', { parameter: { m: 8 } }],
      ['x'.repeat(64), { ['x'.repeat(1_000)]: null }],
    ];
    for (const [field, body] of bodies) expectRefused(await collection.configure(body), `$.${field}`);
    expect(await collection.state()).to.deep.equal(before);
    for (const type of [null, 'bq']) expectRefused(await collection.configure({ type, tpye: 'hnsw' }), '$.tpye');
    expect(await collection.state()).to.deep.equal(before);
  });

  it('for the index of a rebuild rebuilds nothing', async () => {
    const collection = new IndexedByHttp(service, project.rw);
    await collection.create('hnsw');
    await collection.fill(rowsOf(1, 50));
    const before = await collection.settled('hnsw');
    for (const field of ['indx', 'indexs', 'Index', 'inedx'])
      expectRefused(await project.rw.post('/v1/index/rebuild', { [field]: 'bq' }), `$.${field}`);
    expect(await collection.state()).to.deep.equal(before);
  });

  it('for the collection deletes and changes nothing in the default one', async () => {
    await fillDefault();
    const { node_id: node } = (await project.rw.post('/v1/graph/node', { kind: 0, record_id: 1 })).body;
    for (const path of ['/v1/delete', '/v1/soft-delete'])
      for (const field of ['colection', 'Collection', 'collections'])
        expectRefused(await project.rw.post(path, { id: 1, [field]: 'other' }), `$.${field}`);
    for (const path of ['/v1/delete', '/v1/soft-delete'])
      for (const field of ['collection', 'colection'])
        expectRefused(await project.rw.post(`${path}?${field}=other`, { id: 1 }), field);
    expectRefused(await project.rw.patch('/v1/records/1/metadata?colection=other', {}), 'colection');
    expectRefused(await project.rw.delete(`/v1/graph/node/${node}?collectoin=other`), 'collectoin');
    expect((await project.rw.get('/v1/records/1')).body.metadata).to.deep.equal({ a: 1 });
    expect((await project.rw.get(`/v1/graph/node/${node}`)).status).to.equal(200);
    expectRefused(await project.rw.post('/v1/delete', { id: 1, collection: 'default', ids: [2] }), '$.ids');
  });

  it('neither lets an upsert empty a record nor replace one in the default collection', async () => {
    await fillDefault();
    const body = { collection: 'default', external_ids: ['a'], batch: [[2]] };
    const written = await project.rw.post('/v1/vectors/batch-upsert', { ...body, metadata: [{ b: 1 }], texts: ['t'] });
    expect(written.status, written.text).to.equal(200);
    for (const field of ['colection', 'metadatas', 'text', 'tag', 'Texts'])
      expectRefused(
        await project.rw.post('/v1/vectors/batch-upsert', { ...body, collection: undefined, [field]: ['x'] }),
        `$.${field}`,
      );
    const { records } = (await project.rw.post('/v1/records/get', { external_ids: ['a'], with: ['text'] })).body;
    expect(records[0]).to.deep.include({ metadata: { b: 1 }, text: 't' });
  });

  it('is refused even if another endpoint has it: inserts refuse external ids', async () => {
    await fillDefault();
    const { rw } = project;
    expectRefused(await rw.post('/v1/records', { values: [1], external_id: 'a' }), '$.external_id is unknown here');
    expectRefused(await rw.post('/v1/vectors/batch-insert', { batch: [[1]], external_ids: ['a'] }), 'batch-upsert');
    expect((await rw.get('/v1/records/count')).body.count).to.equal(1);
  });

  it('for the expiry of a key creates no permanent key', async () => {
    const keys = async (): Promise<unknown[]> => (await project.admin.get('/v1/keys')).body.keys;
    // The harness created them; the service lists them once it has received them.
    await service.until(async () => (await keys()).length === 4);
    const before = await keys();
    for (const field of ['expires_in_sec', 'expiresInSecs', 'expires_at', 'expires', 'ttl'])
      expectRefused(await project.admin.post('/v1/keys', { scope: 'read_only', [field]: 60 }), `$.${field}`);
    expect(await keys()).to.deep.equal(before);
  });

  it('for the key of an encrypted record stores nothing under another key', async () => {
    await fillDefault();
    const secret = { payload: Buffer.from('secret').toString('base64') };
    for (const field of ['keyid', 'keyId', 'key_di'])
      expectRefused(await project.rw.post('/v1/records/encrypted', { ...secret, [field]: 'ab'.repeat(16) }), field);
    expect((await project.rw.get('/v1/namespaces')).body.collections[0].record_count).to.equal(1);
  });
});
