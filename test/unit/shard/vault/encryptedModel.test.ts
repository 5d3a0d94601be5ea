// Covers: shard/vault/recordVault.ts, shard/vault/collectionVault.ts, shard/state/encryptedRecords.ts
/**
 * Random writes to collections with vectors and encrypted records, many in one frame, compared with a model of the
 * contract.
 */
import { expect } from 'chai';
import { VouchError } from '../../../../shared/errors/errors.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { verifyFrames } from '../../../../verifier/log.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { EncryptedRig, keyOf, textOf } from '../../../support/rigs/encryptedRig.js';
import { DIMENSION, requestIdOf } from '../../../support/rigs/engine.js';

const IDS = [3, 4] as const;
const KEYS = Array.from({ length: 4 }, (_, n) => keyOf(n + 1));
const ROUNDS = 60;
/** An id that no record will have. */
const NEVER = 100_000;

interface Modelled {
  /** Null if the record has a vector. */
  readonly keyId: string | null;
  readonly payload: string;
  readonly tag: number;
  state: 'live' | 'tombstoned' | 'deleted';
}

class Model {
  readonly records = new Map<number, Modelled[]>(IDS.map((id) => [id, []]));
  readonly shredded = new Set<string>();

  of(collectionId: number): Modelled[] {
    return this.records.get(collectionId)!;
  }

  isLive({ keyId, state }: Modelled): boolean {
    return state === 'live' && !(keyId !== null && this.shredded.has(keyId));
  }
}

const codeOf = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    return await work;
  } catch (error) {
    expect(error).to.be.instanceOf(VouchError);
    return (error as VouchError).code;
  }
};

class Run {
  readonly model = new Model();
  readonly #touched = new Set<Modelled>();
  /** Keys that are shredded in this round, in unknown order with the other writes. */
  readonly #shredding = new Set<string>();
  /** Collection id → records before the round. */
  readonly #before = new Map<number, number>();

  constructor(
    readonly rig: EncryptedRig,
    private readonly random: SeededRandom,
  ) {}

  /** Makes one write, and asserts its outcome. The call is made at once, so that several join a frame. */
  write(): Promise<void> {
    const id = this.random.pick(IDS);
    const roll = this.random.next();
    if (roll < 0.4) return this.#insertEncrypted(id);
    if (roll < 0.55) return this.#insertVector(id);
    if (roll < 0.95) return this.#change(id, this.random.pick(['softDelete', 'delete', 'updateMetadata'] as const));
    return this.#shred(this.random.pick(KEYS));
  }

  async check(): Promise<void> {
    for (const id of IDS) {
      const records = this.model.of(id);
      expect(await this.rig.collection(id).records(), `live in ${id}`).to.equal(
        records.filter((record) => this.model.isLive(record)).length,
      );
      for (const [index, record] of records.entries()) await this.#checkRecord(id, index + 1, record);
      const found = await this.rig.collection(id).found();
      expect([...found].sort((a, b) => a - b)).to.deep.equal(
        records.flatMap((record, index) => (record.keyId === null && record.state === 'live' ? [index + 1] : [])),
      );
    }
  }

  async #checkRecord(id: number, recordId: number, record: Modelled): Promise<void> {
    const what = `record ${recordId} of ${id}: ${JSON.stringify(record)}`;
    const isLost = record.keyId !== null && this.model.shredded.has(record.keyId);
    const got = await codeOf(this.rig.collection(id).get(recordId));
    if (!this.model.isLive(record)) expect(got, what).to.equal('record_not_found');
    else expect(got, what).to.include({ id: recordId, tag: record.tag });
    if (this.model.isLive(record) && record.keyId !== null)
      expect((got as Results['get']).vector, what).to.deep.equal(new Uint8Array(4 * DIMENSION));
    const read = await codeOf(this.rig.read(id, { op: 'getEncrypted', id: recordId }));
    if (record.keyId === null || record.state !== 'live') expect(read, what).to.equal('record_not_found');
    else if (isLost) expect(read, what).to.equal('record_shredded');
    else expect(textOf((read as Results['getEncrypted']).payload), what).to.equal(record.payload);
  }

  async #insertEncrypted(id: number): Promise<void> {
    const keyId = this.random.next() < 0.7 ? this.random.pick(KEYS) : null;
    const payload = `p${this.random.int(1_000_000)}`;
    const tag = this.random.int(100);
    const before = this.model.shredded.has(keyId ?? '') && !this.#shredding.has(keyId ?? '');
    const answer = await codeOf(this.rig.insert(id, payload, { keyId, tag }));
    if (answer === 'validation_error') {
      // Refused because of a concurrent shred at the latest.
      expect(this.model.shredded.has(keyId ?? '')).to.equal(true);
      return;
    }
    expect(before, 'an insert under a shredded key').to.equal(false);
    const made = answer as Results['insertEncrypted'];
    if (keyId !== null) expect(made.keyId).to.equal(keyId);
    this.model.of(id)[made.id - 1] = { keyId: made.keyId, payload, tag, state: 'live' };
  }

  async #insertVector(id: number): Promise<void> {
    const tag = this.random.int(100);
    const { id: recordId } = await this.rig.collection(id).insert([tag, 1], { tag });
    this.model.of(id)[recordId - 1] = { keyId: null, payload: '', tag, state: 'live' };
  }

  async #change(id: number, op: 'softDelete' | 'delete' | 'updateMetadata'): Promise<void> {
    const records = this.model.of(id);
    const place = this.random.int(this.#before.get(id)! + 1);
    const record = place < this.#before.get(id)! ? records[place] : undefined;
    const recordId = record === undefined ? NEVER : place + 1;
    const isThere = record !== undefined && record.state !== 'deleted';
    const isLive = record !== undefined && this.model.isLive(record);
    // The model does not know the order within a frame, so it changes each record once in a round.
    if (record !== undefined && this.#touched.has(record)) return;
    if (record !== undefined) this.#touched.add(record);
    const call = op === 'updateMetadata' ? { op, id: recordId, metadata: Buffer.from('{}') } : { op, id: recordId };
    const answer = await codeOf(this.rig.write(id, call as Parameters<EncryptedRig['write']>[1]));
    const isUncertain = record?.state === 'live' && this.#shredding.has(record.keyId ?? '');
    if (isUncertain && op !== 'delete') {
      expect(typeof answer === 'object' || answer === 'record_not_found' || answer === 'validation_error').to.equal(
        true,
      );
      if (op === 'softDelete' && typeof answer === 'object') record.state = 'tombstoned';
    } else if (op === 'updateMetadata' && isLive && record.keyId !== null) expect(answer).to.equal('validation_error');
    else if (!(op === 'delete' ? isThere : isLive)) expect(answer).to.equal('record_not_found');
    else {
      expect(answer, `${op} of record ${recordId}`).to.be.an('object');
      if (op !== 'updateMetadata') record!.state = op === 'delete' ? 'deleted' : 'tombstoned';
    }
  }

  async #shred(keyId: string): Promise<void> {
    this.#shredding.add(keyId);
    this.model.shredded.add(keyId);
    await this.rig.shred(keyId);
  }

  /** Call only when no write is running. */
  newRound(): void {
    this.#touched.clear();
    this.#shredding.clear();
    for (const id of IDS) this.#before.set(id, this.model.of(id).length);
  }
}

describe('encrypted records, compared with a model', () => {
  it('agree with it after every round of writes and every restart, and with the verifier', async () => {
    const random = seededRandom(testSeed());
    const rig = new EncryptedRig(IDS);
    const run = new Run(rig, random);
    try {
      for (let round = 0; round < ROUNDS; round++) {
        run.newRound();
        await Promise.all(Array.from({ length: 1 + random.int(8) }, () => run.write()));
        if (round % 10 === 9) await rig.restart();
        await run.check();
      }
      for (const id of IDS) {
        const { receipt } = await rig.collection(id).insert([0, 0], { requestId: requestIdOf(id) });
        const report = await verifyFrames(rig.logs.frames(id));
        expect(report.refusal).to.equal(undefined);
        expect(toHex(report.state.stateHash)).to.equal(receipt.state_hash);
        expect(report.records.live).to.equal(await rig.collection(id).records());
        await rig.restart();
        expect(await rig.collection(id).replay(requestIdOf(id))).to.deep.equal(receipt);
      }
    } finally {
      await rig.stop();
    }
  });
});
