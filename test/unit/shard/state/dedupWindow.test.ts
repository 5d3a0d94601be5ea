import { expect } from 'chai';
import { type AppliedRequest, DedupWindow } from '../../../../shard/state/dedupWindow.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('the window of request ids', () => {
  const random = seededRandom(testSeed());
  const keyOf = (n: number): string => String.fromCharCode(...Buffer.from(`${n}`.padStart(16, 'k')));

  it('keeps the newest ids by their last addition, and returns them in that order', () => {
    for (const capacity of [1, 7, 300]) {
      const window = new DedupWindow(capacity);
      const model = new Map<string, AppliedRequest>();
      for (let sequence = 1; sequence <= 4_000; sequence++) {
        const key = keyOf(random.int(3 * capacity));
        const applied = { recordId: sequence * 2, sequence };
        window.add(key, applied);
        model.delete(key);
        model.set(key, applied);
        if (model.size > capacity) model.delete(model.keys().next().value!);
        const sought = keyOf(random.int(3 * capacity));
        const found = window.find(sought);
        expect(found?.sequence).to.equal(model.get(sought)?.sequence);
        expect(window.size).to.equal(model.size);
      }
      expect([...window.entries()]).to.deep.equal([...model]);
      const again = new DedupWindow(capacity);
      for (const [key, applied] of window.entries()) again.add(key, applied);
      expect([...again.entries()]).to.deep.equal([...model]);
    }
  });
});
