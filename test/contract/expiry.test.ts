/** Records that expire, over HTTP. */
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { SYSTEM_KEY_ID } from '../../shared/model/actor.js';
import { claimedRecord } from '../../verifier/index.js';
import { readProof, verifyReceipt } from '../../verifier/receipt.js';
import { rebuiltEvent } from '../../verifier/receiptEvent.js';
import { answered, refused } from '../support/launch/answers.js';
import { beforeExpiry, reached } from '../support/launch/beforeExpiry.js';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';

/** Also requested through the package. */
const ROUTES = ['POST /v1/records', 'POST /v1/vectors/batch-insert', 'POST /v1/vectors/batch-upsert'] as const;

const nowSecs = (): number => Math.floor(systemClock.nowMs() / 1000);

inBothModesAndThroughClient('expiry', ROUTES, (service) => {
  let rw: Client;
  const begin = async (): Promise<void> => {
    ({ rw } = await service.newProject());
    answered(await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' }));
  };
  beforeEach(begin);

  /** Makes records that expire in the second given to `prepare`, and resolves in that second. */
  async function expired<T extends object>(
    prepare: (expires_at: number) => Promise<T>,
  ): Promise<T & { readonly expires_at: number }> {
    const prepared = await beforeExpiry(prepare, begin);
    await reached(prepared.expires_at);
    return prepared;
  }
  const post = (path: string, body: object): Promise<Answer> => rw.post(path, { collection: 'c', ...body });
  const get = async (path: string): Promise<Answer['body']> => answered(await rw.get(path));
  const insert = async (fields: object): Promise<Answer['body']> => answered(await post('/v1/records', fields));
  const upsert = async (batch: number[][], external_ids: string[], fields: object = {}): Promise<Answer['body']> =>
    answered(await post('/v1/vectors/batch-upsert', { batch, external_ids, ...fields }));
  const ids = (body: Answer['body']): number[] =>
    (body.results ?? body.records).map(({ id }: { readonly id: number }) => id);

  /** Every answer about the present, as far as it depends on the records. */
  const present = async (): Promise<unknown> => {
    const answers = await Promise.all([
      post('/v1/search', { query: [0], k: 9, rerank: false }),
      post('/v1/search', { query: [0], k: 9, rerank: false, metadata_filter: { n: { gte: 0 } } }),
      post('/v1/search', { query: [0], k: 9, query_text: 'word' }),
      post('/v1/search', { query: [0], k: 9, rerank: false, group_by: 'n' }),
      post('/v1/search', { query: [0], k: 9, rerank: false, consistency: 'eventual' }),
      post('/v1/search/batch', { searches: [{ query: [0], k: 9, rerank: false }] }),
      post('/v1/search/text', { query_text: 'word', k: 9 }),
      rw.post('/v1/search/multi', { query: [0], k: 9, collections: ['c'] }),
      rw.get('/v1/records?collection=c'),
      rw.get('/v1/records?collection=c&order_by=n'),
      rw.get('/v1/records/count?collection=c'),
      rw.get('/v1/facets?collection=c&key=n'),
      rw.get('/v1/graph/nodes?collection=c'),
      rw.get('/v1/namespaces'),
      post('/v1/records/get', { ids: [1, 2, 3] }),
      rw.get('/v1/records/1?collection=c'),
      rw.get('/v1/records/3?collection=c'),
    ]);
    const [vector, filtered, reranked, grouped, , batch, text, multi, list, ordered, count, facets, nodes] = answers;
    const [all, named, one, three] = answers.slice(13);
    return {
      found: [vector, filtered, reranked, text, multi, list, ordered, named].map((answer) => ids(answered(answer!))),
      batch: answered(batch!).results?.map(ids) ?? answered(batch!).answers.map(ids),
      grouped: ids(answered(grouped!)),
      count: answered(count!).count,
      facets: answered(facets!).records,
      nodes: answered(nodes!).nodes.length,
      listed: answered(all!).collections[0].record_count,
      statuses: [one!.status, three!.status],
    };
  };

  it('an expired record is in no answer about the present, and the past still has it', async () => {
    const all = [1, 2, 3];
    const { found, id, expires_at } = await expired(async (expires_at) => {
      const content = { text: 'a word', expires_at };
      const { id, receipt } = await insert({ values: [1], metadata: { n: 1 }, ...content });
      await insert({ values: [2], metadata: { n: 2 }, text: 'another word' });
      const batch = { batch: [[3]], metadata: [{ n: 3 }], texts: ['word'], expires_at: [expires_at] };
      answered(await post('/v1/vectors/batch-insert', batch));
      answered(await post('/v1/graph/node', { kind: 0, record_id: 1 }));
      expect((await get('/v1/records/1?collection=c')).expires_at).to.equal(expires_at);
      const listed = (await get('/v1/records?collection=c')).records;
      expect(listed.map((record: Answer['body']) => record.expires_at)).to.deep.equal([
        expires_at,
        undefined,
        expires_at,
      ]);
      const record = { values: [1], metadata: { n: 1 }, ...content };
      const proof = readProof(receipt.proof);
      expect(rebuiltEvent(proof, claimedRecord(record, proof))).to.equal('insert');
      expect(verifyReceipt(receipt, claimedRecord(record, proof).values)).to.deep.equal([]);
      const { found } = (await present()) as { found: number[][] };
      expect(found.map((one) => [...one].sort())).to.deep.equal(found.map(() => all));
      return { found, id };
    });
    expect(await present()).to.deep.equal({
      found: found.map(() => [2]),
      ...{ batch: [[2]], grouped: [2], count: 1, facets: 1, nodes: 0, listed: 1, statuses: [404, 404] },
    });
    const at = (ms: number): string => new Date(1000 * expires_at + ms).toISOString();
    for (const [ms, wanted] of [
      [-1, all],
      [0, [2]],
    ] as const)
      expect(
        ids(answered(await post('/v1/search', { query: [0], k: 9, rerank: false, as_of: at(ms) }))),
      ).to.have.members(wanted);
    const { events } = await get(`/v1/timeline?collection=c&limit=100`);
    const removals = events.filter(({ event_type }: Answer['body']) => event_type === 'delete');
    expect(removals.map(({ timestamp_unix, actor }: Answer['body']) => [timestamp_unix, actor.key_id])).to.deep.equal(
      [1, 3].map(() => [expires_at, SYSTEM_KEY_ID]),
    );
    expect(id).to.equal(1);
  });

  it('replaced content has its own expiry, and the external id of an expired record is free', async () => {
    const { expires_at } = await expired(async (soon) => {
      await upsert([[1], [2], [3]], ['a', 'b', 'c'], { expires_at: [soon, soon, null] });
      // Record 1 does not expire any more, record 2 later, record 3 now too.
      await upsert([[1], [2], [3]], ['a', 'b', 'c'], { expires_at: [null, soon + 100, soon] });
      return {};
    });
    expect(await upsert([[4]], ['c'])).to.deep.equal({ ids: [4], created: 1, replaced: 0 });
    const { records } = await get('/v1/records?collection=c');
    expect(records.map((record: Answer['body']) => [record.id, record.expires_at ?? null])).to.deep.equal([
      [1, null],
      [2, expires_at + 100],
      [4, null],
    ]);
  });

  it('other changes keep the expiry; a deleted record does not come back with it', async () => {
    await expired(async (expires_at) => {
      for (const values of [[1], [2], [3], [4]]) await insert({ values, expires_at });
      answered(await rw.patch('/v1/records/1/metadata?collection=c', { changed: true }));
      answered(await post('/v1/soft-delete', { id: 2 }));
      answered(await post('/v1/delete', { id: 3 }));
      return {};
    });
    refused(await rw.patch('/v1/records/1/metadata?collection=c', { changed: 2 }), 404, 'record_not_found');
    refused(await post('/v1/delete', { id: 2 }), 404, 'record_not_found');
    refused(await post('/v1/soft-delete', { id: 4 }), 404, 'record_not_found');
    expect((await get('/v1/records/count?collection=c')).count).to.equal(0);
  });

  it('a repeated insert gets its first answer after the expiry', async () => {
    const request_id = 'e'.repeat(32);
    const { first, expires_at } = await expired(async (expires_at) => ({
      first: await insert({ values: [1], expires_at, request_id }),
    }));
    expect(await insert({ values: [1], expires_at, request_id })).to.deep.equal({ ...first, deduplicated: true });
    expect((await get('/v1/records/count?collection=c')).count).to.equal(0);
  });

  it('an expiry that has passed, or is not a second, is refused and changes nothing', async () => {
    const past = nowSecs() - 1;
    const message = refused(await post('/v1/records', { values: [1], expires_at: past }), 400, 'validation_error');
    expect(message).to.match(/^expires_at is \d+, and it is \d+ already; give a later second$/);
    const batch = { batch: [[1], [2]], expires_at: [null, past] };
    expect(refused(await post('/v1/vectors/batch-insert', batch), 400, 'validation_error')).to.match(
      /^item 1 of the batch: expires_at is/,
    );
    const expected = 'expected whole unix seconds, not milliseconds, from 1 to 253402300799';
    for (const late of [1000 * (nowSecs() + 60), 32_503_680_000_000, 253_402_300_800, 1.5]) {
      const one = await post('/v1/records', { values: [1], expires_at: late });
      expect(refused(one, 400, 'validation_error'))
        .to.include(`$.expires_at: ${expected}`)
        .and.include(`got ${late}`);
      const many = await post('/v1/vectors/batch-insert', { batch: [[1], [2]], expires_at: [null, late] });
      expect(refused(many, 400, 'validation_error')).to.include(`$.expires_at[1]: ${expected}`);
    }
    const encrypted = { payload: 'AAAA', expires_at: past };
    refused(await post('/v1/records/encrypted', encrypted), 400, 'validation_error');
    for (const wrong of [0, -5, 1.5, '2030-01-01T00:00:00Z', systemClock.nowMs() * 1e6])
      refused(await post('/v1/records', { values: [1], expires_at: wrong }), 400, 'validation_error');
    for (const wrong of [past + 100, [past + 100], [past + 100, '1']])
      refused(await post('/v1/vectors/batch-insert', { ...batch, expires_at: wrong }), 400, 'validation_error');
    expect((await get('/v1/proof/state?collection=c')).sequence).to.equal(0);
  });

  it('an encrypted record expires too', async () => {
    const { id } = await expired(async (expires_at) => {
      const { id } = answered(await post('/v1/records/encrypted', { payload: 'AAAA', expires_at }));
      expect((await get(`/v1/records/encrypted/${id}?collection=c`)).payload).to.equal('AAAA');
      return { id };
    });
    refused(await rw.get(`/v1/records/encrypted/${id}?collection=c`), 404, 'record_not_found');
  });
});
