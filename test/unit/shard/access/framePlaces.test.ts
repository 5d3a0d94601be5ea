import { expect } from 'chai';
import { FramePlaces } from '../../../../shard/access/framePlaces.js';

describe('the places of frames', () => {
  const placed = (count: number): FramePlaces => {
    const places = new FramePlaces();
    for (let i = 0; i < count; i++) places.add({ first: 1 + 10 * i, timeMs: 1_000 * i, after: 100 * i });
    return places;
  };

  it('begin before the frame with an entry, and before the frames of a time', () => {
    const places = placed(5);
    expect([1, 10, 11, 25, 99].map((entry) => places.before(entry, 0))).to.deep.equal([0, 0, 100, 200, 400]);
    expect([0, 1_000, 1_001, 9_000].map((timeMs) => places.before(1, timeMs))).to.deep.equal([0, 0, 100, 400]);
    expect(new FramePlaces().before(7, 7)).to.equal(0);
  });

  it('are bounded: of 100,000 frames with a million entries reading begins at most 1,024 entries before', () => {
    const places = placed(100_000);
    for (const entry of [1, 5_000, 123_456, 999_991]) {
      const begun = (10 * places.before(entry, 0)) / 100;
      expect(begun).to.be.within(entry - 1 - 1_024, entry);
    }
  });

  it('fill a gap in their middle', () => {
    const places = placed(2);
    places.add({ first: 1_001, timeMs: 9_000, after: 9_000 });
    places.add({ first: 501, timeMs: 5_000, after: 5_000 });
    expect(places.before(600, 0)).to.equal(5_000);
  });
});
