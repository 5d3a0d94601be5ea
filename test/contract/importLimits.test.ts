/** Records larger than the defaults, and limits that an import meets. */
import { expect } from 'chai';
import type { Answer } from '../support/launch/client.js';
import { inBothModes, inBothModesAtLengthIn } from '../support/launch/modes.js';
import { announcement, answered, begin, exported, finish, imported, send } from '../support/rigs/backups.js';

inBothModes('an import', (service, { start }) => {
  it('refuses a record above the limits, and the error names event and limit', async () => {
    const generous = await start({ VOUCH_METADATA_BYTES: '1000000', VOUCH_TEXT_BYTES: '256001' });
    const source = await generous.newProject();
    const target = await service.newProject();
    await source.rw.post('/v1/namespaces', { name: 'a', dimension: 2, metric: 'squared_l2' });
    const insert = (extra: object): Promise<Answer> =>
      source.rw.post('/v1/vectors/batch-insert', { collection: 'a', batch: [[1, 2]], ...extra });
    answered(await insert({ texts: ['a'.repeat(65_536)] }));
    answered(await insert({ metadata: [{ a: 'b'.repeat(1_000_000 - 8) }] }));
    answered(await insert({ texts: ['c'.repeat(256_001)] }));
    const taken = await exported(source.ro, 'a');
    answered(await begin(target.rw, taken, 'b'));
    const refused = await send(target.rw, 'b', taken.frames);
    expect([refused.status, refused.body.code]).to.deep.equal([400, 'validation_error']);
    expect(refused.body.error).to.equal(
      'a frame of the import is refused: event 2: metadata takes 1000000 bytes; at most 65536 are allowed (limits.metadataBytes)',
    );
    expect(answered(await begin(target.rw, taken, 'b'))).to.include({ status: 'importing', sequence: 1 });
    expect((await finish(target.rw, 'b')).status).to.equal(409);
    expect((await target.rw.delete('/v1/namespaces/b')).status).to.equal(204);
    // A service with the same limits accepts the same export.
    expect((await imported(source.rw, taken, 'b')).status).to.equal('finished');
  });

  for (const [what, altered] of [
    ['a dimension of 32,769', { dimension: 32_769 }],
    ['a dimension of 0', { dimension: 0 }],
    ['a time that no date can hold', { created_at_ms: 8_640_000_000_000_001 }],
    ['a name of 65 characters', { name: 'a'.repeat(65) }],
    ['an index with 129 links', { index: { type: 'hnsw', parameters: { m: 129 } } }],
    ['an unknown kind of index', { index: { type: 'tree' } }],
    ['a project of 256 characters in its origin', { origin: { project: 'p'.repeat(256), name: 'a', id: 1 } }],
  ] as const)
    it(`refuses an announcement with ${what}`, async () => {
      const { rw } = await service.newProject();
      await rw.post('/v1/namespaces', { name: 'a', dimension: 2, metric: 'squared_l2' });
      const taken = await exported(rw, 'a');
      const answer = await rw.post('/v1/import', { ...announcement(taken, 'b'), ...altered });
      expect(answer.status, answer.text).to.equal(400);
      expect((await rw.get('/v1/namespaces')).body.collections).to.have.length(1);
    });
});

inBothModesAtLengthIn('cluster', 'records of 4 MB', (_, { start }) => {
  it('are served to many requests at once', async () => {
    const service = await start({ VOUCH_METADATA_BYTES: '4000000' });
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'a', dimension: 2, metric: 'squared_l2' });
    const metadata = [{ a: 'b'.repeat(3_900_000) }];
    for (let n = 1; n <= 8; n++)
      answered(await rw.post('/v1/vectors/batch-insert', { collection: 'a', batch: [[n, 2]], metadata }));
    const ids = [1, 2, 3, 4, 5, 6, 7, 8];
    const read = await Promise.all(ids.map(async (id) => answered(await rw.get(`/v1/records/${id}?collection=a`))));
    expect(read.map(({ id }) => id)).to.deep.equal(ids);
    for (const { metadata: shown } of read) expect(shown.a).to.have.length(3_900_000);
  });
});
