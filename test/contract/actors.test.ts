/** The actor of every event over HTTP: the key, the person that it acts for, and the request. */
import { expect } from 'chai';
import { readProof, verifyReceipt } from '../../verifier/receipt.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';
import { begin, exported, imported, send } from '../support/rigs/backups.js';

inBothModes('the actors of events', (service) => {
  let project: Project;
  let keyId: string;
  const timeline = async (query = '') => {
    const answer = await project.ro.get(`/v1/timeline?collection=c${query}`);
    expect(answer.status, answer.text).to.equal(200);
    return answer.body;
  };
  const actors = async (query = '') => (await timeline(query)).events.map(({ actor }: { actor: object }) => actor);
  const insert = (headers: Record<string, string> = {}, values: number[] = [1]) =>
    project.rw.post('/v1/records', { collection: 'c', values }, headers);

  beforeEach(async () => {
    project = await service.newProject();
    await project.rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    keyId = (await project.rw.get('/v1/keys/self')).body.id;
  });

  it('are the key, the on-behalf-of and the request id of the write', async () => {
    await insert({ 'vouch-on-behalf-of': 'u-17', 'x-request-id': 'r-1' });
    const { headers } = await insert();
    expect(await actors()).to.deep.equal([
      { key_id: keyId, on_behalf_of: 'u-17', request_id: 'r-1' },
      { key_id: keyId, request_id: headers.get('x-request-id') },
    ]);
  });

  it('are one for all events of a batch, and of a deletion by filter', async () => {
    const batch = { collection: 'c', batch: [[1], [2], [3]], metadata: [{ a: 1 }, { a: 1 }, { a: 2 }] };
    await project.rw.post('/v1/vectors/batch-insert', batch, { 'vouch-on-behalf-of': 'loader' });
    const deletion = { collection: 'c', metadata_filter: { a: 1 } };
    await project.rw.post('/v1/records/delete', deletion, { 'vouch-on-behalf-of': 'cleaner' });
    const named = (await actors()).map(({ on_behalf_of }: { on_behalf_of: string }) => on_behalf_of);
    expect(named).to.deep.equal(['loader', 'loader', 'loader', 'cleaner', 'cleaner']);
  });

  it('filter the timeline by key id and by on-behalf-of, in pages', async () => {
    for (const person of ['a', 'b', 'a', 'c', 'a']) await insert({ 'vouch-on-behalf-of': person });
    const indices = ({ events }: { events: { log_index: number }[] }) => events.map(({ log_index }) => log_index);
    const all = await timeline('&actor=a');
    expect([indices(all), all.total, all.next]).to.deep.equal([[1, 3, 5], 5, undefined]);
    const first = await timeline('&actor=a&limit=2');
    expect([indices(first), first.next]).to.deep.equal([[1, 3], 3]);
    const second = await timeline(`&actor=a&limit=2&after=${first.next}`);
    expect([indices(second), second.next]).to.deep.equal([[5], undefined]);
    expect(indices(await timeline(`&actor=${keyId}`))).to.deep.equal([1, 2, 3, 4, 5]);
    expect(indices(await timeline('&actor=nobody'))).to.deep.equal([]);
    expect((await timeline()).next).to.equal(undefined);
  });

  it('are in the receipts, which fail with another actor', async () => {
    const { receipt } = (await insert({ 'vouch-on-behalf-of': 'u-17', 'x-request-id': 'r-1' })).body;
    expect(readProof(receipt.proof).actor).to.deep.equal({ keyId, onBehalfOf: 'u-17', requestId: 'r-1' });
    expect(verifyReceipt(receipt)).to.deep.equal([]);
    const past = (await project.ro.get('/v1/proof/receipt?collection=c&sequence=1')).body;
    expect(past.actor).to.deep.equal({ key_id: keyId, on_behalf_of: 'u-17', request_id: 'r-1' });
    expect(past.proof).to.equal(receipt.proof);
    expect(verifyReceipt(past)).to.deep.equal([]);
    const bytes = Buffer.from(receipt.proof, 'base64url');
    bytes.write('r-2', bytes.length - 3);
    expect(verifyReceipt({ ...receipt, proof: bytes.toString('base64url') })).to.deep.equal([
      'state_hash does not follow',
    ]);
    const { actor } = past;
    for (const other of [{ ...actor, on_behalf_of: 'u-18' }, { key_id: keyId }, { ...actor, more: 1 }, null])
      expect(verifyReceipt({ ...past, actor: other })).to.deep.equal(['actor is not the one of the proof']);
  });

  it('are taken from no body, and a header of other characters is 400 without an effect', async () => {
    for (const value of ['', 'a b', 'x'.repeat(129)]) {
      const answer = await insert({ 'vouch-on-behalf-of': value });
      expect([answer.status, answer.body.code], value).to.deep.equal([400, 'validation_error']);
      expect(answer.body.error).to.contain('Vouch-On-Behalf-Of must be 1 to 128 visible ASCII characters');
    }
    expect((await insert({ 'vouch-on-behalf-of': 'x'.repeat(128) })).status).to.equal(200);
    const forged = await project.rw.post('/v1/records', { collection: 'c', values: [1], actor: { key_id: 'other' } });
    expect(forged.status).to.equal(400);
    expect((await timeline()).total).to.equal(1);
  });

  it('are kept by an import, which names its own', async () => {
    await insert({ 'vouch-on-behalf-of': 'u-17' });
    const of = await exported(project.rw, 'c');
    expect(of.facts.created_by).to.include({ key_id: keyId });
    const answer = await imported(project.rw, of, 'copy');
    expect(answer.imported_by).to.include({ key_id: keyId });
    await project.rw.post('/v1/records', { collection: 'copy', values: [2] }, { 'vouch-on-behalf-of': 'u-18' });
    const { events } = (await project.ro.get('/v1/timeline?collection=copy')).body;
    expect(events.map(({ actor }: { actor: { on_behalf_of: string } }) => actor.on_behalf_of)).to.deep.equal([
      'u-17',
      'u-18',
    ]);
    const { collections } = (await project.ro.get('/v1/namespaces')).body;
    const listed = collections.find(({ name }: { name: string }) => name === 'copy');
    expect(listed.imported_by).to.deep.equal(answer.imported_by);
    const forged = { ...of, facts: { ...of.facts, created_by: { key_id: 'other' } } };
    expect((await begin(project.rw, forged, 'forged')).status).to.equal(200);
    const refused = await send(project.rw, 'forged', of.frames);
    expect([refused.status, refused.body.code], refused.text).to.deep.equal([400, 'validation_error']);
    expect(refused.body.error).to.contain('the log belongs to another collection, by its genesis event');
  });
});
