import { expect } from 'chai';
import { Expiries } from '../../../../shard/state/expiries.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('expiries', () => {
  it('are due in the order of their times, after any changes', () => {
    const random = seededRandom(testSeed());
    const expiries = new Expiries();
    const model = new Map<number, number>();
    for (let i = 0; i < 20_000; i++) {
      const key = 1 + random.int(1_500);
      const timeMs = random.int(3) === 0 ? undefined : 1 + random.int(400);
      expiries.set(key, timeMs);
      if (timeMs === undefined) model.delete(key);
      else model.set(key, timeMs);
      if (i % 100 !== 0) continue;
      const upToMs = random.int(410);
      const due = [...expiries.due(upToMs)];
      const wanted = [...model].filter(([, time]) => time <= upToMs);
      expect(due.map((id) => model.get(id))).to.deep.equal(wanted.map(([, time]) => time).sort((a, b) => a - b));
      expect(new Set(due)).to.have.property('size', wanted.length);
      expect([expiries.size, expiries.nextMs]).to.deep.equal([model.size, Math.min(...model.values())]);
      expect(expiries.of(key)).to.equal(model.get(key));
    }
  });

  it('without any record have no next time', () => {
    const expiries = new Expiries();
    expiries.set(7, 5);
    expiries.set(7, undefined);
    expiries.set(8, undefined);
    expect([expiries.size, expiries.nextMs, [...expiries.due(1e15)]]).to.deep.equal([0, Number.POSITIVE_INFINITY, []]);
  });
});
