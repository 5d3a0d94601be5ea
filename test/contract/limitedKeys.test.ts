// Covers: shared/registry/keyCollections.ts
/** Keys that are limited to collections, over HTTP: what they may use and see, and that every entrance refuses the rest. */
import { expect } from 'chai';
import type { Answer } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';
import { announcement, exported } from '../support/rigs/backups.js';

inBothModes('a key that is limited to collections', (service) => {
  let project: Project;
  let limited: Project['rw'];
  const create = (name: string) => project.rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
  const make = (body: object) => project.admin.post('/v1/keys', { scope: 'read_write', ...body });
  const forbidden = async (asked: Promise<Answer>, what: string): Promise<string> => {
    const { status, body, text } = await asked;
    expect([status, body?.code], `${what}: ${text}`).to.deep.equal([403, 'forbidden']);
    return body.error;
  };

  beforeEach(async () => {
    project = await service.newProject();
    for (const name of ['docs', 'docs-2', 'other', 'default']) {
      expect((await create(name)).status).to.equal(200);
      expect((await project.rw.post('/v1/records', { collection: name, values: [1] })).status).to.equal(200);
    }
    const { status, body, text } = await make({ collections: ['docs*', 'mine'] });
    expect(status, text).to.equal(200);
    expect(body.collections).to.deep.equal(['docs*', 'mine']);
    limited = service.client(body.key);
  });

  it('reads, writes, creates and deletes the collections of its names and prefixes', async () => {
    for (const collection of ['docs', 'docs-2']) {
      expect((await limited.post('/v1/records', { collection, values: [2] })).status).to.equal(200);
      const { results } = (await limited.post('/v1/search', { collection, query: [2], k: 5 })).body;
      expect(results.map(({ id }: { id: number }) => id)).to.deep.equal([2, 1]);
      expect((await limited.get(`/v1/timeline?collection=${collection}`)).body.total).to.equal(2);
    }
    for (const name of ['mine', 'docs-3']) {
      const wanted = { name, dimension: 1, metric: 'squared_l2' };
      expect((await limited.post('/v1/namespaces', wanted)).status).to.equal(200);
      expect((await limited.delete(`/v1/namespaces/${name}`)).status).to.equal(204);
    }
    const multi = await limited.post('/v1/search/multi', { collections: ['docs', 'docs-2'], query: [1], k: 5 });
    expect(multi.body.results).to.have.length(4);
  });

  it('sees in lists only these collections, and its limits in what it is', async () => {
    const names = (await limited.get('/v1/namespaces')).body.collections.map(({ name }: { name: string }) => name);
    expect(names).to.deep.equal(['docs', 'docs-2']);
    expect((await project.ro.get('/v1/namespaces')).body.collections).to.have.length(4);
    expect((await limited.get('/v1/keys/self')).body.collections).to.deep.equal(['docs*', 'mine']);
    expect((await project.ro.get('/v1/keys/self')).body).not.to.have.property('collections');
    const { keys } = (await project.admin.get('/v1/keys')).body;
    expect(keys.filter((key: object) => 'collections' in key)).to.have.length(1);
  });

  it('is refused at every entrance to another collection, whether or not it exists', async () => {
    for (const collection of ['other', 'absent']) {
      const query = `collection=${collection}`;
      const asked: Record<string, Promise<Answer>> = {
        insert: limited.post('/v1/records', { collection, values: [1] }),
        batch: limited.post('/v1/vectors/batch-insert', { collection, batch: [[1]] }),
        upsert: limited.post('/v1/vectors/batch-upsert', { collection, batch: [[1]], external_ids: ['a'] }),
        encrypted: limited.post('/v1/records/encrypted', { collection, payload: 'QQ==' }),
        get: limited.get(`/v1/records/1?${query}`),
        list: limited.get(`/v1/records?${query}`),
        many: limited.post('/v1/records/get', { collection, ids: [1] }),
        count: limited.get(`/v1/records/count?${query}`),
        facets: limited.get(`/v1/facets?${query}&key=a`),
        deletes: limited.post('/v1/records/delete', { collection, ids: [1] }),
        delete: limited.post('/v1/delete', { collection, id: 1 }),
        soft: limited.post('/v1/soft-delete', { collection, id: 1 }),
        patch: limited.patch(`/v1/records/1/metadata?${query}`, {}),
        search: limited.post('/v1/search', { collection, query: [1], k: 1 }),
        searches: limited.post('/v1/search/batch', { collection, searches: [{ query: [1], k: 1 }] }),
        multi: limited.post('/v1/search/multi', { collections: ['docs', collection], query: [1], k: 1 }),
        node: limited.post('/v1/graph/node', { collection, kind: 0 }),
        nodes: limited.get(`/v1/graph/nodes?${query}`),
        timeline: limited.get(`/v1/timeline?${query}`),
        state: limited.get(`/v1/proof/state?${query}`),
        receipt: limited.get(`/v1/proof/receipt?${query}&sequence=1`),
        checkpoint: limited.get(`/v1/proof/checkpoint?${query}`),
        logged: limited.get(`/v1/proof/checkpoint?${query}&logged=true`),
        export: limited.get(`/v1/export?${query}`),
        log: limited.get(`/v1/export/log?${query}`),
        one: limited.get(`/v1/namespaces/${collection}`),
        index: limited.get(`/v1/namespaces/${collection}/index`),
        configure: limited.post(`/v1/namespaces/${collection}/index`, { type: 'hnsw' }),
        create: limited.post('/v1/namespaces', { name: collection, dimension: 1, metric: 'squared_l2' }),
        remove: limited.delete(`/v1/namespaces/${collection}`),
        imported: limited.post(`/v1/import/${collection}/finish`, undefined),
      };
      for (const [what, answer] of Object.entries(asked))
        expect(await forbidden(answer, what), what).to.equal(
          `this key may not use collection ${collection}; it is limited to docs*, mine`,
        );
    }
    expect((await project.ro.get('/v1/timeline?collection=other')).body.total).to.equal(1);
    expect(await forbidden(limited.post('/v1/search', { query: [1], k: 1 }), 'default')).to.contain(
      'collection default',
    );
    const of = await exported(project.rw, 'docs');
    await forbidden(limited.post('/v1/import', announcement(of, 'elsewhere')), 'import');
  });

  it('is refused where the whole project is concerned', async () => {
    const asked: Record<string, Promise<Answer>> = {
      rebuild: limited.post('/v1/index/rebuild', {}),
      usage: limited.get('/v1/usage'),
      shred: limited.delete(`/v1/crypto/shred/${'0'.repeat(32)}`),
      erase: limited.post('/v1/erasures', { key_ids: ['0'.repeat(32)] }),
      status: limited.get(`/v1/crypto/status/${'0'.repeat(32)}`),
      alias: limited.put('/v1/aliases/docs-now', { collection: 'docs' }),
      unalias: limited.delete('/v1/aliases/docs-now'),
    };
    for (const [what, answer] of Object.entries(asked))
      expect(await forbidden(answer, what)).to.equal(
        'this concerns the whole project, and this key is limited to docs*, mine',
      );
  });

  it('uses an alias that leads to its collections, under any name, and no other', async () => {
    await project.rw.put('/v1/aliases/now', { collection: 'docs-2' });
    await project.rw.put('/v1/aliases/docs-alias', { collection: 'other' });
    expect((await limited.post('/v1/search', { collection: 'now', query: [1], k: 1 })).status).to.equal(200);
    const asked: Record<string, Promise<Answer>> = {
      search: limited.post('/v1/search', { collection: 'docs-alias', query: [1], k: 1 }),
      multi: limited.post('/v1/search/multi', { collections: ['docs', 'docs-alias'], query: [1], k: 1 }),
      one: limited.get('/v1/namespaces/docs-alias'),
      create: limited.post('/v1/namespaces', { name: 'docs-alias', dimension: 1, metric: 'squared_l2' }),
      remove: limited.delete('/v1/namespaces/docs-alias'),
      imported: limited.post('/v1/import', announcement(await exported(project.rw, 'docs'), 'docs-alias')),
      'end of an import': limited.post('/v1/import/docs-alias/finish', undefined),
    };
    for (const [what, answer] of Object.entries(asked))
      expect(await forbidden(answer, what), what).to.equal(
        'this key may not use collection docs-alias; it is limited to docs*, mine',
      );
    expect((await limited.delete('/v1/namespaces/now')).body.code).to.equal('forbidden');
    const { aliases } = (await limited.get('/v1/aliases')).body;
    expect(aliases).to.deep.equal([{ alias: 'now', collection: 'docs-2' }]);
  });

  it('is refused for a forbidden collection before a missing one', async () => {
    await project.rw.put('/v1/aliases/elsewhere', { collection: 'other' });
    const search = (body: object) => limited.post('/v1/search/multi', { query: [1], k: 1, ...body });
    const asked: Record<string, Promise<Answer>> = {
      alias: search({ collections: ['mine', 'docs', 'elsewhere'] }),
      'alias first': search({ collections: ['elsewhere', 'mine'] }),
      existing: search({ collections: ['mine', 'other'] }),
      missing: search({ collections: ['mine', 'absent'] }),
      impossible: search({ collections: ['a b', 'other'] }),
      like: search({ collections: ['mine'], query: undefined, like: { collection: 'elsewhere', id: 1 } }),
    };
    for (const [what, answer] of Object.entries(asked))
      expect(await forbidden(answer, what), what).to.match(
        /^this key may not use collection (elsewhere|other|absent);/,
      );
    const own = await search({ collections: ['docs', 'mine', 'docs-9'] });
    expect([own.status, own.body.error], own.text).to.deep.equal([404, 'there is no collection named "mine"']);
  });

  it('is not made for malformed names, or for a scope that concerns the whole project', async () => {
    const refused = [
      ...[[], ['a b'], ['*a'], ['a**'], [''], ['x'.repeat(65)], Array(65).fill('a')].map((collections) => ({
        collections,
      })),
      ...[
        { scope: 'admin', collections: ['docs'] },
        { scope: 'metrics', collections: ['docs'] },
      ],
    ];
    for (const body of refused) {
      const { status, body: answer } = await make(body);
      expect([status, answer.code], JSON.stringify(body)).to.deep.equal([400, 'validation_error']);
    }
    expect((await make({ collections: ['*'] })).status).to.equal(200);
    expect((await make({ collections: null })).body).not.to.have.property('collections');
  });
});
