// Covers: shard/state/externalIds.ts
/** Upserts under external ids, and deletions of many records, over HTTP. */
import { expect } from 'chai';
import { verifyReceipt } from '../../verifier/receipt.js';
import { answered } from '../support/launch/answers.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes, inBothModesAndThroughClient } from '../support/launch/modes.js';

/** Also requested through the package. */
const ROUTES = ['POST /v1/vectors/batch-upsert', 'POST /v1/records/get'] as const;

const KEY = '3'.repeat(32);

inBothModesAndThroughClient('external ids', ROUTES, (service) => {
  let rw: Client;
  beforeEach(async () => {
    ({ rw } = await service.newProject());
    answered(await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' }));
  });
  const post = (path: string, body: object, headers = {}): Promise<Answer> =>
    rw.post(path, { collection: 'c', ...body }, headers);
  const upsert = (external_ids: string[], batch: number[][], fields = {}, headers = {}): Promise<Answer> =>
    post('/v1/vectors/batch-upsert', { batch, external_ids, ...fields }, headers);
  const get = async (external_ids: string[]): Promise<Answer['body']> =>
    answered(await post('/v1/records/get', { external_ids, with: ['vector', 'text'] }));
  const count = async (): Promise<number> => answered(await rw.get('/v1/records/count?collection=c')).count;
  const found = async (options = {}): Promise<(string | number)[][]> =>
    answered(await post('/v1/search', { query: [0, 0], k: 100, ...options })).results.map(
      ({ id, external_id, score }: { id: number; external_id?: string; score: number }) => [
        id,
        external_id ?? '',
        score,
      ],
    );

  it('insert new records and replace existing ones, which keep their ids', async () => {
    const fields = { metadata: [{ n: 1 }, null], texts: ['one', null], tags: [7, null] };
    expect(
      answered(
        await upsert(
          ['a', 'b'],
          [
            [1, 0],
            [2, 0],
          ],
          fields,
        ),
      ),
    ).to.deep.equal({ ids: [1, 2], created: 2, replaced: 0 }); // prettier-ignore
    const { records, missing } = await get(['b', 'none', 'a']);
    expect(missing).to.deep.equal(['none']);
    expect(records).to.deep.equal([
      { id: 2, tag: 0, external_id: 'b', metadata: null, text: null, vector: [2, 0] },
      { id: 1, tag: 7, external_id: 'a', metadata: { n: 1 }, text: 'one', vector: [1, 0] },
    ]);
    const again = await upsert(
      ['c', 'a'],
      [
        [3, 0],
        [0.5, 0],
      ],
      { metadata: [null, { n: 2 }] },
    ); // prettier-ignore
    expect(answered(again)).to.deep.equal({ ids: [3, 1], created: 1, replaced: 1 });
    expect((await get(['a'])).records).to.deep.equal([
      { id: 1, tag: 0, external_id: 'a', metadata: { n: 2 }, text: null, vector: [0.5, 0] },
    ]);
    expect(await count()).to.equal(3);
    expect(await found()).to.deep.equal([
      [1, 'a', 0.25],
      [2, 'b', 4],
      [3, 'c', 9],
    ]);
    expect(await found({ metadata_filter: { n: 1 } }), 'the old metadata').to.deep.equal([]);
    expect(await found({ metadata_filter: { n: 2 } })).to.deep.equal([[1, 'a', 0.25]]);
    expect(answered(await rw.get('/v1/records/1?collection=c'))).to.include({ id: 1, external_id: 'a' });
    expect(answered(await rw.get('/v1/records?collection=c')).records[1]).to.include({ id: 2, external_id: 'b' });
  });

  it('appear in every answer about a record that has one, and in no other', async () => {
    answered(await post('/v1/records', { values: [9, 9] }));
    expect(answered(await rw.get('/v1/records/1?collection=c'))).to.not.have.property('external_id');
    answered(await upsert(['ü/2'], [[1, 1]], { metadata: [{ g: 1 }] }));
    const hits = async (options: object): Promise<object[]> =>
      answered(await post('/v1/search', { query: [1, 1], k: 2, ...options })).results;
    expect(await hits({})).to.deep.equal([
      { id: 2, score: 0, external_id: 'ü/2' },
      { id: 1, score: 128 },
    ]);
    expect((await hits({ group_by: 'g' }))[0]).to.include({ external_id: 'ü/2', group: 1 });
    expect((await hits({ with: ['metadata'] }))[0]).to.deep.include({ external_id: 'ü/2', metadata: { g: 1 } });
    expect((await hits({ as_of_log_index: 2 }))[0]).to.include({ external_id: 'ü/2' });
    const batch = answered(await post('/v1/search/batch', { searches: [{ query: [1, 1], k: 1 }] }));
    expect(batch.answers[0].results).to.deep.equal([{ id: 2, score: 0, external_id: 'ü/2' }]);
    const multi = { query: [1, 1], k: 1, collections: ['c'] };
    expect(answered(await rw.post('/v1/search/multi', multi)).results[0]).to.include({ external_id: 'ü/2' });
  });

  it('belong to one live record; a deletion frees them for the next', async () => {
    answered(
      await upsert(
        ['a', 'b'],
        [
          [1, 0],
          [2, 0],
        ],
      ),
    ); // prettier-ignore
    answered(await post('/v1/soft-delete', { id: 1 }));
    answered(await post('/v1/delete', { id: 2 }));
    expect((await get(['a', 'b'])).missing).to.deep.equal(['a', 'b']);
    expect(
      answered(
        await upsert(
          ['a', 'b'],
          [
            [3, 0],
            [4, 0],
          ],
        ),
      ),
    ).to.include({ created: 2, replaced: 0 }); // prettier-ignore
    expect(await found()).to.deep.equal([
      [3, 'a', 9],
      [4, 'b', 16],
    ]);
  });

  it('keep graph nodes linked, and give each replacement its own receipt', async () => {
    answered(await upsert(['a'], [[1, 0]]));
    const { node_id } = answered(await post('/v1/graph/node', { kind: 1, record_id: 1 }));
    answered(await upsert(['a'], [[2, 0]]));
    expect(answered(await rw.get(`/v1/graph/node/${node_id}?collection=c`)).record_id).to.equal(1);
    const receipt = answered(await rw.get('/v1/proof/receipt?collection=c&sequence=3'));
    expect(receipt).to.include({ record_id: 1, sequence: 3 });
    expect(verifyReceipt(receipt)).to.deep.equal([]);
    const { events } = answered(await rw.get('/v1/timeline?collection=c'));
    expect(events.map(({ event_type }: { event_type: string }) => event_type)).to.deep.equal([
      'insert',
      'add_node',
      'replace',
    ]);
  });

  it('in a batch under a key are written once, and a repeat answers the same', async () => {
    const send = (): Promise<Answer> =>
      upsert(
        ['a', 'b'],
        [
          [1, 0],
          [2, 0],
        ],
        {},
        { 'idempotency-key': KEY },
      ); // prettier-ignore
    answered(await upsert(['a'], [[5, 0]]));
    const first = answered(await send());
    expect(first).to.deep.equal({ ids: [1, 2], created: 1, replaced: 1 });
    answered(await upsert(['a'], [[7, 0]]));
    expect(answered(await send())).to.deep.equal(first);
    expect((await get(['a'])).records[0].vector, 'the later one stays').to.deep.equal([7, 0]);
  });

  it('upserted by many clients at once make one record', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => upsert(['same'], [[n, 0]])));
    const bodies = answers.map(answered);
    expect(new Set(bodies.flatMap(({ ids }) => ids)).size).to.equal(1);
    expect(bodies.filter(({ created }) => created === 1)).to.have.length(1);
    expect(await count()).to.equal(1);
    expect(await found()).to.have.length(1);
  });

  it('are refused if invalid, too long, repeated in a batch, or miscounted, without any write', async () => {
    for (const [external_ids, path] of [
      [['a', ''], '$.external_ids[1]'],
      [['a', 'x'.repeat(257)], '$.external_ids[1]'],
      [['a', 'ü'.repeat(129)], '$.external_ids[1]'],
      [['a', 'a'], '$.external_ids[1]'],
      [['a\ud83d', 'a\ud83e'], '$.external_ids[0]'],
      [['a'], '$.external_ids'],
      [['a', null], '$.external_ids[1]'],
      [undefined, '$.external_ids'],
    ] as const) {
      const { status, body } = await upsert(external_ids as unknown as string[], [
        [1, 0],
        [2, 0],
      ]); // prettier-ignore
      expect([status, body.code], JSON.stringify(external_ids)).to.deep.equal([400, 'validation_error']);
      expect(body.error).to.include(path);
    }
    for (const tags of [[1], [-1, 0], ['a', 0]])
      expect(
        (
          await upsert(
            ['a', 'b'],
            [
              [1, 0],
              [2, 0],
            ],
            { tags },
          )
        ).status,
        JSON.stringify(tags),
      ).to.equal(400); // prettier-ignore
    const twice = await upsert(['a', 'b'], Array(2).fill([1, 0]), { request_ids: [KEY, KEY] });
    expect([twice.status, twice.body.error]).to.deep.equal([400, '$.request_ids[1] is the same as $.request_ids[0]']);
    expect(await count()).to.equal(0);
    expect(answered(await upsert(['ü'.repeat(128)], [[1, 0]])).created).to.equal(1);
  });
});

inBothModes('deletions of many', (service) => {
  let rw: Client;
  beforeEach(async () => {
    ({ rw } = await service.newProject());
    answered(await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' }));
    const external_ids = Array.from({ length: 10 }, (_, i) => `doc ${i}`);
    const body = { collection: 'c', batch: external_ids.map((_, i) => [i]), external_ids };
    answered(
      await rw.post('/v1/vectors/batch-upsert', { ...body, metadata: external_ids.map((_, i) => ({ odd: i % 2 })) }),
    );
  });
  const remove = (body: object): Promise<Answer> => rw.post('/v1/records/delete', { collection: 'c', ...body });
  const left = async (): Promise<number[]> =>
    answered(await rw.get('/v1/records?collection=c')).records.map(({ id }: { id: number }) => id);

  it('are one commit with a receipt each if selected by ids, and name missing ids', async () => {
    const { body: before } = await rw.get('/v1/export?collection=c');
    expect(answered(await remove({ ids: [3, 99, 1, 3, 5] }))).to.deep.equal({
      deleted: 3,
      log_index: 13,
      missing: [99],
    });
    expect(await left()).to.deep.equal([2, 4, 6, 7, 8, 9, 10]);
    const { body: after } = await rw.get('/v1/export?collection=c');
    expect(after.sequence - before.sequence).to.equal(3);
    for (const sequence of [11, 12, 13]) {
      const receipt = answered(await rw.get(`/v1/proof/receipt?collection=c&sequence=${sequence}`));
      expect(verifyReceipt(receipt, 'deleted')).to.deep.equal([]);
    }
    expect(answered(await remove({ ids: [3] }))).to.deep.equal({ deleted: 0, missing: [3] });
  });

  it('delete the records with the given external ids', async () => {
    const answer = answered(await remove({ external_ids: ['doc 0', 'doc 9', 'doc 10'] }));
    expect(answer).to.deep.equal({ deleted: 2, log_index: 12, missing: ['doc 10'] });
    expect(await left()).to.deep.equal([2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('delete the records that a filter matches', async () => {
    expect(answered(await remove({ metadata_filter: { odd: 1 } }))).to.deep.equal({ deleted: 5, log_index: 15 });
    expect(await left()).to.deep.equal([1, 3, 5, 7, 9]);
    expect(answered(await remove({ metadata_filter: { odd: 1 } }))).to.deep.equal({ deleted: 0 });
  });

  it('include encrypted and hidden records, and graph nodes', async () => {
    const { id } = answered(await rw.post('/v1/records/encrypted', { collection: 'c', payload: 'AAAA' }));
    answered(await rw.post('/v1/soft-delete', { collection: 'c', id: 1 }));
    const { node_id } = answered(await rw.post('/v1/graph/node', { collection: 'c', kind: 1, record_id: 2 }));
    expect(answered(await remove({ ids: [id, 1, 2] }))).to.include({ deleted: 3 });
    expect((await rw.get(`/v1/graph/node/${node_id}?collection=c`)).status).to.equal(404);
    expect((await rw.get(`/v1/records/encrypted/${id}?collection=c`)).status).to.equal(404);
  });

  it('are refused without a selection or with several, without any deletion', async () => {
    for (const body of [
      {},
      { ids: [1], metadata_filter: { odd: 1 } },
      { ids: [1], external_ids: ['doc 1'] },
      { ids: [] },
      { external_ids: [] },
      { metadata_filter: {} },
      { metadata_filter: { $or: [{ odd: 1 }, {}] } },
      { metadata_filter: { $and: [{}, { $or: [{}] }] } },
      { metadata_filter: { odd: { gtt: 1 } } },
      { ids: ['1'] },
      { ids: Array.from({ length: 16_385 }, (_, i) => i) },
    ]) {
      const answer = await remove(body);
      expect([answer.status, answer.body.code], JSON.stringify(body).slice(0, 80)).to.deep.equal([
        400,
        'validation_error',
      ]);
    }
    expect((await remove({ collection: 'other', ids: [1] })).status).to.equal(404);
    expect(await left()).to.have.length(10);
  });
});
