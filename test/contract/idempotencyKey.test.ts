// Covers: coordinator/handlers/idempotencyKey.ts
/** The header `Idempotency-Key`: a repeated request is done once, or refused where that is impossible. */
import { expect } from 'chai';
import { hash } from '../../shared/hashing/hash.js';
import { atLength } from '../support/atLength.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Client, Project } from '../support/launch/service.js';

const KEY = 'AB'.repeat(16);
const id32 = (n: number): string => n.toString(16).padStart(32, '0');

/** Documented derivation: the first 16 bytes of H(0x20 ‖ key ‖ u64 i). */
function derived(key: string, i: number): string {
  const index = Buffer.alloc(8);
  index.writeBigUInt64LE(BigInt(i));
  const message = Buffer.concat([Buffer.from([0x20]), Buffer.from(key, 'hex'), index]);
  return Buffer.from(hash(message)).subarray(0, 16).toString('hex');
}

inBothModes('Idempotency-Key', (service, { restartable }) => {
  let project: Project;
  let rw: Client;
  beforeEach(async () => {
    project = await service.newProject();
    rw = project.rw;
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
  });
  const count = async (): Promise<number> => (await rw.get('/v1/namespaces')).body.collections[0].record_count;
  const rows = Array.from({ length: 5 }, (_, i) => [i, i]);
  const batch = (body: object, key = KEY) =>
    rw.post('/v1/vectors/batch-insert', { collection: 'c', batch: rows, ...body }, { 'idempotency-key': key });
  const insert = (body: object, headers = {}) =>
    rw.post('/v1/records', { collection: 'c', values: [1, 2], ...body }, headers);

  it('makes a batch repeatable as a whole', async () => {
    const ids = [1, 2, 3, 4, 5];
    for (const key of [KEY, KEY.toLowerCase(), KEY]) expect((await batch({}, key)).body).to.deep.equal({ ids });
    expect(await count()).to.equal(5);
    expect((await batch({}, id32(1))).body.ids, 'another key').to.deep.equal([6, 7, 8, 9, 10]);
    expect((await batch({ batch: [...rows, [9, 9]] })).body.ids, 'a longer one').to.deep.equal([...ids, 11]);
  });

  it('gives item i of a batch its documented id', async () => {
    await batch({});
    for (const [i] of rows.entries())
      expect((await insert({ request_id: derived(KEY, i) })).body).to.include({ id: i + 1, deduplicated: true });
    expect((await insert({ request_id: KEY })).body.deduplicated, 'the key itself').to.equal(false);
  });

  it("keeps the items' own request ids in a batch", async () => {
    const request_ids = [id32(1), null, id32(3), null, null];
    const first = await batch({ request_ids });
    expect(first.body.ids).to.deep.equal([1, 2, 3, 4, 5]);
    expect((await batch({ request_ids })).body).to.deep.equal(first.body);
    for (const [i, id] of request_ids.entries())
      expect((await insert({ request_id: id ?? derived(KEY, i) })).body).to.include({ id: i + 1, deduplicated: true });
    expect((await batch({})).body.ids, 'ids of the items with their own request ids').to.deep.equal([6, 2, 7, 4, 5]);
  });

  it('is refused by a batch and an insert unless it is 32 hex digits', async () => {
    for (const key of ['', 'x', 'ab', `${KEY}00`, 'g'.repeat(32)]) {
      const answers = [
        await batch({}, key),
        await batch({ batch: [] }, key),
        await insert({}, { 'idempotency-key': key }),
        await insert({ request_id: id32(1) }, { 'idempotency-key': key }),
      ];
      for (const { status, body } of answers) {
        expect([status, body.code]).to.deep.equal([400, 'validation_error']);
        expect(body.error).to.include('Idempotency-Key');
      }
    }
    expect(await count()).to.equal(0);
  });

  it('must equal the request_id in the body of an insert', async () => {
    const headers = { 'idempotency-key': KEY };
    const { status, body } = await insert({ request_id: id32(1) }, headers);
    expect([status, body.code]).to.deep.equal([400, 'validation_error']);
    expect(body.error).to.include('$.request_id');
    expect(await count()).to.equal(0);
    for (const request_id of [KEY, KEY.toLowerCase(), [...Buffer.from(KEY, 'hex')], null])
      expect((await insert({ request_id }, headers)).body.id).to.equal(1);
    expect(await count()).to.equal(1);
  });

  describe('with a deletion', () => {
    const filter = { metadata_filter: { is: 'old' } };
    const remove = (body: object, headers = {}) => rw.post('/v1/records/delete', { collection: 'c', ...body }, headers);
    const old = { metadata: [{ is: 'old' }, { is: 'old' }] };
    beforeEach(async () => {
      expect(
        (
          await batch({
            batch: [
              [1, 1],
              [2, 2],
            ],
            ...old,
          })
        ).body.ids,
      ).to.deep.equal([1, 2]); // prettier-ignore
    });

    it('makes it repeatable: it deletes nothing added since, and answers like the first time', async () => {
      const headers = { 'idempotency-key': id32(5) };
      expect((await remove(filter, headers)).body).to.deep.equal({ deleted: 2, log_index: 4 });
      await batch(
        {
          batch: [
            [3, 3],
            [4, 4],
          ],
          ...old,
        },
        id32(1),
      ); // prettier-ignore
      const repeat = { deleted: 2, log_index: 4, deduplicated: true };
      expect((await remove(filter, headers)).body).to.deep.equal(repeat);
      expect((await remove({ ids: [3] }, headers)).body, 'with any other content').to.deep.equal(repeat);
      for (const request_id of [id32(5), [...Buffer.from(id32(5), 'hex')]])
        expect((await remove({ ...filter, request_id })).body, 'in the body').to.deep.equal(repeat);
      expect(await count()).to.equal(2);
      const { body } = await rw.get('/v1/timeline?collection=c&after=4&limit=1');
      expect(body.events[0])
        .to.include({ log_index: 5, event_type: 'delete_many' })
        .and.to.not.have.property('record_id');
      expect((await remove(filter, { 'idempotency-key': id32(6) })).body).to.deep.equal({ deleted: 2, log_index: 9 });
    });

    it('is not remembered if nothing was deleted', async () => {
      const headers = { 'idempotency-key': id32(5) };
      expect((await remove({ ids: [9] }, headers)).body).to.deep.equal({ deleted: 0, missing: [9] });
      expect((await remove({ ids: [9, 1] }, headers)).body).to.deep.equal({ deleted: 1, log_index: 3, missing: [9] });
    });

    it("must be 32 hex digits, equal the body's request_id, and belong to no insert", async () => {
      await insert({ request_id: id32(7) });
      const refused: [object, object, string][] = [
        [{}, { 'idempotency-key': 'x' }, 'Idempotency-Key'],
        [{ request_id: id32(1) }, { 'idempotency-key': KEY }, '$.request_id'],
        [{ request_id: 'x' }, {}, '$.request_id'],
        [{ request_id: id32(7) }, {}, 'the request id belongs to the write of record 3'],
      ];
      for (const [body, headers, why] of refused) {
        const answer = await remove({ ...filter, ...body }, headers);
        expect([answer.status, answer.body.code], why).to.deep.equal([400, 'validation_error']);
        expect(answer.body.error).to.include(why);
      }
      expect(await count()).to.equal(3);
    });
  });

  it(atLength('makes a deletion repeatable even after a kill of all processes'), async () => {
    const own = await restartable();
    const client = (await own.newProject()).rw;
    await client.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    const add = () =>
      client.post('/v1/vectors/batch-insert', { collection: 'c', batch: [[1]], metadata: [{ is: 'old' }] });
    const remove = () =>
      client.post(
        '/v1/records/delete',
        { collection: 'c', metadata_filter: { is: 'old' } },
        { 'idempotency-key': KEY },
      );
    await add();
    expect((await remove()).body).to.deep.equal({ deleted: 1, log_index: 2 });
    await add();
    for (const name of own.processNames) await own.kill(name);
    await Promise.all(own.processNames.map((name) => own.run(name)));
    await own.until(async () => (await client.get('/v1/records/count?collection=c')).status === 200);
    expect((await remove()).body).to.deep.equal({ deleted: 1, log_index: 2, deduplicated: true });
    expect((await client.get('/v1/records/count?collection=c')).body).to.deep.equal({ count: 1 });
  });

  it('is refused where a repeated request would be carried out twice', async () => {
    const { node_id: from } = (await rw.post('/v1/graph/node', { collection: 'c', kind: 1 })).body;
    const keys = async (): Promise<number> => (await project.admin.get('/v1/keys')).body.keys.length;
    // The harness created them; the service lists them once it has received them.
    await service.until(async () => (await keys()) === 4);
    const before = await keys();
    const headers = { 'idempotency-key': KEY };
    for (const answer of [
      await rw.post('/v1/graph/node', { collection: 'c', kind: 1 }, headers),
      await rw.post('/v1/graph/edge', { collection: 'c', from, to: from, kind: 0 }, headers),
      await project.admin.post('/v1/keys', { scope: 'read_only' }, headers),
    ]) {
      expect([answer.status, answer.body.code]).to.deep.equal([400, 'validation_error']);
      expect(answer.body.error).to.include('Idempotency-Key');
    }
    expect((await rw.get('/v1/graph/nodes?collection=c')).body.count).to.equal(1);
    expect((await rw.get(`/v1/graph/edges/${from}?collection=c`)).body.edges).to.deep.equal([]);
    expect(await keys()).to.equal(before);
  });
});
