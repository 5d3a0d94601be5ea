import { expect } from 'chai';
import { IntervalSet } from '../../../../shard/state/intervalSet.js';
import { seededRandom } from '../../../soak/random.js';

describe('a set of intervals', () => {
  const COUNT = 50_000;
  const orders: [string, (i: number) => number][] = [
    ['ascending', (i) => i],
    ['descending', (i) => COUNT - 1 - i],
    ['from both ends', (i) => (i % 2 === 0 ? i / 2 : COUNT - 1 - (i - 1) / 2)],
  ];
  for (const [order, nth] of orders)
    it(`moves at most a few hundred intervals for an addition, ${order}`, () => {
      const original = Array.prototype.splice;
      let mostMoved = 0;
      const set = new IntervalSet();
      Array.prototype.splice = function (this: unknown[], start: number, ...rest: unknown[]) {
        mostMoved = Math.max(mostMoved, this.length - start);
        return original.call(this, start, ...(rest as [number, ...unknown[]]));
      } as typeof original;
      try {
        for (let i = 0; i < COUNT; i++) set.add(3 * nth(i), 3 * nth(i) + 1);
      } finally {
        Array.prototype.splice = original;
      }
      expect(mostMoved).to.be.at.most(512);
      const expected = Array.from({ length: COUNT }, (_, i) => [3 * i, 3 * i + 1]).flat();
      expect([...set.numbers()]).to.deep.equal(expected);
    });

  it('contains exactly the added sequences, in any order, also after it is restored', () => {
    const UP_TO = 6_000;
    for (let seed = 1; seed <= 5; seed++) {
      const random = seededRandom(seed);
      let set = new IntervalSet();
      const model = new Uint8Array(UP_TO);
      for (let round = 0; round < 4_000; round++) {
        const from = random.int(UP_TO);
        const to = Math.min(UP_TO, from + random.int(round % 500 === 499 ? 2_000 : 2));
        set.add(from, to);
        model.fill(1, from, Math.max(from, to));
        if (round % 1_000 === 0) set = IntervalSet.of(set.numbers());
      }
      const has = Array.from({ length: UP_TO }, (_, sequence) => Number(set.has(sequence)));
      expect(has, `seed ${seed}`).to.deep.equal([...model]);
      const numbers = [...set.numbers()];
      expect(numbers.every((number, i) => i === 0 || number > numbers[i - 1]!)).to.equal(true);
    }
  });
});
