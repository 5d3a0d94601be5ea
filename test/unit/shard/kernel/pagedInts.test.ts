import { expect } from 'chai';
import { PagedInts } from '../../../../shard/kernel/pagedInts.js';

describe('paged integers', () => {
  const COUNT = 10_000;

  it('keep each pushed number, beyond one page', () => {
    const ints = new PagedInts();
    for (let i = 0; i < COUNT; i++) expect(ints.push(-i)).to.equal(i);
    expect(ints.length).to.equal(COUNT);
    for (let i = 0; i < COUNT; i++) expect(ints.get(i)).to.equal(i === 0 ? 0 : -i);
  });

  it('are 0 where none was set, within a page and beyond all pages', () => {
    const ints = new PagedInts();
    expect(ints.get(0)).to.equal(0);
    ints.set(5_000, 7);
    expect([4_999, 5_000, 5_001, 100_000].map((number) => ints.get(number))).to.deep.equal([0, 7, 0, 0]);
  });

  it('take little memory while they are few', () => {
    const ints = new PagedInts();
    expect(ints.bytes).to.equal(0);
    ints.push(1);
    expect(ints.bytes).to.equal(64);
  });
});
