import { expect } from 'chai';
import { TopK } from '../../../../shard/kernel/topK.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('the k items of the smallest keys', () => {
  const random = seededRandom(testSeed());

  it('are the first of a sort by key, tie, and the given order', () => {
    for (let round = 0; round < 300; round++) {
      const names = Float64Array.from({ length: random.int(200) }, () => random.next());
      const offers = [...names.keys()].map((item) => ({ item, key: random.int(6) - 3, tie: random.int(4) }));
      const k = random.pick([0, 1, 2, 7, 50, 300]);
      const best = new TopK(k, (item, other) => names[item]! < names[other]!);
      for (const { item, key, tie } of offers) best.offer(item, key, tie);
      const expected = offers
        .sort((a, b) => a.key - b.key || a.tie - b.tie || names[a.item]! - names[b.item]!)
        .slice(0, k);
      const { items, keys, ties } = best.sorted();
      expect([...items]).to.deep.equal(expected.map(({ item }) => item));
      expect([...keys]).to.deep.equal(expected.map(({ key }) => key));
      expect([...ties]).to.deep.equal(expected.map(({ tie }) => tie));
    }
  });

  it('define the bound that further items must be below', () => {
    const best = new TopK(2);
    expect([best.worst, best.worstTie]).to.deep.equal([Infinity, Infinity]);
    best.offer(7, 3, 1);
    expect(best.worst).to.equal(Infinity);
    best.offer(8, 5, 4);
    expect([best.worst, best.worstTie]).to.deep.equal([5, 4]);
    best.offer(9, 5, 4);
    best.offer(6, 5, 2);
    expect([best.worst, best.worstTie]).to.deep.equal([5, 2]);
    expect([...best.sorted().items]).to.deep.equal([7, 6]);
  });
});
