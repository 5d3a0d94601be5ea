// Covers: shard/audit/stateHash.ts
import { expect } from 'chai';
import { leafHash, RECORD_STATE } from '../../../../shard/audit/leaf.js';
import { makeReceipt, receiptJson, type WriteFacts } from '../../../../shard/audit/receipt.js';
import { StateTree } from '../../../../shard/audit/stateTree.js';
import { EMPTY_HASH, toHex } from '../../../../shared/hashing/hash.js';
import { nextChainHead } from '../../../../shared/log/chain.js';
import type { Receipt } from '../../../../shared/model/receipt.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';
import { readProof, verifyReceipt } from '../../../../verifier/receipt.js';
import type { RecordValues } from '../../../../verifier/records.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { History, type Write } from '../../../support/rigs/auditHistory.js';
import { RECORDS } from '../../../support/rigs/leafRecords.js';
import { linksOf, replayedLog } from '../../../support/rigs/replayedLog.js';

/** The insert of the seventh record, and then the deletion of the third. */
function sampleReceipts(): { inserted: Receipt; deleted: Receipt } {
  const tree = new StateTree();
  tree.append(Buffer.concat(RECORDS.map((values) => (values === 'deleted' ? EMPTY_HASH : leafHash(values)))));
  const facts: Omit<WriteFacts, 'recordId' | 'sequence' | 'timeMs'> = {
    chainHeadBefore: Buffer.alloc(32, 0x11),
    chainHead: nextChainHead(Buffer.alloc(32, 0x11), Buffer.alloc(32, 0x22), null),
    actor: null,
    eventHash: Buffer.alloc(32, 0x22),
    graphRoot: EMPTY_HASH,
    configHash: Buffer.alloc(32, 0x33),
  };
  const inserted = makeReceipt(
    { ...facts, recordId: 7, sequence: 12, timeMs: 1_700_000_009_999 },
    atOnce(tree.pastWrite(6, 7, 12)),
  );
  tree.change(2, EMPTY_HASH, 13);
  const deleted = makeReceipt(
    { ...facts, recordId: 3, sequence: 13, timeMs: 1_700_000_012_345 },
    atOnce(tree.pastWrite(2, 7, 13)),
  );
  return { inserted, deleted };
}

const INSERTED: Receipt = {
  record_id: 7,
  old_root: '84a31b957134aa4e465380ccb012de9b462a5ba8c9f6ba2414468edf2bdb61ac',
  new_root: '87abd1239c4d36bbccc3726a944ed83f670a4bf02a21d3033a1e4b2c60123735',
  proof: [
    'AQECAAAAAAAHAAAAAAAAAAcAAAAAAAAADAAAAAAAAAAPj-XPiwEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAdMTA',
    '4-DcWF2fSPzzj0_3zfg3T6tHqHKm2uL0pK3J96MRERERERERERERERERERERERERERERERERERERERERESIiIiIiIiIiIiIiIiIi',
    'IiIiIiIiIiIiIiIiIiIiIiIiAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMz',
    'MzMzMzMzM7j4OQd-r02HPBG-lg4exbWyQrbWImTVodxSwFmp1g1ADLT5ZZcSCaH4Caqtt_Jv50itylY85T-3ZXMZ-6BEYFY',
  ].join(''),
  sequence: 12,
  timestamp: 1700000009,
  state_hash: 'abf498daa0837e451dea28a559bca1b5792bb31c2b90cc771791c242cb621e9b',
};
const DELETED: Receipt = {
  record_id: 3,
  old_root: '87abd1239c4d36bbccc3726a944ed83f670a4bf02a21d3033a1e4b2c60123735',
  new_root: '907095bedc0cff005c2979ca0ee30ee9dbccdb4977866f0e040abdb22249598f',
  proof: [
    'AQIDAAAAAAADAAAAAAAAAAcAAAAAAAAADQAAAAAAAAA5mOXPiwEAAFkI3UJf53cXW-1itiUXk2xIJ_9eZfirWd3S8UDabWOkAAAA',
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAARERERERERERERERERERERERERERERERERERERERERESIiIiIiIiIiIiIiIiIi',
    'IiIiIiIiIiIiIiIiIiIiIiIiAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMz',
    'MzMzMzMzM-1bj7NuaMm1R7lubT5lGHSSxgZxHOc_6PJxsUDfhJbcYg7S4EL9oLDDMDco-8qn5oYqIoSXmfOam-VDYquNUE1JKhTd',
    'hu08PIYhuJ79uuN_GZCNI5dfCIXjn6FEhm0avw',
  ].join(''),
  sequence: 13,
  timestamp: 1700000012,
  state_hash: 'fcea1f06a738b9b55ccd52fc6275f5db013476674d24d346f163856f01a3f7d4',
};

const valuesOf = ({ record: values }: Pick<Write, 'record'>): RecordValues | 'deleted' =>
  values === 'deleted'
    ? 'deleted'
    : {
        ...values,
        state: values.state === RECORD_STATE.live ? 'live' : 'tombstoned',
        id: BigInt(values.id),
        tag: BigInt(values.tag),
        insertedMs: BigInt(values.insertedMs),
        expiresAtMs: null,
      };

describe('a receipt', () => {
  it('is made as documented, for an insert and for a change', () => {
    expect(sampleReceipts()).to.deep.equal({ inserted: INSERTED, deleted: DELETED });
  });

  it('has the JSON that JSON.stringify writes', async () => {
    const history = new History(seededRandom(testSeed()));
    while (history.writes.length < 100) await history.commit(5);
    for (const { receipt } of history.writes) expect(receiptJson(receipt)).to.equal(JSON.stringify(receipt));
  });

  it('verifies from its own bytes, and against the record', () => {
    const seventh = valuesOf({ record: RECORDS[6]! }) as RecordValues;
    expect(verifyReceipt(INSERTED)).to.deep.equal([]);
    expect(verifyReceipt(INSERTED, seventh)).to.deep.equal([]);
    expect(verifyReceipt(DELETED, 'deleted')).to.deep.equal([]);
    const other = 'it is not about this record';
    expect(verifyReceipt(INSERTED, 'deleted')).to.deep.equal([other]);
    for (const changed of [
      { state: 'tombstoned' as const },
      { id: 8n },
      { tag: 71n },
      { insertedMs: 0n },
      { vector: Uint8Array.of(8, 0, 1, 0) },
      { metadata: null },
      { metadata: Buffer.from('{}s'), text: Buffer.from('even') },
      { text: Buffer.alloc(0) },
    ])
      expect(verifyReceipt(INSERTED, { ...seventh, ...changed }), JSON.stringify(Object.keys(changed))).to.deep.equal([
        other,
      ]);
  });

  for (const [name, receipt] of [
    ['an insert', INSERTED],
    ['a change', DELETED],
  ] as const) {
    it(`for ${name} fails with any bit of the proof flipped`, () => {
      const bytes = Buffer.from(receipt.proof, 'base64url');
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        const forged = { ...receipt, proof: bytes.toString('base64url') };
        expect(verifyReceipt(forged), `bit ${bit}`).to.have.length.greaterThan(0);
        bytes[bit >> 3]! ^= 1 << (bit & 7);
      }
    });

    it(`for ${name} fails with the proof cut, lengthened or in another encoding`, () => {
      const bytes = Buffer.from(receipt.proof, 'base64url');
      for (let length = 0; length < bytes.length; length++)
        expect(verifyReceipt({ ...receipt, proof: bytes.subarray(0, length).toString('base64url') })).to.have.length(1);
      expect(verifyReceipt({ ...receipt, proof: Buffer.concat([bytes, bytes]).toString('base64url') })).to.have.length(
        1,
      );
      for (const written of [bytes.toString('base64'), `${receipt.proof}=`, `${receipt.proof} `, ''])
        expect(verifyReceipt({ ...receipt, proof: written }), written).to.have.length(1);
    });

    it(`for ${name} fails with any field changed`, () => {
      const flipped = (text: string): string => (text.startsWith('0') ? '1' : '0') + text.slice(1);
      for (const changed of [
        { record_id: receipt.record_id + 1 },
        { old_root: flipped(receipt.old_root) },
        { old_root: receipt.old_root.toUpperCase() },
        { new_root: flipped(receipt.new_root) },
        { sequence: receipt.sequence - 1 },
        { sequence: String(receipt.sequence) as unknown as number },
        { timestamp: receipt.timestamp + 1 },
        { timestamp: receipt.timestamp + 0.5 },
        { state_hash: flipped(receipt.state_hash) },
      ])
        expect(verifyReceipt({ ...receipt, ...changed }), JSON.stringify(changed)).to.have.length(1);
    });
  }

  it('does not verify with the proof of another write', () => {
    expect(verifyReceipt({ ...INSERTED, proof: DELETED.proof })).to.have.length.greaterThan(1);
    expect(verifyReceipt({ ...DELETED, old_root: INSERTED.old_root })).to.deep.equal([
      'the proof does not lead to old_root',
    ]);
  });
});

describe('a random history', () => {
  it("verifies, leads to the engine's state, and proves each write at any later time", async () => {
    const random = seededRandom(testSeed());
    const history = new History(random);
    while (history.writes.length < 400) await history.commit(1 + random.int(random.pick([1, 5, 60])));
    const frames = history.frames.map(({ bytes }) => bytes);
    const report = await replayedLog(frames);
    const links = linksOf(frames);
    const last = history.writes.at(-1)!.receipt;
    expect(report.problems).to.deep.equal([]);
    expect(report.sequence).to.equal(BigInt(history.writes.length));
    expect(report.stateRoot).to.equal(toHex(history.tree.root()));
    expect(report.stateRoot).to.equal(last.new_root);
    expect(report.stateHash).to.equal(last.state_hash);
    expect(report.configHash).to.equal(toHex(history.configHash));
    for (const [at, write] of history.writes.entries()) {
      expect(verifyReceipt(write.receipt, valuesOf(write)), `write ${at + 1}`).to.deep.equal([]);
      expect(history.receiptOf(write), `receipt of ${at + 1}, made later`).to.deep.equal(write.receipt);
      expect(write.receipt.old_root).to.equal(
        history.writes[at - 1]?.receipt.new_root ?? toHex(new StateTree().root()),
      );
      const proof = readProof(write.receipt.proof);
      const link = links[at + 1]!;
      expect(toHex(proof.eventHash), `event hash of ${at + 1}`).to.equal(toHex(link.eventHash));
      expect(toHex(proof.chainHeadBefore), `chain head before ${at + 1}`).to.equal(toHex(link.headBefore));
    }
  });

  it('does not verify with frames missing, repeated, swapped or cut', async () => {
    const history = new History(seededRandom(testSeed()));
    for (let i = 0; i < 4; i++) await history.commit(5);
    const [a, b, c, d] = history.frames.map(({ bytes }) => bytes) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    expect((await replayedLog([a, b, c, d])).problems).to.deep.equal([]);
    for (const frames of [[], [b, c, d], [a, c, d], [a, b, b], [a, c, b], [a, b, c, d.subarray(0, -1)]])
      expect((await replayedLog(frames)).problems).to.have.length(1);
  });
});
