// Covers: shared/limits.ts, verifier/storedVector.ts
import { expect } from 'chai';
import {
  dequantise,
  inScale,
  normaliseInto,
  quantise,
  quantiseInto,
  searchedDistance,
  shownDistances,
} from '../../../shared/fixedPoint.js';
import { FIXED_ONE, VALUE_MAX, VALUE_MIN } from '../../../shared/limits.js';
import { storedVectors } from '../../../verifier/storedVector.js';
import { seededRandom, testSeed } from '../../support/model/random.js';
import { unitSteps } from '../../support/model/unitVector.js';
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
    expect(dequantise(shifted.subarray(1), 'plain')).to.deep.equal(
      [...components].map((quanta) => Math.fround(quanta / FIXED_ONE)),
    );
  });
});

describe('a vector divided by its length', () => {
  const random = seededRandom(testSeed());
  const ONE = 2 ** 20;
  const normalised = (values: ArrayLike<number>): number[] => {
    const target = new Int32Array(values.length + 2).fill(7);
    expect(normaliseInto(values, target, 1)).to.equal(true);
    expect([target[0], target.at(-1)]).to.deep.equal([7, 7]);
    return [...target.subarray(1, -1)];
  };
  const values = (dimension: number, size: () => number): number[] =>
    Array.from({ length: dimension }, () => (random.next() * 2 - 1) * size());

  it('has the components that exact arithmetic gives, rounded once an operation', () => {
    const sizes = [() => 1, () => 32_768, () => 2 ** -random.int(60), () => 2 ** -random.int(1_070), () => 5e-324];
    for (let round = 0; round < 300; round++) {
      const given = values(1 + random.int(20), sizes[round % sizes.length]!);
      if (given.some((value) => value !== 0)) expect(normalised(given), `${given}`).to.deep.equal(unitSteps(given));
    }
  });

  it('rounds halves to even', () => {
    for (const [steps, stored] of [
      [1, 0],
      [3, 2],
      [5, 2],
      [7, 4],
      [-1, 0],
      [-3, -2],
      [1_048_573, 524_286],
    ] as const) {
      // The sum of squares is 2^42, so the length is 2^21 steps, and each step half a component.
      const given = [steps, ...fourSquares(2 ** 42 - steps ** 2)].map((value) => value / 128);
      expect(normalised(given)[0], `${steps}`).to.equal(stored);
      expect(unitSteps(given)[0], `${steps}`).to.equal(stored);
    }
  });

  it('is 1 or less in each component, whatever its size', () => {
    for (const [given, stored] of [
      [[32_767.99998], [ONE]],
      [
        [-32_768, 0],
        [-ONE, 0],
      ],
      [
        [3, 4],
        [629_146, 838_861],
      ],
      [[5e-324], [ONE]],
      [
        [5e-324, -5e-324],
        [741_455, -741_455],
      ],
      [
        [1e-300, 32_767],
        [0, ONE],
      ],
      [
        [1e-154, 1e-160],
        [ONE, 1],
      ],
    ] as const)
      expect(normalised(given), `${given}`).to.deep.equal(stored);
    const equal = normalised(new Float64Array(32_768).fill(32_767));
    expect(new Set(equal)).to.deep.equal(new Set([5_793]));
  });

  it('is the same for every multiple by a power of two', () => {
    for (let round = 0; round < 100; round++) {
      const given = values(8, () => 1);
      for (const power of [-900, -500, -20, 14])
        expect(normalised(given.map((value) => value * 2 ** power))).to.deep.equal(normalised(given));
    }
  });

  it('cannot be made of zeros alone', () => {
    const target = Int32Array.of(1, 2);
    expect(normaliseInto([0, -0], target, 0)).to.equal(false);
    expect([...target]).to.deep.equal([1, 2]);
  });

  it('is what the verifier makes of the values, which also reads what is shown', () => {
    for (let round = 0; round < 300; round++) {
      const given = values(1 + random.int(20), () => 2 ** (15 - random.int(1_000)));
      const stored = bytesOf(Int32Array.from(normalised(given)));
      expect([...storedVectors(given)][1]).to.deep.equal(stored);
      expect([...storedVectors(dequantise(stored, 'unit'))].at(-1)).to.deep.equal(stored);
    }
    expect([...storedVectors([0, 0])]).to.have.length(2);
  });

  it('changes between scales as a record that is a query elsewhere', () => {
    const [plain, unit] = [bytesOf(quantise([3, 4])), bytesOf(Int32Array.of(629_146, 838_861))];
    expect(inScale(plain, 'plain', 'plain')).to.equal(plain);
    expect(inScale(plain, 'plain', 'unit')).to.deep.equal(unit);
    expect(inScale(unit, 'unit', 'plain')).to.deep.equal(bytesOf(Int32Array.of(39_322, 52_429)));
    expect(inScale(bytesOf(quantise([0, 0])), 'plain', 'unit')).to.equal(undefined);
  });

  it('is measured in distances that are shown divided by 256', () => {
    const distances = (): Float64Array => Float64Array.of(0, 1, 1_024, 2 ** -32);
    expect([...shownDistances(distances(), 'unit')]).to.deep.equal([0, 1 / 256, 4, 2 ** -40]);
    expect([...shownDistances(distances(), 'plain')]).to.deep.equal([...distances()]);
    expect([searchedDistance(4, 'unit'), searchedDistance(4, 'plain')]).to.deep.equal([1_024, 4]);
    expect(searchedDistance(Number.MAX_VALUE, 'unit')).to.equal(Number.MAX_VALUE);
  });
});

/** Whole numbers whose squares add up to `sum`. The first is nearly its root, so that few are tried for the others. */
function fourSquares(sum: number): number[] {
  for (let a = Math.floor(Math.sqrt(sum)); ; a--) {
    const rest = sum - a * a;
    for (let b = Math.floor(Math.sqrt(rest)); b >= 0 && b > Math.sqrt(rest) - 8; b--)
      for (let c = 0; c * c <= rest - b * b; c++) {
        const d = Math.sqrt(rest - b * b - c * c);
        if (Number.isInteger(d)) return [a, b, c, d];
      }
  }
}
