// Covers: coordinator/access/
/** The access log of a collection over HTTP: the entries of refused requests. */
import { expect } from 'chai';
import type { Client } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';

interface Entry {
  readonly kind: string;
  readonly status: number;
}

inBothModes('the access log of a collection', (service) => {
  let project: Project;
  let reader: Client;
  const create = (name: string, more: object = {}) =>
    project.rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2', ...more });
  const page = async (collection = 'c') => {
    const { status, body, text } = await project.admin.get(`/v1/access?collection=${collection}`);
    expect(status, text).to.equal(200);
    return body as { entries: Entry[]; size: number };
  };
  const kinds = async () => (await page()).entries.map(({ kind, status }) => `${kind} ${status}`);

  beforeEach(async () => {
    project = await service.newProject();
    reader = project.ro;
    expect((await create('c', { audit_reads: true })).status).to.equal(200);
    expect((await project.rw.post('/v1/records', { collection: 'c', values: [1, 0] })).status).to.equal(200);
  });

  it('has an entry for each refused read', async () => {
    const { body } = await project.admin.post('/v1/keys', { scope: 'read_write', collections: ['other'] });
    const limited = service.client(body.key);
    await limited.get('/v1/records/1?collection=c');
    await limited.post('/v1/records', { collection: 'c', values: [1, 0] });
    await reader.post('/v1/search', { collection: 'c', query: [1], k: 1 });
    await reader.post('/v1/search', { collection: 'c', query: [1, 0], k: -1 });
    await reader.get('/v1/records/99?collection=c');
    await reader.get('/v1/records?collection=c&limit=none');
    expect(await kinds()).to.deep.equal([
      'GET /v1/records/{id} 403',
      'POST /v1/records 403',
      'POST /v1/search 400',
      'POST /v1/search 400',
      'GET /v1/records/{id} 404',
      'GET /v1/records 400',
    ]);
    const [first, , , , absent] = (await page()).entries;
    expect(first).not.to.have.property('sequence');
    expect(absent).to.have.property('sequence');
  });

  it('has the hash of each refused request', async () => {
    const { body } = await project.admin.post('/v1/keys', { scope: 'read_write', collections: ['other'] });
    const limited = service.client(body.key);
    const upsert = { collection: 'c', batch: [[1, 0]], external_ids: ['a'], if_log_index: 1 };
    const asked = [
      limited.post('/v1/records', { collection: 'c', values: [1, 0] }),
      limited.delete('/v1/namespaces/c'),
      project.rw.delete('/v1/namespaces/c'),
      project.rw.post('/v1/vectors/batch-upsert', upsert),
      reader.get('/v1/records/%zz?collection=c'),
      reader.get('/v1/records/1?collection=c&colection=c'),
    ];
    for (const answer of asked) expect((await answer).status).to.be.within(400, 409);
    const { entries } = await page();
    expect(entries).to.have.length(asked.length);
    for (const entry of entries) expect(entry, entry.kind).to.have.property('request_hash');
  });

  it('has an entry for each request to the collection itself by a key that may not use it', async () => {
    await create('default', { audit_reads: true });
    await project.admin.put('/v1/aliases/al', { collection: 'c' });
    const { body } = await project.admin.post('/v1/keys', { scope: 'read_write', collections: ['other'] });
    const limited = service.client(body.key);
    for (const name of ['c', 'al']) expect((await limited.get(`/v1/namespaces/${name}`)).status).to.equal(403);
    expect((await limited.delete('/v1/namespaces/c')).status).to.equal(403);
    expect((await project.rw.delete('/v1/namespaces/c')).status).to.equal(403);
    expect((await limited.get('/v1/namespaces/nope')).status).to.equal(403);
    expect((await reader.get('/v1/namespaces/nope')).status).to.equal(404);
    const several = { collections: ['nope'], query: [1, 0], k: -1 };
    expect((await reader.post('/v1/search/multi', several)).status).to.equal(400);
    expect(await kinds()).to.deep.equal([
      'GET /v1/namespaces/{name} 403',
      'GET /v1/namespaces/{name} 403',
      'DELETE /v1/namespaces/{name} 403',
      'DELETE /v1/namespaces/{name} 403',
    ]);
    expect((await page('default')).size).to.equal(0);
  });

  it('has an entry for each call that names the collection and gets 403', async () => {
    const make = async (more: object) => service.client((await project.admin.post('/v1/keys', more)).body.key);
    const limited = await make({ scope: 'read_write', collections: ['other'] });
    const asked = [
      await (await make({ scope: 'metrics' })).get('/v1/records/1?collection=c'),
      await reader.post('/v1/records', { collection: 'c', values: [1, 0] }),
      await reader.patch('/v1/records/1/metadata?collection=c', {}),
      await project.rw.get('/v1/access?collection=c'),
      await project.rw.patch('/v1/namespaces/c', { audit_reads: false }),
      await limited.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' }),
      await limited.put('/v1/aliases/al', { collection: 'c' }),
      await limited.post('/v1/erasures', { collection: 'c', metadata_filter: { k: 1 } }),
    ];
    expect(asked.map(({ status }) => status)).to.deep.equal(asked.map(() => 403));
    for (const rest of [{ collection: 'none' }, { collection: 'c', text: 'x'.repeat(70_000) }])
      expect((await reader.post('/v1/records', { values: [1], ...rest })).status).to.equal(403);
    expect(await kinds()).to.deep.equal([
      'GET /v1/records/{id} 403',
      'POST /v1/records 403',
      'PATCH /v1/records/{id}/metadata 403',
      'GET /v1/access 403',
      'PATCH /v1/namespaces/{name} 403',
      'POST /v1/namespaces 403',
      'PUT /v1/aliases/{alias} 403',
      'POST /v1/erasures 403',
    ]);
  });

  it('has an entry for each audited collection that a refused multi-search names', async () => {
    const names = Array.from({ length: 32 }, (_, i) => `n${i}`);
    await create('n31', { audit_reads: true });
    const like = { collection: 'c', id: 1 };
    const { body } = await project.admin.post('/v1/keys', { scope: 'read_only', collections: ['n*'] });
    const search = async (client: Client) =>
      (await client.post('/v1/search/multi', { collections: names, like, k: 1 })).status;
    expect([await search(reader), await search(service.client(body.key))]).to.deep.equal([404, 403]);
    expect(await kinds()).to.deep.equal(['POST /v1/search/multi 404', 'POST /v1/search/multi 403']);
    expect((await page('n31')).size).to.equal(2);
  });
});
