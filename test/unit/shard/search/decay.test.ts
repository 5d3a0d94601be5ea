// Covers: shard/search/found.ts
import { expect } from 'chai';
import { aged, ageFactor, ageFactorMost, ageSecs } from '../../../../shard/search/decay.js';
import { distanceOf } from '../../../../shard/search/found.js';

describe('the age of a record', () => {
  it('is counted in whole seconds, and is 0 for a record from the future', () => {
    expect(ageSecs(10_000, 10_000)).to.equal(0);
    expect(ageSecs(10_999, 10_000)).to.equal(0);
    expect(ageSecs(11_000, 10_000)).to.equal(1);
    expect(ageSecs(10_000, 10_001)).to.equal(0);
    expect(ageSecs(10_000, 99_000)).to.equal(0);
  });

  it('halves the factor at each half-life', () => {
    expect([0, 1, 2, 3, 10].map((halfLives) => ageFactor(60 * halfLives, 60))).to.deep.equal([
      1,
      1 / 2,
      1 / 4,
      1 / 8,
      2 ** -10,
    ]);
    expect(ageFactor(30, 60)).to.be.closeTo(Math.SQRT1_2, 1e-15);
  });

  it('keeps the factor above 0, and every distance finite', () => {
    const factors = [ageFactor(1e12, 1), ageFactor(1e12, 1e-300), ageFactor(1, Number.MIN_VALUE)];
    expect(factors).to.deep.equal([2 ** -900, 2 ** -900, 2 ** -900]);
    // The largest score: 32,768 components that differ by almost 2^32 quanta.
    expect(2 ** 47 / 2 ** -900).to.be.below(Number.MAX_VALUE);
    expect(ageFactor(0, Number.MIN_VALUE)).to.equal(1);
    expect(ageFactor(1, 1e300)).to.equal(1);
  });

  it('has an upper bound that is close to its factor, and never less', () => {
    for (let age = 0; age < 200_000; age += 7) {
      const factor = ageFactor(age, 123);
      const bound = ageFactorMost(age, 123);
      expect(bound * (1 + 2 ** -50)).to.be.at.least(factor);
      expect(bound).to.be.at.most(1.07 * factor);
    }
    expect(ageFactorMost(1e12, 1e-300)).to.equal(2 ** -900);
    expect(ageFactorMost(0, 1)).to.equal(1);
  });

  it('doubles the distance of a hit that is one half-life old, and keeps its score', () => {
    const hits = { ids: Float64Array.of(7, 8), slots: Uint32Array.of(0, 1), scores: Float64Array.of(3, 5) };
    const found = aged(hits, { of: (slot) => 1_000_000 - 60_000 * slot }, { nowMs: 1_000_999, halfLifeSecs: 60 });
    expect([...found.scores]).to.deep.equal([3, 5]);
    expect([...found.aged!.agesSecs]).to.deep.equal([0, 60]);
    expect([...found.aged!.factors]).to.deep.equal([1, 0.5]);
    expect([distanceOf(found, 0), distanceOf(found, 1)]).to.deep.equal([3, 10]);
  });
});
