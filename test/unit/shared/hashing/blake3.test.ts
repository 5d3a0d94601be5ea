// Covers: shared/hashing/blake3.ts, shared/hashing/hash.ts, shared/hashing/longHash.ts, shared/hashing/assembly/index.ts
/** BLAKE3 of short messages through the package's WebAssembly, and of long ones in lanes, compared with the package. */
import blake3 from 'blake3';
import { expect } from 'chai';
import { hash, hashInto, hashSteps, hashTogetherInto, toHex } from '../../../../shared/hashing/hash.js';
import { LONG_BYTES, TOGETHER_BYTES_MAX } from '../../../../shared/hashing/longHash.js';
import { HASH_BYTES } from '../../../../shared/limits.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

/** Lengths around the limits of blocks (64 bytes) and chunks (1,024 bytes). */
const LENGTHS = [0, 1, 63, 64, 65, 127, 128, 129, 1_023, 1_024, 1_025, 2_048, 2_049, 4_097, 65_536, 102_400];
/** Lengths around each whole number of chunks up to two pieces of 64 chunks. */
const AROUND = [-65, -1, 0, 1, 64];
const CHUNKS_MAX = 129;
const ROUNDS = 500;
const MESSAGE_BYTES_MAX = 16_384;
/** More than the initial memory of the module. */
const LARGE_BYTES = 20 << 20;

const expected = (message: Uint8Array): string => blake3.hash(message).toString('hex');

const PIECE_BYTES = 65_536;

/** The hash that is taken in steps, with `between` called after each. */
function inSteps(message: Uint8Array, between: () => unknown = () => undefined): string {
  const steps = hashSteps(message);
  let hashed = 0;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done) {
      expect(hashed).to.equal(message.length);
      return toHex(step.value);
    }
    hashed += step.value;
    between();
  }
}

describe('the BLAKE3 hash', () => {
  it('is the published one for no bytes', () => {
    expect(toHex(hash(new Uint8Array()))).to.equal('af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262');
  });

  it("equals the package's hash at every length around a limit", () => {
    for (const length of LENGTHS) {
      const message = Uint8Array.from({ length }, (_, i) => i % 251);
      expect(toHex(hash(message)), `${length} bytes`).to.equal(expected(message));
    }
  });

  it("equals the package's hash around each number of chunks, at once and in steps", () => {
    const bytes = Uint8Array.from({ length: (CHUNKS_MAX + 1) * 1_024 }, (_, i) => (i * i) % 253);
    for (let chunks = 2; chunks <= CHUNKS_MAX; chunks++)
      for (const length of AROUND.map((by) => chunks * 1_024 + by)) {
        const message = bytes.subarray(0, length);
        expect(toHex(hash(message)), `${length} bytes`).to.equal(expected(message));
        if (length >= LONG_BYTES) expect(inSteps(message), `${length} bytes in steps`).to.equal(expected(message));
      }
  });

  it('is not changed by other hashes between the steps of a long message', () => {
    const random = seededRandom(testSeed());
    const bytes = Uint8Array.from({ length: 20 * PIECE_BYTES }, () => random.int(256));
    for (let pieces = 1; pieces <= 20; pieces++) {
      const message = bytes.subarray(0, pieces * PIECE_BYTES - random.int(PIECE_BYTES / 2));
      const step = (): unknown => hash(bytes.subarray(0, random.int(3 * PIECE_BYTES)));
      expect(inSteps(message, step), `${message.length} bytes`).to.equal(expected(message));
    }
  });

  it("equals the package's hash for views of any offset and length, one after another", () => {
    const random = seededRandom(testSeed());
    const bytes = Uint8Array.from({ length: 2 * MESSAGE_BYTES_MAX }, () => random.int(256));
    for (let round = 0; round < ROUNDS; round++) {
      const from = random.int(MESSAGE_BYTES_MAX);
      const message = bytes.subarray(from, from + random.int(MESSAGE_BYTES_MAX));
      expect(toHex(hash(message))).to.equal(expected(message));
    }
  });

  it("equals the package's hash for each of four messages together, at every length", () => {
    const random = seededRandom(testSeed());
    const bytes = Uint8Array.from({ length: 8 * TOGETHER_BYTES_MAX }, () => random.int(256));
    const lengths = [...LENGTHS, ...Array.from({ length: ROUNDS }, () => random.int(TOGETHER_BYTES_MAX))];
    for (const length of [...lengths, TOGETHER_BYTES_MAX].filter((length) => length <= TOGETHER_BYTES_MAX)) {
      const starts = Array.from({ length: 4 }, () => random.int(bytes.length - length));
      const target = new Uint8Array(5 * HASH_BYTES);
      hashTogetherInto(bytes, starts, length, { target, at: HASH_BYTES });
      const hashes = starts.map((start) => expected(bytes.subarray(start, start + length))).join('');
      expect(toHex(target), `${length} bytes`).to.equal('00'.repeat(HASH_BYTES) + hashes);
    }
  });

  it('fills only its 32 bytes of the target, which may be the message', () => {
    const message = Uint8Array.from({ length: 100 }, (_, i) => i);
    const before = message.slice();
    hashInto(message, message, 10);
    expect(toHex(message.subarray(10, 10 + HASH_BYTES))).to.equal(expected(before));
    expect(message.subarray(0, 10)).to.deep.equal(before.subarray(0, 10));
    expect(message.subarray(10 + HASH_BYTES)).to.deep.equal(before.subarray(10 + HASH_BYTES));
  });

  it("is not changed by later hashes, even if the module's memory grows", () => {
    const small = new Uint8Array(65).fill(7);
    const first = hash(small);
    const large = new Uint8Array(LARGE_BYTES).fill(3);
    expect(toHex(hash(large))).to.equal(expected(large));
    expect(toHex(first)).to.equal(expected(small));
    expect(toHex(hash(small))).to.equal(expected(small));
  });
});
