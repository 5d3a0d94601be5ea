import { expect } from 'chai';
import { SharedRun } from '../../../../shared/scheduling/sharedRun.js';
import { rejection } from '../../../support/expectations.js';

describe('a shared run', () => {
  it('gives each caller a run that began after the call', async () => {
    let now = 1;
    const shared = new SharedRun(async () => {
      const seen = now;
      await new Promise(setImmediate);
      return seen;
    });
    const first = shared.next();
    await Promise.resolve();
    now = 2;
    const second = shared.next();
    expect(shared.next()).to.equal(second);
    expect(await Promise.all([first, second])).to.deep.equal([1, 2]);
  });

  it('fails for its waiting callers only, not for later ones', async () => {
    let runs = 0;
    const shared = new SharedRun(async () => {
      if (++runs === 1) throw new Error('once');
      return runs;
    });
    const [one, two] = [shared.next(), shared.next()];
    expect((await rejection(one)).message).to.equal('once');
    expect((await rejection(two)).message).to.equal('once');
    expect(await shared.next()).to.equal(2);
    await shared.idle();
  });
});
