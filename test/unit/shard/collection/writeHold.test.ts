import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { WriteHold } from '../../../../shard/collection/writeHold.js';
import { eventually } from '../../../support/expectations.js';

describe('a hold on the writes of a collection', () => {
  const make = () => {
    let ends = 0;
    const hold = new WriteHold(() => ends++);
    return { hold, ends: () => ends };
  };

  it('ends with the release by its token', () => {
    const { hold, ends } = make();
    hold.take('a', 60_000);
    expect(hold.isHeld).to.equal(true);
    hold.release('b');
    expect(hold.isHeld).to.equal(true);
    hold.release('a');
    expect(hold.isHeld).to.equal(false);
    expect(ends()).to.equal(1);
  });

  it('is refused to another token, and undisturbed by it', () => {
    const { hold } = make();
    hold.take('a', 60_000);
    expect(() => hold.take('b', 60_000)).to.throw('rebuilt already');
    expect(hold.isHeld).to.equal(true);
    hold.release('a');
    hold.take('b', 60_000);
    hold.over();
  });

  it('ends for good when the collection is released', () => {
    const { hold, ends } = make();
    hold.take('a', 60_000);
    hold.over();
    expect(hold.isHeld).to.equal(false);
    expect(ends()).to.equal(1);
    expect(() => hold.take('a', 60_000)).to.throw('no shard serves this');
  });

  it('ends without a renewal after its duration, and not before', async () => {
    const { hold, ends } = make();
    hold.take('a', 40);
    hold.take('a', 200);
    await delay(80);
    expect(hold.isHeld).to.equal(true);
    await eventually('the hold ends', () => !hold.isHeld);
    expect(ends()).to.equal(1);
  });
});
