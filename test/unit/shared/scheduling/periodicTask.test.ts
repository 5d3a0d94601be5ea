import { expect } from 'chai';
import { PeriodicTask } from '../../../../shared/scheduling/periodicTask.js';

describe('the rounds of a periodic task', () => {
  it('never overlap, and at most one waits while a round runs', async () => {
    let under = 0;
    let begun = 0;
    let release = (): void => {};
    const rounds = new PeriodicTask(async () => {
      begun++;
      expect(++under).to.equal(1);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      under--;
    }, 60_000);
    const first = rounds.now();
    await Promise.resolve();
    expect(begun).to.equal(1);
    const asked = Array.from({ length: 20 }, () => rounds.now());
    release();
    await first;
    expect(begun).to.equal(2);
    release();
    await Promise.all(asked);
    expect(begun).to.equal(2);
    const later = rounds.now();
    await Promise.resolve();
    release();
    await later;
    await rounds.stop();
    expect(begun).to.equal(3);
  });
});
