// Covers: shard/vault/recordVault.ts, shard/vault/collectionVault.ts
/** Concurrent inserts and shreds, and interrupted shreds, at every step of either. */
import { expect } from 'chai';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import type { ProofResults } from '../../../../shared/protocol/proofs.js';
import { expectCode, gate } from '../../../support/expectations.js';
import { EncryptedRig, keyOf, PROJECT } from '../../../support/rigs/encryptedRig.js';
import { meeting, onEveryStep, settled } from '../../../support/rigs/shredSteps.js';

const ID = 7;
const OTHER = 8;
const KEY = keyOf(1);

/**
 * Asserts that a shredded key leaves nothing readable or counted, and that every log with records under it contains the
 * shred.
 */
async function expectShredded(rig: EncryptedRig, recordsOf: Readonly<Record<number, number>>): Promise<void> {
  const entry = rig.vault.peek(PROJECT, KEY);
  expect([entry?.status, entry?.wrapped, entry?.pendingIds]).to.deep.equal(['shredded', null, []]);
  for (const [id, records] of Object.entries(recordsOf)) {
    for (let record = 1; record <= records; record++) {
      await expectCode(rig.payload(Number(id), record), 'record_shredded');
      await expectCode(rig.collection(Number(id)).get(record), 'record_not_found');
    }
    expect(await rig.collection(Number(id)).records(), `records of ${id}`).to.equal(0);
    await expectCode(rig.insert(Number(id), 'late', { keyId: KEY }), 'validation_error');
  }
}

describe('an insert concurrent with a shred', () => {
  const rigs: EncryptedRig[] = [];
  const newRig = (): EncryptedRig => {
    const rig = new EncryptedRig([ID, OTHER]);
    rigs.push(rig);
    return rig;
  };
  afterEach(async () => {
    for (const rig of rigs.splice(0)) await rig.stop();
  });

  for (const [what, prepare] of [
    ['of a new key', async () => undefined],
    ['of a key in use here', (rig: EncryptedRig) => rig.insert(ID, 'before', { keyId: KEY })],
    ['of a key in use elsewhere', (rig: EncryptedRig) => rig.insert(OTHER, 'before', { keyId: KEY })],
  ] as [string, (rig: EncryptedRig) => Promise<unknown>][]) {
    it(`${what}: leaves nothing readable for a shred at any of its steps`, async () => {
      for (let step = 0; ; step++) {
        const rig = newRig();
        await prepare(rig);
        const shreds: Promise<unknown>[] = [];
        const isReached = meeting(rig, step, shreds, () => rig.shred(KEY));
        const outcome = await settled(rig.insert(ID, 'x', { keyId: KEY }));
        if (!isReached()) {
          expect(step).to.be.at.least(2);
          expect(outcome).to.equal('done');
          return;
        }
        expect(await settled(shreds[0]!)).to.equal('done');
        if (outcome !== 'done') expect(outcome.code).to.equal('validation_error');
        await expectAllShredded(rig);
        await rig.restart();
        await expectAllShredded(rig);
      }
    });

    it(`${what}: is lost or refused at any step of the shred`, async () => {
      for (let step = 0; ; step++) {
        const rig = newRig();
        await prepare(rig);
        const inserts: Promise<unknown>[] = [];
        const isReached = meeting(rig, step, inserts, () => rig.insert(ID, 'x', { keyId: KEY }));
        await rig.shred(KEY);
        if (!isReached()) {
          expect(step).to.be.at.least(4);
          return;
        }
        const outcome = await settled(inserts[0]!);
        if (outcome !== 'done') expect(outcome.code).to.equal('validation_error');
        await expectAllShredded(rig);
        await rig.restart();
        await expectAllShredded(rig);
      }
    });
  }

  it('is lost if its commit is running when the shred begins', async () => {
    const rig = newRig();
    await rig.insert(ID, 'before', { keyId: KEY });
    const append = gate();
    rig.logs.fates.push(append.opened);
    const insert = rig.insert(ID, 'x', { keyId: KEY });
    while (rig.logs.appends < 2) await new Promise((resolve) => setImmediate(resolve));
    const shred = rig.shred(KEY);
    append.open();
    expect(await insert).to.deep.equal({ id: 2, keyId: KEY });
    await shred;
    await expectShredded(rig, { [ID]: 2 });
  });

  it('with unknown outcome is stored before the shred or never', async () => {
    for (const fate of ['landed', 'lost', 'late'] as const) {
      const rig = newRig();
      await rig.insert(ID, 'before', { keyId: KEY });
      rig.logs.fates.push(fate);
      await expectCode(rig.insert(ID, 'x', { keyId: KEY }), 'unavailable');
      await rig.shred(KEY);
      expect(rig.logs.landLate(), fate).to.equal(false);
      await rig.restart();
      await expectShredded(rig, { [ID]: fate === 'landed' ? 2 : 1 });
    }
  });

  async function expectAllShredded(rig: EncryptedRig): Promise<void> {
    const recordsOf: Record<number, number> = {};
    for (const id of [ID, OTHER]) {
      const hasShred = (await rig.sequence(id)) > 0;
      if (hasShred) recordsOf[id] = (await rig.sequence(id)) - 1;
    }
    await expectShredded(rig, recordsOf);
  }
});

describe('an interrupted shred', () => {
  const newRig = async (): Promise<EncryptedRig> => {
    const rig = new EncryptedRig([ID, OTHER]);
    await rig.insert(ID, 'one', { keyId: KEY });
    await rig.insert(OTHER, 'two', { keyId: KEY });
    await rig.insert(ID, 'another');
    return rig;
  };

  /** Makes the coordinator die at a step: every later call fails. */
  async function cutShort(rig: EncryptedRig, step: number): Promise<boolean> {
    let steps = 0;
    onEveryStep(rig, () => {
      if (steps++ >= step) throw unavailable('the coordinator has died');
    });
    const outcome = await settled(rig.shred(KEY));
    onEveryStep(rig, () => undefined);
    return outcome !== 'done';
  }

  it('is undone or complete after a restart, at any step, and complete after a repeat', async () => {
    let undone = 0;
    let completed = 0;
    for (let step = 0; ; step++) {
      const rig = await newRig();
      const isCut = await cutShort(rig, step);
      await rig.restart();
      await rig.sweep();
      const entry = rig.vault.peek(PROJECT, KEY)!;
      if (entry.status === 'active') {
        undone++;
        expect(await rig.payload(ID, 1)).to.equal('one');
        expect(await rig.payload(OTHER, 1)).to.equal('two');
        expect(await rig.collection(ID).records()).to.equal(2);
      } else {
        completed++;
        await expectDone(rig);
      }
      await rig.shred(KEY);
      await expectDone(rig);
      await rig.stop();
      if (!isCut) break;
    }
    expect(undone).to.be.at.least(2);
    expect(completed).to.be.at.least(4);
  });

  it('is finished by the shard that starts to serve the collection, with one commit', async () => {
    const rig = await newRig();
    rig.onCommit = (_, id) => {
      if (id === OTHER) throw unavailable('its shard does not answer');
    };
    await expectCode(rig.shred(KEY), 'unavailable');
    expect(rig.vault.peek(PROJECT, KEY)?.pendingIds).to.deep.equal([OTHER]);
    // No payload is readable without a key, although the log has no shred event yet.
    await expectCode(rig.payload(OTHER, 1), 'record_shredded');
    await Promise.all([rig.sweep(), rig.sweep()]);
    await rig.sweep();
    await expectDone(rig);
    expect(await rig.sequence(OTHER)).to.equal(2);
    await rig.stop();
  });

  it('is finished in spite of vault damage, which quarantines only collections that depend on it', async () => {
    const rig = await newRig();
    rig.onCommit = () => {
      throw unavailable('no shard answers');
    };
    await expectCode(rig.shred(KEY), 'unavailable');
    const { keyId } = await rig.insert(OTHER, 'three');
    rig.vault.damaged.add(`${PROJECT}.${keyId}`);
    await rig.sweep();
    await expectCode(rig.payload(OTHER, 2), 'internal_error');
    await expectCode(rig.payload(ID, 1), 'record_shredded');
    expect(await rig.collection(ID).records()).to.equal(1);
    expect(rig.context.damages.reported()).to.have.length(1);
    // After the repair everything is as before.
    rig.vault.damaged.clear();
    await rig.restart();
    await rig.sweep();
    await expectCode(rig.collection(OTHER).get(1), 'record_not_found');
    expect(await rig.payload(OTHER, 2)).to.equal('three');
    await rig.stop();
  });

  it('leaves a mark for ten minutes if it died before it began, and otherwise none', async () => {
    const rig = await newRig();
    await rig.shred(KEY);
    expect(await rig.noted()).to.equal(0);
    await rig.shred(KEY);
    expect(await rig.noted()).to.equal(0);
    await rig.notes.set(PROJECT, keyOf(2));
    await rig.sweep();
    expect(await rig.noted()).to.equal(1);
    for (const jumpedMs of [601_000, -601_000]) {
      await rig.sweep({ ...systemClock, nowMs: () => systemClock.nowMs() + jumpedMs });
      expect(await rig.noted(), 'a clock that was set').to.equal(1);
    }
    await rig.sweep({ ...systemClock, monotonicMs: () => systemClock.monotonicMs() + 601_000 });
    expect(await rig.noted()).to.equal(0);
    await rig.stop();
  });

  for (const [how, sweepDuring] of [
    ['in place of a caller that failed', false],
    ['before the call of the same shred arrives', true],
  ] as const)
    it(`has its actor in every log, also where the shard commits it ${how}`, async () => {
      const rig = await newRig();
      const actor = { keyId: 'k1', onBehalfOf: 'u-17', requestId: 'r-1' };
      rig.onCommit = async (when, id) => {
        if (when === 'after' || id !== OTHER) return;
        if (sweepDuring) await rig.sweep();
        else throw unavailable('the shard is away');
      };
      await settled(rig.shred(KEY, actor));
      rig.onCommit = () => undefined;
      await rig.sweep();
      await expectDone(rig);
      for (const id of [ID, OTHER]) expect(await shredders(rig, id)).to.deep.equal([actor]);
      await rig.stop();
    });

  it('is finished although a collection was deleted meanwhile', async () => {
    const rig = await newRig();
    const stored = (await rig.vault.get(PROJECT, KEY))!;
    await rig.vault.replace(stored, { ...stored.entry, collectionIds: [ID, 99, OTHER] });
    await rig.shred(KEY);
    await expectDone(rig);
    await rig.stop();
  });

  /** The actors of the shreds in a log. */
  async function shredders(rig: EncryptedRig, id: number): Promise<unknown[]> {
    const page = { op: 'timeline', fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, after: 0, limit: 100 } as const;
    const { events } = (await rig.read(id, page)) as ProofResults['timeline'];
    return events.filter(({ type }) => type === 'shredKey').map(({ actor }) => actor);
  }

  async function expectDone(rig: EncryptedRig): Promise<void> {
    expect(rig.vault.peek(PROJECT, KEY)).to.deep.include({ status: 'shredded', wrapped: null, pendingIds: [] });
    for (const id of [ID, OTHER]) {
      await expectCode(rig.payload(id, 1), 'record_shredded');
      await expectCode(rig.collection(id).get(1), 'record_not_found');
    }
    expect(await rig.payload(ID, 2)).to.equal('another');
    expect(await rig.collection(ID).records()).to.equal(1);
    expect(await rig.collection(OTHER).records()).to.equal(0);
  }
});
