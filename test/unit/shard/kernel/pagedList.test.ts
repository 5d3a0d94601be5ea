import { expect } from 'chai';
import { PagedList } from '../../../../shard/kernel/pagedList.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('a list of values by number', () => {
  it('equals a map, in ascending order, after random changes', () => {
    const random = seededRandom(testSeed());
    const list = new PagedList<string>();
    const map = new Map<number, string>();
    for (let step = 0; step < 20_000; step++) {
      const number = random.int(2) === 0 ? random.int(20) : random.int(5_000);
      if (random.int(3) === 0) {
        list.delete(number);
        map.delete(number);
      } else {
        list.set(number, String(step));
        map.set(number, String(step));
      }
    }
    for (let number = 0; number < 5_010; number++) expect(list.get(number)).to.equal(map.get(number));
    expect(list.size).to.equal(map.size);
    expect([...list.entries()]).to.deep.equal([...map].sort(([a], [b]) => a - b));
  });

  it('has no value at other numbers, of any size', () => {
    const list = new PagedList<number>();
    list.set(0, 5);
    list.set(1_024, 6);
    for (const number of [1, 1_023, 1_025, 2 ** 32, 2 ** 32 + 1_024, 2 ** 52]) {
      expect(list.get(number)).to.equal(undefined);
      list.delete(number);
    }
    expect(list.size).to.equal(2);
  });
});
