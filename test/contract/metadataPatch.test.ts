// Covers: shard/state/planPatches.ts
/** Merge patches of metadata, of one record and of many, over HTTP. */
import { expect } from 'chai';
import { answered, refused } from '../support/launch/answers.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';

/** Also requested through the package. */
const ROUTES = ['POST /v1/records/metadata'] as const;
/** Not through the package, which would parse the text. */
const AS_WRITTEN = { 'content-type': 'application/json' };
const PATCH = { 'content-type': 'application/merge-patch+json' };

inBothModesAndThroughClient('metadata in parts', ROUTES, (service) => {
  let rw: Client;
  beforeEach(async () => {
    ({ rw } = await service.newProject());
    answered(await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' }));
  });
  const insert = async (...metadata: (object | null)[]): Promise<number[]> =>
    answered(await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: metadata.map(() => [1]), metadata }))
      .ids;
  const patch = (id: number, merge: unknown, headers: object = PATCH): Promise<Answer> =>
    rw.raw('PATCH', `/v1/records/${id}/metadata?collection=c`, JSON.stringify(merge), { ...headers });
  const patchMany = (body: object): Promise<Answer> => rw.post('/v1/records/metadata', { collection: 'c', ...body });
  const metadata = async (id: number): Promise<unknown> =>
    answered(await rw.get(`/v1/records/${id}?collection=c`)).metadata;
  const sequence = async (): Promise<number> => answered(await rw.get('/v1/proof/state?collection=c')).sequence;
  const matching = async (filter: object): Promise<number> =>
    answered(await rw.post('/v1/records/count', { collection: 'c', metadata_filter: filter })).count;

  it('a merge patch changes the members that it names, and filters find the result', async () => {
    await insert({ a: 1, b: { c: 2, d: [1] }, e: 'x' }, null);
    answered(await patch(1, { b: { c: null, f: true }, e: null, g: [null] }));
    expect(await metadata(1)).to.deep.equal({ a: 1, b: { d: [1], f: true }, g: [null] });
    expect([await matching({ e: 'x' }), await matching({ 'b.f': true })]).to.deep.equal([0, 1]);
    answered(await patch(2, { n: { o: null, p: 1 } }));
    expect(await metadata(2)).to.deep.equal({ n: { p: 1 } });
    answered(await patch(2, {}));
    expect(await metadata(2)).to.deep.equal({ n: { p: 1 } });
  });

  it('without the content type of a patch the body replaces all metadata', async () => {
    await insert({ a: 1 });
    answered(await patch(1, { b: null }, {}));
    expect(await metadata(1)).to.deep.equal({ b: null });
    const charset = { 'content-type': 'application/merge-patch+json; charset=utf-8' };
    answered(await patch(1, { b: 1 }, charset));
    expect(await metadata(1)).to.deep.equal({ b: 1 });
    const latin = { 'content-type': 'application/merge-patch+json; charset=latin1' };
    refused(await patch(1, {}, latin), 415, 'unsupported_media_type');
    refused(await rw.raw('POST', '/v1/search', '{}', PATCH), 415, 'unsupported_media_type');
  });

  it('patches sent at once all count', async () => {
    await insert({});
    const keys = Array.from({ length: 40 }, (_, i) => `k${i}`);
    await Promise.all(keys.map(async (key, i) => answered(await patch(1, { [key]: i, list: { [key]: i } }))));
    const wanted = Object.fromEntries(keys.map((key, i) => [key, i]));
    expect(await metadata(1)).to.deep.equal({ ...wanted, list: wanted });
  });

  it('a patch has a receipt of the whole result, as an event update_metadata', async () => {
    await insert({ a: 1 });
    answered(await patch(1, { b: 2 }));
    const { events } = answered(await rw.get('/v1/timeline?collection=c'));
    expect(events.at(-1)).to.include({ log_index: 2, event_type: 'update_metadata', record_id: 1 });
    expect(answered(await rw.get('/v1/proof/receipt?collection=c&sequence=2'))).to.include({
      record_id: 1,
      sequence: 2,
    });
    const past = { collection: 'c', query: [1], k: 1, with: ['metadata'] };
    const at = async (n: number) =>
      answered(await rw.post('/v1/search', { ...past, as_of_log_index: n })).results[0].metadata;
    expect([await at(1), await at(2)]).to.deep.equal([{ a: 1 }, { a: 1, b: 2 }]);
  });

  it('a patch of many records is one commit, and answers how many it changed', async () => {
    await insert({ n: 1 }, { n: 2 }, { n: 3 }, null);
    const byIds = answered(await patchMany({ ids: [1, 9, 2, 1], merge: { seen: true } }));
    expect(byIds).to.deep.equal({ updated: 2, log_index: 6, missing: [9] });
    expect([await metadata(1), await metadata(3)]).to.deep.equal([{ n: 1, seen: true }, { n: 3 }]);
    const byFilter = answered(await patchMany({ metadata_filter: { n: { gte: 2 } }, merge: { n: null, m: 0 } }));
    expect(byFilter).to.deep.equal({ updated: 2, log_index: 8 });
    expect([await metadata(2), await metadata(3)]).to.deep.equal([{ seen: true, m: 0 }, { m: 0 }]);
    expect(answered(await patchMany({ metadata_filter: {}, merge: { all: 1 } })).updated).to.equal(3);
    expect(await matching({ all: 1 })).to.equal(3);
    expect(answered(await patchMany({ metadata_filter: { n: 99 }, merge: { x: 1 } }))).to.deep.equal({ updated: 0 });
    expect(answered(await patchMany({ ids: [99], merge: { x: 1 } }))).to.deep.equal({ updated: 0, missing: [99] });
    const named = { collection: 'c', external_ids: ['a/1'], batch: [[2]] };
    answered(await rw.post('/v1/vectors/batch-upsert', named));
    const byName = answered(await patchMany({ external_ids: ['a/1', 'b'], merge: { x: { y: 1 } } }));
    expect(byName)
      .to.include({ updated: 1 })
      .and.deep.include({ missing: ['b'] });
    expect(await metadata(5)).to.deep.equal({ x: { y: 1 } });
  });

  it('a refused patch changes no record', async () => {
    const large = 'x'.repeat(40_000);
    await insert({ a: 1 }, { large }, null);
    const opaque = answered(await rw.post('/v1/records', { collection: 'c', values: [1], metadata: [1, 2, 3] })).id;
    const { id: encrypted } = answered(await rw.post('/v1/records/encrypted', { collection: 'c', payload: 'AAAA' }));
    const before = await sequence();
    const invalid = 'validation_error';
    expect(refused(await patch(2, { more: large }), 400, invalid)).to.match(
      /^record 2: metadata takes \d+ bytes; at most 65536/,
    );
    expect(refused(await patchMany({ ids: [1, 2], merge: { more: large } }), 400, invalid)).to.match(/^record 2: /);
    expect(refused(await patch(opaque, { a: 1 }), 400, invalid)).to.match(/is not a JSON object: replace all of it$/);
    refused(await patchMany({ ids: [1, opaque], merge: { a: 2 } }), 400, invalid);
    expect(refused(await patch(encrypted, { a: 1 }), 400, invalid)).to.match(/is encrypted, and has no metadata$/);
    refused(await patchMany({ ids: [1, encrypted], merge: { a: 2 } }), 400, invalid);
    refused(await patch(99, { a: 1 }), 404, 'record_not_found');
    for (const body of [[], 'a', 7, null]) refused(await patch(1, body), 400, invalid);
    refused(await patch(1, { a: 'x'.repeat(70_000) }), 400, invalid);
    for (const json of [
      '{"a":1e400}',
      '{"a":1,"a":2}',
      '{"n":9007199254740993}',
      `${'{"a":'.repeat(65)}1${'}'.repeat(65)}`,
    ]) {
      refused(await rw.raw('PATCH', '/v1/records/1/metadata?collection=c', json, PATCH), 400, invalid);
      refused(
        await rw.raw('POST', '/v1/records/metadata', `{"collection":"c","ids":[1],"merge":${json}}`, AS_WRITTEN),
        400,
        invalid,
      );
    }
    for (const body of [
      { merge: {} },
      { ids: [1] },
      { ids: [1], merge: [] },
      { ids: [], merge: {} },
      { ids: [1], merge: null },
    ])
      refused(await patchMany(body), 400, invalid);
    expect(refused(await patchMany({ ids: [1], metadata_filter: {}, merge: {} }), 400, invalid)).to.match(
      /exactly one of/,
    );
    refused(await patchMany({ ids: [1], merge: {}, merges: {} }), 400, invalid);
    expect(await sequence()).to.equal(before);
    expect(await metadata(1)).to.deep.equal({ a: 1 });
  });

  it('a patch whose results do not fit one commit is 413, and changes nothing', async () => {
    const wide = { text: 'x'.repeat(60_000) };
    for (let n = 0; n < 3; n++) await insert(...Array.from({ length: 100 }, () => wide));
    const before = await sequence();
    const error = refused(await patchMany({ metadata_filter: {}, merge: { seen: true } }), 413, 'payload_too_large');
    expect(error).to.match(/^the changed metadata take more than the \d+ bytes of one commit/);
    expect(await sequence()).to.equal(before);
    const ids = Array.from({ length: 200 }, (_, i) => i + 1);
    expect(answered(await patchMany({ ids, merge: { text: null } })).updated).to.equal(200);
    expect(answered(await patchMany({ metadata_filter: {}, merge: { seen: true } })).updated).to.equal(300);
  });
});
