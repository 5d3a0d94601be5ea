// Covers: shard/vault/recordVault.ts, shard/vault/collectionVault.ts, shard/state/encryptedRecords.ts
/** Encrypted records in a collection: reads, counts, and the effect of a shred. */
import { expect } from 'chai';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { verifyFrames } from '../../../../verifier/log.js';
import { expectCode } from '../../../support/expectations.js';
import { EncryptedRig, keyOf, PROJECT } from '../../../support/rigs/encryptedRig.js';
import { batchOf, DIMENSION, fixed, requestIdOf } from '../../../support/rigs/engine.js';

const ID = 7;
const OTHER = 8;

describe('encrypted records', () => {
  let rig: EncryptedRig;
  beforeEach(() => {
    rig = new EncryptedRig([ID, OTHER]);
  });
  afterEach(() => rig.stop());

  const get = (id: number): Promise<Results['get']> => rig.collection(ID).get(id);
  const records = (): Promise<number> => rig.collection(ID).records();

  it('are read back unchanged, under a key each, and have a zero vector', async () => {
    const one = await rig.insert(ID, 'one', { tag: 5 });
    const two = await rig.insert(ID, '');
    expect([one.id, two.id]).to.deep.equal([1, 2]);
    expect(one.keyId)
      .to.match(/^[0-9a-f]{32}$/)
      .and.not.equal(two.keyId);
    expect(await rig.payload(ID, 1)).to.equal('one');
    expect(await rig.payload(ID, 2)).to.equal('');
    const vector = new Uint8Array(4 * DIMENSION);
    const absent = { metadata: null, externalId: null, expiresAtMs: null };
    expect(await get(1)).to.deep.equal({ id: 1, vector, tag: 5, ...absent, changedBy: 1 });
    expect(await records()).to.equal(2);
  });

  it('are stored among vectors, and appear in no search', async () => {
    await rig.collection(ID).insert([0, 0]);
    await rig.insert(ID, 'secret');
    await rig.collection(ID).insert([1, 1]);
    expect(await rig.collection(ID).found()).to.deep.equal([1, 3]);
    for (const asOf of [{ logIndex: 3 }, { logIndex: 2 }]) {
      const past = (await rig.read(ID, { op: 'search', query: fixed(0, 0), k: 10, asOf })) as Results['search'];
      expect(past.ids.length / 8).to.equal(asOf.logIndex - 1);
    }
    await expectCode(rig.payload(ID, 1), 'record_not_found');
    await expectCode(rig.payload(ID, 4), 'record_not_found');
  });

  it('are hidden, deleted and linked like others, but have no metadata', async () => {
    for (const payload of ['a', 'b', 'c']) await rig.insert(ID, payload);
    await rig.write(ID, { op: 'softDelete', id: 1 });
    await rig.write(ID, { op: 'delete', id: 2 });
    expect(await records()).to.equal(1);
    for (const id of [1, 2]) {
      await expectCode(get(id), 'record_not_found');
      await expectCode(rig.payload(ID, id), 'record_not_found');
      await expectCode(rig.write(ID, { op: 'softDelete', id }), 'record_not_found');
    }
    await rig.write(ID, { op: 'delete', id: 1 });
    await expectCode(rig.write(ID, { op: 'delete', id: 1 }), 'record_not_found');
    const refused = await expectCode(
      rig.write(ID, { op: 'updateMetadata', id: 3, metadata: Buffer.from('{}') }),
      'validation_error',
    );
    expect(refused.message).to.match(/encrypted/);
    expect(await rig.write(ID, { op: 'addNode', kind: 0, recordId: 3 })).to.include({ id: 1 });
    await expectCode(rig.write(ID, { op: 'addNode', kind: 0, recordId: 1 }), 'record_not_found');
    await rig.write(ID, { op: 'delete', id: 3 });
    await expectCode(rig.read(ID, { op: 'graphNode', id: 1 }), 'not_found');
  });

  it('count towards the quota, and a refused one leaves no key', async () => {
    await rig.stop();
    rig = new EncryptedRig([ID], { capacity: 2 });
    await rig.insert(ID, 'a');
    await rig.collection(ID).insert([0, 0]);
    const keys = rig.vault.keys;
    await expectCode(rig.insert(ID, 'b'), 'capacity_exceeded');
    expect(rig.vault.keys).to.equal(keys);
    await rig.write(ID, { op: 'softDelete', id: 1 });
    await rig.insert(ID, 'b');
  });

  it('are made once for a request id, which always returns their key', async () => {
    const requestId = requestIdOf(1);
    const first = await rig.insert(ID, 'a', { requestId });
    const keys = rig.vault.keys;
    expect(await rig.insert(ID, 'b', { requestId, keyId: keyOf(9) })).to.deep.equal(first);
    await rig.write(ID, { op: 'delete', id: first.id });
    await rig.restart();
    expect(await rig.insert(ID, 'c', { requestId })).to.deep.equal(first);
    expect(rig.vault.keys).to.equal(keys);
    const both = await Promise.all([2, 2].map(() => rig.insert(ID, 'd', { requestId: requestIdOf(2) })));
    expect(both[0]).to.deep.equal(both[1]);
    expect(rig.vault.keys).to.equal(keys + 1);
    const underKeys = [4, 4].map((n) => rig.collection(ID).insert([1, 1], { requestId: requestIdOf(n), keyId: 'new' }));
    expect((await Promise.all(underKeys)).map(({ id }) => id)).to.deep.equal([3, 3]);
    expect(rig.vault.keys).to.equal(keys + 2);
    // The id belongs to a vector, which has no key.
    await rig.collection(ID).insert([1, 1], { requestId: requestIdOf(3) });
    await expectCode(rig.insert(ID, 'e', { requestId: requestIdOf(3) }), 'validation_error');
    expect(await rig.sequence(ID)).to.equal(5);
  });

  it('get one key for each request id of concurrent batches that overlap in part', async () => {
    const batch = async (...requestIds: number[]): Promise<number[]> => {
      const call = batchOf(
        requestIds.map((n) => fixed(n, n)),
        requestIds.map(requestIdOf),
      );
      const { ids } = (await rig.write(ID, { ...call, keyIds: requestIds.map(() => 'new') })) as Results['insertBatch'];
      return [...new Float64Array(ids.buffer, ids.byteOffset, requestIds.length)];
    };
    const keys = rig.vault.keys;
    const ids = await Promise.all([batch(1, 2), batch(2, 3), batch(4, 3, 1, 4)]);
    expect(ids).to.deep.equal([
      [1, 2],
      [2, 3],
      [4, 3, 1, 4],
    ]);
    expect(rig.vault.keys).to.equal(keys + 4);
  });

  it('share a given key, within a collection and between two', async () => {
    const keyId = keyOf(1);
    await rig.insert(ID, 'a', { keyId });
    await rig.insert(ID, 'b', { keyId });
    await rig.insert(OTHER, 'c', { keyId });
    expect(rig.vault.peek(PROJECT, keyId)?.collectionIds).to.deep.equal([ID, OTHER]);
    expect([await rig.payload(ID, 1), await rig.payload(ID, 2), await rig.payload(OTHER, 1)]).to.deep.equal([
      'a',
      'b',
      'c',
    ]);
  });

  it('are lost with their key, everywhere and forever, and leave the count but not the log', async () => {
    const keyId = keyOf(1);
    await rig.insert(ID, 'a', { keyId });
    await rig.insert(ID, 'b');
    await rig.insert(ID, 'c', { keyId });
    await rig.write(ID, { op: 'softDelete', id: 3 });
    await rig.insert(OTHER, 'd', { keyId });
    await rig.shred(keyId);
    for (const after of ['at once', 'after a restart']) {
      expect(await records(), after).to.equal(1);
      expect(await rig.collection(OTHER).records(), after).to.equal(0);
      await expectCode(rig.payload(ID, 1), 'record_shredded');
      await expectCode(rig.payload(OTHER, 1), 'record_shredded');
      await expectCode(rig.payload(ID, 3), 'record_not_found');
      await expectCode(get(1), 'record_not_found');
      await expectCode(rig.insert(ID, 'e', { keyId }), 'validation_error');
      await expectCode(rig.write(ID, { op: 'softDelete', id: 1 }), 'record_not_found');
      await expectCode(rig.write(ID, { op: 'addNode', kind: 0, recordId: 1 }), 'record_not_found');
      expect(await rig.payload(ID, 2), after).to.equal('b');
      await rig.restart();
    }
    expect(rig.vault.peek(PROJECT, keyId)).to.deep.equal({
      status: 'shredded',
      wrapped: null,
      collectionIds: [ID, OTHER],
      pendingIds: [],
    });
    await rig.write(ID, { op: 'delete', id: 1 });
    expect(await records()).to.equal(1);
  });

  it('have one shred event in the log, for any number of requests', async () => {
    const keyId = keyOf(1);
    await rig.insert(ID, 'a', { keyId });
    await Promise.all([rig.shred(keyId), rig.shred(keyId)]);
    await rig.shred(keyId);
    expect(await rig.write(ID, { op: 'shredKey', keyId })).to.deep.equal({ sequence: 2 });
    expect(await rig.sequence(ID)).to.equal(2);
    expect(await rig.sequence(OTHER)).to.equal(0);
  });

  it('cannot use a key that was shredded before it existed', async () => {
    await rig.shred(keyOf(5));
    await expectCode(rig.insert(ID, 'a', { keyId: keyOf(5) }), 'validation_error');
    expect(await rig.sequence(ID)).to.equal(0);
  });

  it('verify before and after a shred, with the same state hash in every replay', async () => {
    const keyId = keyOf(1);
    await rig.collection(ID).insert([1, 2]);
    for (const payload of ['a', 'b']) await rig.insert(ID, payload, { keyId, tag: 3 });
    await rig.insert(ID, 'c', { requestId: requestIdOf(1) });
    await rig.write(ID, { op: 'softDelete', id: 2 });
    const before = await verifyFrames(rig.logs.frames(ID));
    await rig.shred(keyId);
    await rig.write(ID, { op: 'delete', id: 3 });
    const { receipt } = await rig.collection(ID).insert([3, 4], { requestId: requestIdOf(2) });
    const after = await verifyFrames(rig.logs.frames(ID));
    expect([before.refusal, after.refusal]).to.deep.equal([undefined, undefined]);
    expect([before.records.live, after.records.live]).to.deep.equal([3, 3]);
    expect(toHex(after.state.stateHash)).to.equal(receipt.state_hash);
    await rig.restart();
    expect(await rig.collection(ID).replay(requestIdOf(2))).to.deep.equal(receipt);
    expect(await records()).to.equal(3);
  });

  it('appear in the log without plaintext and data keys', async () => {
    await rig.insert(ID, 'the quick brown fox');
    const log = Buffer.concat(rig.logs.frames(ID));
    expect(log.includes('quick brown')).to.equal(false);
    expect(log.includes(Buffer.from(rig.vault.peek(PROJECT, (await rig.insert(ID, 'x')).keyId)!.wrapped!))).to.equal(
      false,
    );
  });
});

describe('the vault entry of an encrypted record', () => {
  let rig: EncryptedRig;
  beforeEach(() => {
    rig = new EncryptedRig([ID, OTHER]);
  });
  afterEach(() => rig.stop());

  it('makes its records unreadable when it is lost, and is not replaced by another key', async () => {
    const keyId = keyOf(1);
    await rig.insert(ID, 'a', { keyId });
    rig.vault.lose(PROJECT, keyId);
    const lost = await expectCode(rig.payload(ID, 1), 'internal_error');
    expect(lost.message).to.include(keyId).and.include(`collection ${ID}`);
    await expectCode(rig.insert(ID, 'b', { keyId }), 'internal_error');
    expect(rig.vault.peek(PROJECT, keyId)).to.equal(undefined);
    expect(await rig.collection(ID).records()).to.equal(1);
  });

  it('quarantines only the collections that depend on it when it is damaged', async () => {
    const keyId = keyOf(1);
    await rig.insert(ID, 'a', { keyId });
    await rig.insert(OTHER, 'b');
    rig.vault.damaged.add(`${PROJECT}.${keyId}`);
    // This collection has no record under that key: its call fails, and it continues to serve.
    await expectCode(rig.insert(OTHER, 'c', { keyId }), 'internal_error');
    expect(await rig.payload(OTHER, 1)).to.equal('b');
    const damage = await expectCode(rig.payload(ID, 1), 'internal_error');
    expect(damage.message)
      .to.match(/quarantined, its stored vault does not verify/)
      .and.include(keyId);
    await expectCode(rig.collection(ID).insert([0, 0]), 'internal_error');
    expect(rig.context.damages.reported()).to.have.length(1);
    expect(rig.context.damages.reported()[0]).to.include({ collectionId: ID, part: 'vault' });
    expect(await rig.payload(OTHER, 1)).to.equal('b');
  });

  it('can be shredded when it is damaged, for all collections of the project, which then serve again', async () => {
    const keyId = keyOf(1);
    await rig.insert(ID, 'a', { keyId });
    await rig.insert(ID, 'kept');
    await rig.insert(OTHER, 'b');
    rig.vault.damaged.add(`${PROJECT}.${keyId}`);
    await expectCode(rig.payload(ID, 1), 'internal_error');
    await expectCode(rig.collection(ID).insert([0, 0]), 'internal_error');
    await rig.shred(keyId);
    expect(rig.vault.peek(PROJECT, keyId)).to.deep.equal({
      status: 'shredded',
      wrapped: null,
      collectionIds: [ID, OTHER],
      pendingIds: [],
    });
    expect(await rig.noted()).to.equal(0);
    await expectCode(rig.payload(ID, 1), 'record_shredded');
    expect(await rig.payload(ID, 2)).to.equal('kept');
    expect(await rig.collection(ID).records()).to.equal(1);
    await rig.collection(ID).insert([0, 0]);
    expect(await rig.payload(OTHER, 1)).to.equal('b');
    await expectCode(rig.insert(OTHER, 'c', { keyId }), 'validation_error');
    expect(rig.context.damages.reported()).to.deep.equal([]);
    await rig.shred(keyId);
  });

  it('with another data key, or from another collection, decrypts nothing and quarantines nothing', async () => {
    const keyId = keyOf(1);
    await rig.insert(ID, 'a', { keyId });
    rig.vault.lose(PROJECT, keyId);
    await rig.insert(OTHER, 'b', { keyId });
    const error = await expectCode(rig.payload(ID, 1), 'internal_error');
    expect(error.message).to.include(keyId).and.include(`collection ${ID}`);
    expect(await rig.collection(ID).records()).to.equal(1);
    expect(await rig.payload(OTHER, 1)).to.equal('b');
  });
});
