/** The turns of tails, counted in calls. */
import { expect } from 'chai';
import { Absorber } from '../../../../shard/index/absorber.js';
import type { Clock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { eventually } from '../../../support/expectations.js';

/** A clock that makes each slice last for one call. */
class StepClock implements Clock {
  #ms = 0;
  nowMs(): number {
    return 0;
  }
  monotonicMs(): number {
    return this.#ms;
  }
  use(): void {
    this.#ms += 10;
  }
}

describe('an absorber', () => {
  it('gives a project of many tails as many slices as a project of one', async () => {
    const clock = new StepClock();
    const absorber = new Absorber(clock, silentLogger);
    const calls: string[] = [];
    const absorbOf = (project: string) => (): boolean => {
      clock.use();
      calls.push(project);
      return calls.length < 40;
    };
    for (let id = 1; id <= 50; id++) absorber.want({ id, project: 'a' }, absorbOf('a'));
    absorber.want({ id: 99, project: 'b' }, absorbOf('b'));
    await eventually('40 slices have run', () => calls.length >= 40);
    expect(calls.slice(0, 40).filter((project) => project === 'b')).to.have.length(20);
  });

  it('does not call a forgotten tail, and calls a tail once that was queued twice', async () => {
    const absorber = new Absorber(new StepClock(), silentLogger);
    const calls: string[] = [];
    const one = (): boolean => calls.push('one') < 0;
    const other = (): boolean => calls.push('other') < 0;
    absorber.want({ id: 1, project: 'a' }, one);
    absorber.want({ id: 2, project: 'a' }, other);
    absorber.want({ id: 2, project: 'a' }, other);
    absorber.forget(one);
    await eventually('the requested tail is absorbed', () => calls.length > 0);
    expect(calls).to.deep.equal(['other']);
  });
});
