import { expect } from 'chai';
import { spread } from '../../../../shard/kernel/spread.js';

const order = (count: number): number[] => [...spread(count)];

describe('a spread order', () => {
  it('contains each number once', () => {
    for (const count of [0, 1, 2, 3, 7, 8, 9, 100, 1_025]) {
      const sorted = order(count).sort((a, b) => a - b);
      expect(sorted).to.deep.equal(Array.from({ length: count }, (_, number) => number));
    }
  });

  it('proceeds through halves, then quarters', () => {
    expect(order(8)).to.deep.equal([0, 4, 2, 6, 1, 5, 3, 7]);
    expect(order(6)).to.deep.equal([0, 4, 2, 1, 5, 3]);
  });
});
