import { expect } from 'chai';
import { dequantise, quantise, quantiseInto } from '../../../shared/fixedPoint.js';
import { FIXED_ONE, VALUE_MAX, VALUE_MIN } from '../../../shared/limits.js';
import { seededRandom, testSeed } from '../../support/model/random.js';
import { bytesOf } from '../shard/kernel/kernelOracle.js';

describe('fixed point conversion', () => {
  const random = seededRandom(testSeed());

  it('rounds half to even', () => {
    const halves = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 32_767.5, 65_536.5].map((quanta) => quanta / FIXED_ONE);
    expect([...quantise(halves)]).to.deep.equal([0, 2, 2, 0, -2, -2, 32_768, 65_536]);
  });

  it('rounds to the nearest', () => {
    for (let i = 0; i < 10_000; i++) {
      const value = (random.next() * 2 - 1) * 2 ** (random.int(60) - 44);
      const [quanta] = quantise([value]);
      expect(Math.abs(quanta! - value * FIXED_ONE), `${value}`).to.be.at.most(0.5);
    }
  });

  it('covers the whole range', () => {
    expect([...quantise([VALUE_MIN, VALUE_MAX, 0, -0])]).to.deep.equal([-(2 ** 31), 2 ** 31 - 1, 0, 0]);
  });

  it('writes at an offset', () => {
    const target = new Int32Array(5).fill(7);
    quantiseInto([1, -1], target, 2);
    expect([...target]).to.deep.equal([7, 7, 65_536, -65_536, 7]);
  });

  it('returns the nearest f32, from any alignment', () => {
    const components = Int32Array.of(1, -1, 65_536, 2 ** 31 - 1, -(2 ** 31), 2 ** 24 + 1);
    const shifted = new Uint8Array(components.byteLength + 1);
    shifted.set(bytesOf(components), 1);
    expect(dequantise(shifted.subarray(1))).to.deep.equal(
      [...components].map((quanta) => Math.fround(quanta / FIXED_ONE)),
    );
  });
});
