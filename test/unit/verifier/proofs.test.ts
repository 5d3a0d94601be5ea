// Covers: verifier/logProofs.ts, verifier/claims.ts, verifier/checkpoint.ts, verifier/exportClaims.ts
import { expect } from 'chai';
import { toHex } from '../../../verifier/bytes.js';
import { verifyCheckpoint } from '../../../verifier/checkpoint.js';
import { type ClaimResult, Claims } from '../../../verifier/claims.js';
import { stateBefore } from '../../../verifier/exportClaims.js';
import { verifyFrames } from '../../../verifier/log.js';
import { verifyConsistency, verifyInclusion } from '../../../verifier/logProofs.js';
import { oldRootOf, readProof, verifyReceipt, type WriteReceipt } from '../../../verifier/receipt.js';
import { drawnOneIn, seededRandom, testSeed } from '../../support/model/random.js';
import { History } from '../../support/rigs/auditHistory.js';
import { flippedCheckpoints } from '../../support/rigs/flippedCheckpoints.js';
import {
  PUBLIC_KEY,
  rootAt,
  signed,
  writeCheckpoint,
  writeConsistency,
  writeInclusion,
  writeLog,
} from '../../support/rigs/writtenLog.js';

const log = writeLog();
const SIZE = log.events.length;

/** The proof in every form with one bit flipped. */
function* flipped(proof: string): Generator<string> {
  const bytes = Buffer.from(proof, 'base64url');
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    yield bytes.toString('base64url');
    bytes[bit >> 3]! ^= 1 << (bit & 7);
  }
}

/** Yields the proof cut, lengthened, and in another encoding. */
function* misshapen(proof: string): Generator<string> {
  const bytes = Buffer.from(proof, 'base64url');
  for (let length = 0; length < bytes.length; length++) yield bytes.subarray(0, length).toString('base64url');
  yield Buffer.concat([bytes, Buffer.alloc(32, 1)]).toString('base64url');
  yield* [`${proof}=`, `${proof} `, `${proof}A`];
}

const flippedHex = (hex: string): string => (hex.startsWith('0') ? '1' : '0') + hex.slice(1);
const otherHexes = (hex: string): string[] => [flippedHex(hex), hex.toUpperCase(), hex.slice(2), `${hex}00`, ''];
const otherNumbers = (value: number): unknown[] => [
  value + 1,
  value - 1,
  value + 0.5,
  String(value),
  null,
  undefined,
  -1,
];

describe('the verifier of log proofs', () => {
  it('accepts an inclusion proof of every event in every log that has it', () => {
    for (let size = 1; size <= SIZE; size++)
      for (let sequence = 0; sequence < size; sequence++)
        expect(verifyInclusion(writeInclusion(log, sequence, size)).chainHead).to.deep.equal(log.chainHeads[sequence]);
  });

  it('refuses an inclusion proof with any field changed, and any bit of the proof', () => {
    for (const [sequence, size] of [
      [0, 1],
      [3, 13],
      [SIZE - 1, SIZE],
    ] as const) {
      const proof = writeInclusion(log, sequence, size);
      const wrong: object[] = [
        ...otherNumbers(sequence).map((value) => ({ sequence: value })),
        ...otherNumbers(size).map((value) => ({ size: value })),
        ...otherHexes(proof.root).map((root) => ({ root })),
        ...[...flipped(proof.proof), ...misshapen(proof.proof)].map((text) => ({ proof: text })),
      ];
      for (const change of wrong)
        expect(() => verifyInclusion({ ...proof, ...change }), JSON.stringify(change)).to.throw();
    }
  });

  it('accepts a consistency proof of every log and every later one', () => {
    for (let to = 0; to <= SIZE; to++)
      for (let from = 0; from <= to; from++) {
        const { root } = verifyConsistency(writeConsistency(log, from, to)).to;
        expect(toHex(root)).to.equal(rootAt(log, to));
      }
  });

  it('refuses a consistency proof with any field changed, and any bit of the proof', () => {
    for (const [from, to] of [
      [4, 11],
      [7, SIZE],
      [8, 16],
      [5, 5],
    ] as const) {
      const proof = writeConsistency(log, from, to);
      const wrong: object[] = [...flipped(proof.proof), ...misshapen(proof.proof)].map((text) => ({ proof: text }));
      for (const end of ['from', 'to'] as const) {
        const at = proof[end];
        for (const sequence of otherNumbers(at.sequence)) wrong.push({ [end]: { ...at, sequence } });
        for (const size of otherNumbers(at.size)) wrong.push({ [end]: { ...at, size } });
        for (const root of otherHexes(at.root)) wrong.push({ [end]: { ...at, root } });
        // A well-formed claim about another log.
        for (const [size, root] of [
          [at.size + 1, rootAt(log, at.size)],
          [at.size - 1, rootAt(log, at.size)],
        ] as const)
          wrong.push({ [end]: { sequence: size - 1, size, root } });
        wrong.push({ [end]: null });
      }
      for (const change of wrong)
        expect(() => verifyConsistency({ ...proof, ...change }), JSON.stringify(change)).to.throw();
    }
  });

  it('refuses garbage', () => {
    const random = seededRandom(testSeed());
    const inclusion = writeInclusion(log, 3, 13);
    const consistency = writeConsistency(log, 7, SIZE);
    for (let round = 0; round < 1000; round++) {
      const proof = Buffer.from([1, ...Array.from({ length: 32 * random.int(8) }, () => random.int(256))]);
      expect(() => verifyInclusion({ ...inclusion, proof: proof.toString('base64url') })).to.throw();
      expect(() => verifyConsistency({ ...consistency, proof: proof.toString('base64url') })).to.throw();
    }
    for (const json of [null, 7, 'proof', [], {}, { proof: 'AQ' }]) {
      expect(() => verifyInclusion(json)).to.throw();
      expect(() => verifyConsistency(json)).to.throw();
      expect(() => verifyCheckpoint(json)).to.throw();
    }
  });
});

describe('the verifier of checkpoints', () => {
  it('accepts a signed checkpoint, under the known key only', async () => {
    const checkpoint = await writeCheckpoint(log, SIZE);
    expect(verifyCheckpoint(checkpoint)).to.include({ size: BigInt(SIZE), publicKey: PUBLIC_KEY });
    expect(verifyCheckpoint(checkpoint, PUBLIC_KEY).root).to.equal(rootAt(log, SIZE));
    expect(() => verifyCheckpoint(checkpoint, flippedHex(PUBLIC_KEY))).to.throw(/another key/);
  });

  it('refuses a checkpoint with one bit of its text, signature or key flipped, for one bit in eight', async () => {
    for (const { bit, checkpoint } of drawnOneIn(8, [...flippedCheckpoints(await writeCheckpoint(log, SIZE))]))
      expect(() => verifyCheckpoint(checkpoint), bit).to.throw();
  });

  it('refuses a checkpoint whose signature or key is another or in another form, or whose key_id is cut', async () => {
    const checkpoint = await writeCheckpoint(log, SIZE);
    for (const field of ['signature', 'public_key'] as const)
      for (const hex of otherHexes(checkpoint[field]))
        expect(() => verifyCheckpoint({ ...checkpoint, [field]: hex }), `${field} ${hex}`).to.throw();
    expect(() => verifyCheckpoint({ ...checkpoint, key_id: checkpoint.key_id.slice(1) })).to.throw(/key_id/);
  });

  it('refuses a signed text that is not a checkpoint', async () => {
    const { checkpoint } = await writeCheckpoint(log, SIZE);
    for (const text of [
      checkpoint.replace('v1', 'v2'),
      checkpoint.trimEnd(),
      `${checkpoint}\n`,
      checkpoint.replace(`\n${SIZE}\n`, `\n0${SIZE}\n`),
      checkpoint.replace('/17/', '/'),
      checkpoint.replaceAll('\n', '\r\n'),
      checkpoint.toUpperCase(),
    ])
      expect(() => verifyCheckpoint(signed(text)), JSON.stringify(text)).to.throw(/not that of a checkpoint/);
  });
});

describe('the verifier of claims against a log', () => {
  it("accepts the log's receipts and checkpoints of any time, and refuses those of another log", async () => {
    const [history, other] = [new History(seededRandom(7)), new History(seededRandom(8))];
    for (let i = 0; i < 6; i++) await history.commit(4);
    for (let i = 0; i < 6; i++) await other.commit(4);
    const own = await claimed(history, (claims) => {
      for (const { receipt } of history.writes) claims.addReceipt('own', { id: receipt.record_id, receipt });
    });
    expect(own.flatMap(({ problems }) => problems)).to.deep.equal([]);
    expect(own).to.have.length(history.writes.length);
    const foreign = await claimed(history, (claims) => {
      for (const { receipt } of other.writes) claims.addReceipt('other', receipt);
      claims.addReceipt('broken', { ...history.writes[0]!.receipt, sequence: 3 });
      claims.addReceipt('none', { proof: 7 });
    });
    for (const { about, problems } of foreign) expect(problems, about).to.not.deep.equal([]);
  });

  it('refuses a receipt with a made-up old root that is consistent in itself', async () => {
    const history = new History(seededRandom(7));
    for (let i = 0; i < 6; i++) await history.commit(4);
    const write = history.writes.find(({ receipt }) => Buffer.from(receipt.proof, 'base64url')[1] === 2)!;
    const bytes = Buffer.from(write.receipt.proof, 'base64url');
    bytes[40]! ^= 1;
    const forged: WriteReceipt = { ...write.receipt, proof: bytes.toString('base64url'), old_root: '' };
    const old_root = toHex(oldRootOf(readProof(forged.proof)));
    expect(verifyReceipt({ ...forged, old_root })).to.deep.equal([]);
    const [result] = await claimed(history, (claims) => claims.addReceipt('forged', { ...forged, old_root }));
    expect(result?.problems).to.deep.equal(['old_root is not the state root of the log before the event']);
  });

  it('compares checkpoints of any size with the log', async () => {
    const report = async (add: (claims: Claims) => void): Promise<readonly ClaimResult[]> => {
      const claims = new Claims();
      add(claims);
      const found = await verifyFrames(
        log.frames.map(({ bytes }) => bytes),
        { watches: claims.watches },
      );
      const genesis = found.genesis!;
      return claims.results(found, { genesis, state: stateBefore(genesis) });
    };
    for (let size = 0; size <= SIZE; size++) {
      const checkpoint = await writeCheckpoint(log, size);
      const [result] = await report((claims) => claims.addCheckpoint('own', checkpoint, PUBLIC_KEY));
      expect(result?.problems, `size ${size}`).to.deep.equal([]);
      const lines = checkpoint.checkpoint.split('\n');
      // Signed, but of no existing log: one changed line at a time.
      for (const line of [1, 2, 3, 4, 5]) {
        if (size === 0 && line === 4) continue;
        const changed = lines.map((text, i) => (i === line ? otherLine(text) : text)).join('\n');
        const [forged] = await report((claims) => claims.addCheckpoint('forged', signed(changed)));
        expect(forged?.problems, `size ${size}, line ${line}`).to.not.deep.equal([]);
      }
    }
  });
});

/** Another size, or another last digit of a hash. */
const otherLine = (text: string): string =>
  /^\d{1,2}$/.test(text) ? String(Number(text) + 1) : text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');

async function claimed(history: History, add: (claims: Claims) => void): Promise<readonly ClaimResult[]> {
  const claims = new Claims();
  add(claims);
  const frames = history.frames.map(({ bytes }) => bytes);
  return claims.results(await verifyFrames(frames, { watches: claims.watches }), undefined);
}
