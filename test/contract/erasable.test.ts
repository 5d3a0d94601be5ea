/** Records under keys: searched like any other, and gone from the present and the past once their key is shredded. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Receipt } from '../../client/contract/records.js';
import { ProofError, verifyReceipt as verify } from '../../client/index.js';
import { fromWire } from '../../client/spelling.js';
import { systemClock } from '../../shared/clock.js';
import { readProof, verifyReceipt } from '../../verifier/receipt.js';
import { claimedRecord } from '../../verifier/recordJson.js';
import { atLength } from '../support/atLength.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Client } from '../support/launch/service.js';
import { begin, exported, imported, send } from '../support/rigs/backups.js';

const KEY = 'a'.repeat(32);
const OTHER = 'b'.repeat(32);
const HEX32 = /^[0-9a-f]{32}$/;

inBothModes('records under keys', (service) => {
  const project = async (): Promise<Client> => (await service.newProject()).rw;

  async function collection(rw: Client, more: object = {}): Promise<void> {
    const made = await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2', ...more });
    expect(made.status, JSON.stringify(made.body)).to.equal(200);
  }
  const insert = (rw: Client, values: number[], more: object = {}) =>
    rw.post('/v1/records', { collection: 'c', values, ...more });
  const search = async (rw: Client, more: object = {}) =>
    (await rw.post('/v1/search', { collection: 'c', query: [0, 0], k: 10, ...more })).body;
  const idsIn = ({ results }: { results: { id: number }[] }): number[] => results.map(({ id }) => id);
  const shred = async (rw: Client, keyId: string): Promise<void> => {
    const shredded = await rw.delete(`/v1/crypto/shred/${keyId}`);
    expect(shredded.status, JSON.stringify(shredded.body)).to.equal(200);
  };

  it('are found by vector, filter and text, and named with their key', async () => {
    const rw = await project();
    await collection(rw);
    const content = { metadata: { city: 'Ulm' }, text: 'a secret word', tag: 7 };
    const { status, body } = await insert(rw, [1, 2], { ...content, key_id: KEY });
    expect([status, body.key_id]).to.deep.equal([200, KEY]);
    await insert(rw, [3, 4]);
    expect(idsIn(await search(rw))).to.deep.equal([1, 2]);
    expect(idsIn(await search(rw, { metadata_filter: { city: 'Ulm' } }))).to.deep.equal([1]);
    const read = (await rw.get('/v1/records/1?collection=c&with=text')).body;
    expect(read).to.deep.equal({ id: 1, vector: [1, 2], ...content, key_id: KEY });
    const stats = (await rw.get('/v1/namespaces/c')).body;
    expect(stats.record_count).to.equal(2);
  });

  it('are listed with their key, and read with the salt of their commitment', async () => {
    const rw = await project();
    await collection(rw);
    const content = { tag: 7, metadata: { city: 'Ulm', n: 1.5 }, text: 'a secret word' };
    const inserted = (await insert(rw, [1, 2], { ...content, key_id: KEY })).body;
    await insert(rw, [3, 4]);
    const listed = (await rw.post('/v1/records/list', { collection: 'c' })).body.records;
    expect(listed.map(({ key_id }: { key_id?: string }) => key_id)).to.deep.equal([KEY, undefined]);
    const got = (await rw.post('/v1/records/get', { collection: 'c', ids: [2, 1] })).body.records;
    expect(got.map(({ key_id }: { key_id?: string }) => key_id)).to.deep.equal([undefined, KEY]);
    const read = async (path: string) => (await rw.get(path)).body;
    expect(await read('/v1/records/2?collection=c&with=salt')).to.not.have.property('salt');
    const record = await read('/v1/records/1?collection=c&with=text,salt');
    const proven = (json: object): string[] => {
      const { values } = claimedRecord(json, readProof(inserted.receipt.proof));
      return verifyReceipt(inserted.receipt, values);
    };
    expect(proven(record)).to.deep.equal([]);
    const other = `${record.salt.slice(0, -1)}${record.salt.endsWith('0') ? '1' : '0'}`;
    for (const wrong of [{ salt: other }, { text: 'other' }, { tag: 8 }, { vector: [1, 3] }, { key_id: OTHER }])
      expect(proven({ ...record, ...wrong })).to.deep.equal(['it is not about this record']);
    expect(() => proven({ ...record, salt: undefined })).to.throw('salt is missing');
    const receipt = fromWire(inserted.receipt) as Receipt;
    const sent = { values: [1, 2], ...content, keyId: KEY, salt: record.salt };
    expect(verify(receipt, { record: sent })).to.include({ kind: 'insert', recordId: 1 });
    expect(() => verify(receipt, { record: { ...sent, salt: undefined } })).to.throw(ProofError, /salt is missing/);
    expect(() => verify(receipt, { record: { ...sent, text: 'other' } })).to.throw(ProofError, /not about this record/);
    await shred(rw, KEY);
    expect((await rw.get('/v1/records/1?collection=c&with=salt')).status).to.equal(410);
    expect(proven(record)).to.deep.equal([]);
  });

  it('get a fresh key for `new`, and in a collection that is erasable', async () => {
    const rw = await project();
    await collection(rw, { erasable: true });
    const first = (await insert(rw, [1, 1])).body;
    const second = (await insert(rw, [1, 1], { key_id: 'new' })).body;
    expect(first.key_id).to.match(HEX32);
    expect(second.key_id).to.match(HEX32).and.not.equal(first.key_id);
    const batch = await rw.post('/v1/vectors/batch-insert', {
      collection: 'c',
      batch: [
        [1, 1],
        [2, 2],
        [3, 3],
      ],
      key_ids: [KEY, null, 'new'],
    });
    expect(batch.body.ids).to.deep.equal([3, 4, 5]);
    expect(batch.body.key_ids[0]).to.equal(KEY);
    expect(new Set(batch.body.key_ids).size).to.equal(3);
    expect((await rw.get('/v1/namespaces/c')).body.erasable).to.equal(true);
    expect((await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' })).status).to.equal(409);
  });

  it('are gone from every answer once the key is shredded', async () => {
    const rw = await project();
    await collection(rw);
    await insert(rw, [1, 2], { metadata: { city: 'Ulm' }, text: 'a secret word', key_id: KEY });
    await insert(rw, [3, 4], { key_id: OTHER });
    await insert(rw, [5, 6]);
    const before = await search(rw, { as_of_log_index: 3 });
    await shred(rw, KEY);
    expect(idsIn(await search(rw))).to.deep.equal([2, 3]);
    const gone = await rw.get('/v1/records/1?collection=c');
    expect([gone.status, gone.body.code]).to.deep.equal([410, 'record_shredded']);
    const past = await search(rw, { as_of_log_index: 3 });
    expect(idsIn(past)).to.deep.equal([2, 3]);
    expect(past.erased).to.equal(1);
    expect(past.as_of_state_hash).to.equal(before.as_of_state_hash);
    expect((await rw.get('/v1/namespaces/c')).body.record_count).to.equal(2);
    const again = await insert(rw, [1, 2], { key_id: KEY });
    expect([again.status, again.body.code]).to.deep.equal([400, 'validation_error']);
    const listed = (await rw.post('/v1/records/list', { collection: 'c' })).body;
    expect(listed.records.map(({ id }: { id: number }) => id)).to.deep.equal([2, 3]);
  });

  it('stay under their key when they are replaced or their metadata change', async () => {
    const rw = await project();
    await collection(rw);
    const upsert = (values: number[], more: object = {}) =>
      rw.post('/v1/vectors/batch-upsert', { collection: 'c', batch: [values], external_ids: ['person'], ...more });
    expect((await upsert([1, 1], { key_ids: [KEY], metadata: [{ a: 1 }] })).body.key_ids).to.deep.equal([KEY]);
    expect((await upsert([2, 2], { metadata: [{ a: 1 }] })).body).to.deep.include({ replaced: 1, key_ids: [KEY] });
    const patched = await rw.patch('/v1/records/1/metadata?collection=c', { b: 2 });
    expect(patched.status).to.equal(200);
    expect((await rw.get('/v1/records/by-external-id?collection=c&external_id=person')).body).to.deep.equal({
      ...{ id: 1, external_id: 'person', vector: [2, 2], tag: 0, metadata: { b: 2 }, key_id: KEY },
    });
    await shred(rw, KEY);
    expect(idsIn(await search(rw))).to.deep.equal([]);
    for (const index of [1, 2, 3]) expect(await search(rw, { as_of_log_index: index })).to.include({ erased: 1 });
    expect((await upsert([3, 3])).body).to.deep.equal({ ids: [2], created: 1, replaced: 0 });
  });

  it('have a fresh key and the life of their collection, and are erased by key also after that', async () => {
    const rw = await project();
    await collection(rw, { erasable: true, ttl_secs: 2 });
    const inserted = (await insert(rw, [1, 2], { text: 'short-lived' })).body;
    const { expires_at } = (await rw.get('/v1/records/1?collection=c')).body;
    await delay(Math.max(0, 1000 * expires_at - systemClock.nowMs()));
    expect(idsIn(await search(rw))).to.deep.equal([]);
    const past = { as_of_log_index: inserted.receipt.sequence };
    expect((await search(rw, { ...past, with: ['text'] })).results).to.deep.equal([
      { id: 1, score: 5, text: 'short-lived' },
    ]);
    await shred(rw, inserted.key_id);
    expect(await search(rw, past)).to.deep.include({ results: [], erased: 1 });
    expect((await rw.get('/v1/namespaces/c')).body).to.include({ erasable: true, ttl_secs: 2, record_count: 0 });
  });

  it('expire like any other, and are erased from the past by a later shred', async () => {
    const rw = await project();
    await collection(rw);
    const expires_at = Math.ceil(systemClock.nowMs() / 1000 + 2);
    await insert(rw, [1, 2], { key_id: KEY, expires_at, metadata: { a: 1 } });
    expect((await rw.patch('/v1/records/1/metadata?collection=c', { b: 2 })).status).to.equal(200);
    expect((await rw.get('/v1/records/1?collection=c')).body).to.include({ expires_at, key_id: KEY });
    await delay(1000 * expires_at - systemClock.nowMs());
    expect(idsIn(await search(rw))).to.deep.equal([]);
    expect((await rw.get('/v1/records/1?collection=c')).status).to.equal(404);
    expect(idsIn(await search(rw, { as_of_log_index: 2 }))).to.deep.equal([1]);
    await shred(rw, KEY);
    expect(idsIn(await search(rw, { as_of_log_index: 2 }))).to.deep.equal([]);
    expect(await search(rw, { as_of_log_index: 2 })).to.include({ erased: 1 });
    expect(await search(rw, { as_of_log_index: 3 })).to.include({ erased: 0 });
  });
});

inBothModes('an import of records under keys that the vault does not have', (_, { start }) => {
  it(atLength('is whole after a restart, also if another key was made with the id of theirs'), async () => {
    const service = await start({});
    const [source, target] = [(await service.newProject()).rw, (await service.newProject()).rw];
    const make = (rw: Client, name: string) => rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2' });
    const insert = (rw: Client, collection: string, more: object = {}) =>
      rw.post('/v1/records', { collection, values: [1, 2], ...more });
    await make(source, 'c');
    await insert(source, 'c', { key_id: KEY });
    await insert(source, 'c');
    const taken = await exported(source, 'c');
    await imported(target, taken, 'c');
    await make(target, 'd');
    expect((await insert(target, 'd', { key_id: KEY })).status).to.equal(200);
    expect((await insert(target, 'c', { key_id: KEY })).status).to.equal(200);
    await begin(target, taken, 'again');
    const refused = await send(target, 'again', taken.frames);
    expect([refused.status, refused.body.error]).to.match(/^400,.*event 1: its content does not open under the key/);
    const names = service.processNames.filter((name) => name !== 'coordinator');
    for (const name of names) await service.kill(name);
    for (const name of names) await service.restart(name);
    const search = () => target.post('/v1/search', { collection: 'c', query: [0, 0], k: 10 });
    await service.until(async () => (await search()).status !== 503);
    const { status, body } = await search();
    expect([status, body.results?.map(({ id }: { id: number }) => id)], JSON.stringify(body)).to.deep.equal([
      200,
      [2, 3],
    ]);
    expect((await target.get('/v1/records/1?collection=c')).body.error).to.match(/which the vault does not have/);
    expect((await target.delete(`/v1/crypto/shred/${KEY}`)).status).to.equal(200);
    expect((await search()).body.results.map(({ id }: { id: number }) => id)).to.deep.equal([2]);
  });
});
