// Covers: shard/kernel/assembly/signs.ts, shared/seededNumbers.ts
import { expect } from 'chai';
import { SignCoder, SignCodes, signCodeBytes, wholeGroups } from '../../../../shard/kernel/signCodes.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { MAX, MIN, randomVector } from './kernelOracle.js';

const random = seededRandom(testSeed());
const squares = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value ** 2, 0);
const differences = (one: Int32Array, other: Int32Array): number[] => Array.from(one, (value, i) => value - other[i]!);

describe('sign codes', () => {
  for (const dimension of [1, 3, 63, 64, 100, 128, 192, 768, 1_000, 4_096]) {
    it(`come from a rotation that keeps lengths and products, at ${dimension} dimensions`, () => {
      const coder = new SignCoder(dimension);
      const origin = randomVector(random, dimension, 2 ** 20);
      const [one, other] = [0, 1].map(() => randomVector(random, dimension, 2 ** 24));
      const [a, b] = [one!, other!].map((vector) => coder.rotated(vector, origin));
      const lengths = [differences(one!, origin), differences(other!, origin)].map(squares);
      const near = 1e-4 * Math.sqrt(lengths[0]! * lengths[1]!);
      expect(squares(a!)).to.be.closeTo(lengths[0]!, 1e-4 * lengths[0]!);
      const product = a!.reduce((sum, value, i) => sum + value * b![i]!, 0);
      const [x, y] = [differences(one!, origin), differences(other!, origin)];
      expect(product).to.be.closeTo(
        x!.reduce((sum, value, i) => sum + value * y![i]!, 0),
        near,
      );
      const spike = origin.slice();
      spike[dimension - 1]! += 2 ** 20;
      const spread = coder.rotated(spike, origin);
      expect(Math.max(...spread.map(Math.abs)) / 2 ** 20).to.be.below(8 / Math.sqrt(spread.length));
    });
  }

  it('contain the sign of each rotated component, the norm and the factor, over the whole range', () => {
    for (const bound of [1, 1_000, 2 ** 20, 2 ** 31]) {
      const dimension = 100;
      const coder = new SignCoder(dimension);
      const vector = randomVector(random, dimension, bound);
      const origin = bound === 2 ** 31 ? vector.map((value) => (value < 0 ? MAX : MIN)) : new Int32Array(dimension);
      const rotated = coder.rotated(vector, origin);
      const code = coder.encode(vector, origin).slice();
      for (const [i, value] of rotated.entries()) expect((code[i >> 3]! >> (i & 7)) & 1).to.equal(Number(value >= 0));
      const [norm = 0, factor = 0] = new Float32Array(code.slice(rotated.length / 8).buffer);
      const sizes = rotated.reduce((sum, value) => sum + Math.abs(value), 0);
      expect(norm).to.be.closeTo(squares(rotated), 1e-4 * norm);
      expect(factor).to.be.closeTo(norm / sizes, 1e-4 * factor);
    }
    const nothing = new SignCoder(5).encode(new Int32Array(5), new Int32Array(5));
    expect([...nothing.subarray(-8)]).to.deep.equal(new Array(8).fill(0));
  });

  it('are read as they were written', () => {
    const [rows, codeBytes] = [wholeGroups(50), signCodeBytes(70)];
    const codes = new SignCodes(new SharedArrayBuffer(64 + rows * codeBytes), 64, rows, codeBytes);
    const written = Array.from({ length: rows }, () => Uint8Array.from({ length: codeBytes }, () => random.int(256)));
    for (const [row, code] of written.entries()) codes.write(row, code);
    for (const [row, code] of written.entries()) {
      const read = new Uint8Array(codeBytes);
      codes.read(row, read);
      expect(read).to.deep.equal(code);
    }
  });
});
