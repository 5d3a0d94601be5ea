// Covers: coordinator/contract/proofs.ts, coordinator/handlers/proofs.ts
/** Proofs over HTTP: their content, their independent verification, and their permanence. */
import { createPublicKey, verify } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { toHex } from '../../shared/hashing/hash.js';
import { verifyCheckpoint } from '../../verifier/checkpoint.js';
import { verifyConsistency, verifyInclusion } from '../../verifier/logProofs.js';
import { verifyReceipt } from '../../verifier/receipt.js';
import { atLength } from '../support/atLength.js';
import { inBothModesAndThroughClient } from '../support/launch/modes.js';
import type { Project } from '../support/launch/service.js';
import { checkConsistency, checkInclusion, H, logRootOf } from '../unit/shard/audit/logOracle.js';

/** Also requested through the package. */
const ROUTES = [
  'GET /v1/proof/state',
  'GET /v1/proof/event-log',
  'GET /v1/proof/receipt',
  'GET /v1/proof/inclusion',
  'GET /v1/proof/consistency',
  'GET /v1/proof/checkpoint',
] as const;

const HEX = /^[0-9a-f]{64}$/;
const EVENT_LOG_FIELDS = ['committed_height', 'event_count', 'event_log_hash', 'final_state_hash', 'kernel_version'];
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** The chain head after the write: of the previous one, the event hash and the actor, which ends the proof. */
function headAfter({ proof }: { proof: string }): string {
  const bytes = Buffer.from(proof, 'base64url');
  return toHex(H(Buffer.of(4), bytes.subarray(104, 168), bytes.subarray(bytes.length - bytes.readUInt16LE(4))));
}

inBothModesAndThroughClient('proofs', ROUTES, (service, { restartable }) => {
  let project: Project;
  const get = (path: string) => project.ro.get(`/v1/${path}${path.includes('?') ? '&' : '?'}collection=c`);
  const post = async (path: string, body: object) => {
    const answer = await project.rw.post(path, { collection: 'c', ...body });
    expect(answer.status, answer.text).to.equal(200);
    return answer.body;
  };
  const ok = async (path: string) => {
    const answer = await get(path);
    expect(answer.status, `${path}: ${answer.text}`).to.equal(200);
    return answer.body;
  };
  const refused = async (path: string, status: number, code: string): Promise<string> => {
    const answer = await get(path);
    expect([answer.status, answer.body.code], `${path}: ${answer.text}`).to.deep.equal([status, code]);
    return answer.body.error;
  };
  /** Seven events: two inserts, a batch of two, a change of metadata, and a deletion of each kind. */
  async function write() {
    const first = await post('/v1/records', { values: [1, 2], metadata: [...Buffer.from('{"a":1}')], text: 'one' });
    const second = await post('/v1/records', { values: [3, 4] });
    await post('/v1/vectors/batch-insert', {
      batch: [
        [5, 6],
        [7, 8],
      ],
      texts: ['five', null],
    }); // prettier-ignore
    await project.rw.patch('/v1/records/3/metadata?collection=c', { b: 2 });
    await post('/v1/soft-delete', { id: 1 });
    await post('/v1/delete', { id: 2 });
    return [first.receipt, second.receipt];
  }

  beforeEach(async () => {
    project = await service.newProject();
    await project.rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
  });

  it('show the state by the newest receipt’s hashes', async () => {
    await write();
    const state = await ok('proof/state');
    expect(Object.keys(state)).to.have.members(['final_state_hash', 'state_root', 'chain_head', 'sequence']);
    const newest = await ok('proof/receipt?sequence=7');
    expect(state.sequence).to.equal(7);
    expect(state.final_state_hash).to.equal(newest.state_hash);
    expect(state.state_root).to.equal(newest.new_root);
    expect(state.chain_head).to.equal(headAfter(newest));
  });

  it('show the number of events, the root of the event log, and the state', async () => {
    expect(await ok('proof/event-log')).to.include({
      event_count: 0,
      committed_height: 0,
      event_log_hash: logRootOf([]),
    });
    await write();
    const log = await ok('proof/event-log');
    expect(Object.keys(log).sort()).to.deep.equal(EVENT_LOG_FIELDS);
    expect(log).to.include({ event_count: 7, committed_height: 7 });
    expect(log.event_log_hash).to.match(HEX);
    expect(log.event_log_hash).to.equal((await ok('proof/inclusion?sequence=0')).root);
    expect(log.final_state_hash).to.equal((await ok('proof/state')).final_state_hash);
  });

  it('are receipts of every write of a record, batch items included, and never change', async () => {
    const answered = await write();
    const receipts = [];
    for (let sequence = 1; sequence <= 7; sequence++) {
      const receipt = await ok(`proof/receipt?sequence=${sequence}`);
      expect(verifyReceipt(receipt), `event ${sequence}`).to.deep.equal([]);
      expect(receipt.sequence).to.equal(sequence);
      receipts.push(receipt);
    }
    // The client sends request ids; only these answers contain them, and actors.
    expect(receipts.slice(0, 2).map(({ request_id: _, actor: __, ...receipt }) => receipt)).to.deep.equal(answered);
    expect(receipts.map(({ record_id }) => record_id)).to.deep.equal([1, 2, 3, 4, 3, 1, 2]);
    for (let i = 1; i < receipts.length; i++) expect(receipts[i].old_root).to.equal(receipts[i - 1].new_root);
    await post('/v1/delete', { id: 3 });
    await post('/v1/records', { values: [0, 0] });
    for (const receipt of receipts)
      expect(await ok(`proof/receipt?sequence=${receipt.sequence}`)).to.deep.equal(receipt);
  });

  it('are receipts of encrypted records too, before and after a shred', async () => {
    const { key_id } = await post('/v1/records/encrypted', { payload: 'aGVsbG8=' });
    await post('/v1/records/encrypted', { payload: 'd29ybGQ=', key_id });
    await post('/v1/soft-delete', { id: 2 });
    const receipts = [];
    for (const sequence of [1, 2, 3]) receipts.push(await ok(`proof/receipt?sequence=${sequence}`));
    for (const receipt of receipts) expect(verifyReceipt(receipt), `event ${receipt.sequence}`).to.deep.equal([]);
    expect(receipts.map(({ record_id }) => record_id)).to.deep.equal([1, 2, 2]);
    const before = await ok('proof/state');
    expect((await project.rw.delete(`/v1/crypto/shred/${key_id}`)).status).to.equal(200);
    expect(await ok('proof/state')).to.include({ state_root: before.state_root, sequence: 4 });
    for (const receipt of receipts)
      expect(await ok(`proof/receipt?sequence=${receipt.sequence}`)).to.deep.equal(receipt);
    expect(await refused('proof/receipt?sequence=4', 400, 'validation_error')).to.match(/event 4 is a shredded key/);
    const { events } = await ok('timeline');
    expect(
      events.map(({ event_type, record_id, key_id: key }: Record<string, unknown>) => [event_type, record_id, key]),
    ).to.deep.equal([
      ['insert_encrypted', 1, key_id],
      ['insert_encrypted', 2, key_id],
      ['soft_delete', 2, undefined],
      ['shred_key', undefined, key_id],
    ]); // prettier-ignore
  });

  it('are refused for events that changed no record', async () => {
    await post('/v1/records', { values: [1, 2] });
    await post('/v1/graph/node', { kind: 1 });
    expect(await refused('proof/receipt?sequence=0', 400, 'validation_error')).to.match(/genesis/);
    expect(await refused('proof/receipt?sequence=2', 400, 'validation_error')).to.match(/graph node.*inclusion/);
    expect(await refused('proof/receipt?sequence=3', 400, 'validation_error')).to.equal(
      "there is no event 3: the collection's log has 2",
    );
    for (const query of ['', 'sequence=-1', 'sequence=1.5', 'sequence=x', 'sequence=9007199254740992'])
      expect(await refused(`proof/receipt?${query}`, 400, 'validation_error')).to.match(/sequence/);
  });

  it('show that events are in the log, now and earlier, and verify by themselves', async () => {
    const [receipt] = await write();
    for (let size = 1; size <= 8; size++)
      for (let sequence = 0; sequence < size; sequence++) {
        const body = await ok(`proof/inclusion?sequence=${sequence}&size=${size}`);
        expect(Object.keys(body)).to.have.members(['sequence', 'size', 'root', 'proof']);
        expect(body).to.include({ sequence, size });
        expect(body.proof).to.match(BASE64URL);
        const proof = Buffer.from(body.proof, 'base64url');
        expect(proof[0]).to.equal(1);
        expect(checkInclusion(proof.subarray(1, 33), sequence, size, proof.subarray(33))).to.equal(body.root);
        expect(toHex(verifyInclusion(body).chainHead)).to.equal(toHex(proof.subarray(1, 33)));
      }
    const leaf = Buffer.from((await ok('proof/inclusion?sequence=1')).proof, 'base64url').subarray(1, 33);
    expect(toHex(leaf)).to.equal(headAfter(receipt));
    await refused('proof/inclusion?sequence=8', 400, 'validation_error');
    await refused('proof/inclusion?sequence=4&size=4', 400, 'validation_error');
    await refused('proof/inclusion?sequence=4&size=9', 400, 'validation_error');
    await refused('proof/inclusion', 400, 'validation_error');
  });

  it('show that a log continues an earlier one, and verify against the roots of both', async () => {
    await write();
    for (let from = 0; from <= 7; from++)
      for (let to = from; to <= 7; to++) {
        const body = await ok(`proof/consistency?from=${from}&to=${to}`);
        expect(Object.keys(body)).to.have.members(['from', 'to', 'proof']);
        expect(body.from).to.include({ sequence: from, size: from + 1 });
        expect(body.to).to.include({ sequence: to, size: to + 1 });
        const nodes = Buffer.from(body.proof, 'base64url').subarray(1);
        expect(checkConsistency(from + 1, to + 1, body.from.root, body.to.root, nodes), `${from} to ${to}`).to.equal(
          true,
        );
        expect(verifyConsistency(body).to.size).to.equal(BigInt(to + 1));
      }
    expect(await refused('proof/consistency?from=3&to=2', 400, 'validation_error')).to.match(/from is 3 and to is 2/);
    await refused('proof/consistency?from=0&to=8', 400, 'validation_error');
    await refused('proof/consistency?from=0', 400, 'validation_error');
  });

  it('include checkpoints signed by a key that the service names', async () => {
    await write();
    const { keys } = (await project.ro.get('/v1/proof/keys')).body;
    expect(keys).to.have.length(1);
    expect(Object.keys(keys[0])).to.have.members(['public_key', 'key_id', 'since']);
    const body = await ok('proof/checkpoint');
    expect(Object.keys(body)).to.have.members(['checkpoint', 'signature', 'public_key', 'key_id']);
    expect(body.public_key).to.equal(keys[0].public_key);
    expect(body.key_id).to.equal(body.public_key.slice(0, 16));
    expect(body.signature).to.match(/^[0-9a-f]{128}$/);
    const key = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(body.public_key, 'hex').toString('base64url') };
    const text = Buffer.from(body.checkpoint);
    const signature = Buffer.from(body.signature, 'hex');
    expect(verify(null, text, createPublicKey({ key, format: 'jwk' }), signature)).to.equal(true);
    expect(verifyCheckpoint(body, keys[0].public_key).size).to.equal(8n);
    const [log, state] = [await ok('proof/event-log'), await ok('proof/state')];
    const { body: collection } = await project.rw.get('/v1/namespaces');
    const [title, origin, ...lines] = body.checkpoint.split('\n');
    expect(title).to.equal('vouch checkpoint v1');
    expect(origin).to.match(new RegExp(`^${project.name}/c/${collection.collections[0].id}/[0-9a-f]{64}$`));
    expect(lines.slice(0, 4)).to.deep.equal(['8', log.event_log_hash, state.chain_head, state.final_state_hash]);
    expect(lines[4]).to.match(/^\d{13}$/);
    // Only the owner can read the PEM file.
    const file = join(service.dataDir, 'signing.key');
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(await readFile(file, 'utf8')).to.match(/^Vouch signing key [0-9a-f]{64}\n-----BEGIN PRIVATE KEY-----\n/);
  });

  it('cover only the project’s own collections', async () => {
    const stranger = await service.newProject();
    for (const path of [
      'state',
      'event-log',
      'receipt?sequence=1',
      'inclusion?sequence=0',
      'consistency?from=0&to=0',
      'checkpoint',
    ]) {
      const answer = await stranger.ro.get(`/v1/proof/${path}${path.includes('?') ? '&' : '?'}collection=c`);
      expect([answer.status, answer.body.code], path).to.deep.equal([404, 'collection_not_found']);
    }
  });

  it(atLength('are unchanged after a kill of every process, and the log continues'), async () => {
    const own = await restartable();
    const { rw } = await own.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 1, metric: 'squared_l2' });
    for (let n = 1; n <= 5; n++) await rw.post('/v1/records', { collection: 'c', values: [n] });
    await rw.post('/v1/delete', { collection: 'c', id: 2 });
    const paths = [
      'state',
      'event-log',
      'receipt?sequence=6',
      'receipt?sequence=2',
      'inclusion?sequence=3',
      'consistency?from=2&to=6',
    ];
    const all = async () => {
      const answers = [];
      for (const path of paths) {
        const { status, body, text } = await rw.get(`/v1/proof/${path}${path.includes('?') ? '&' : '?'}collection=c`);
        expect(status, text).to.equal(200);
        answers.push(body);
      }
      return [...answers, (await rw.get('/v1/proof/keys')).body];
    };
    const before = await all();
    const checkpoint = (await rw.get('/v1/proof/checkpoint?collection=c')).body;
    for (const name of own.processNames) await own.kill(name);
    await Promise.all(own.processNames.map((name) => own.restart(name)));
    await own.until(async () => (await rw.get('/v1/proof/state?collection=c')).status === 200);
    expect(await all()).to.deep.equal(before);
    const later = (await rw.get('/v1/proof/checkpoint?collection=c')).body;
    expect(later.public_key).to.equal(checkpoint.public_key);
    expect(later.checkpoint.split('\n').slice(0, 6)).to.deep.equal(checkpoint.checkpoint.split('\n').slice(0, 6));
    await rw.post('/v1/records', { collection: 'c', values: [7] });
    const { body } = await rw.get('/v1/proof/consistency?collection=c&from=6&to=7');
    expect(body.from.root).to.equal(before[1].event_log_hash);
    expect(body.to.root).to.not.equal(body.from.root);
  });
});
