/** The pace of a log check: fast while the process is idle, slow under calls. */
import { expect } from 'chai';
import { CheckPace, newCallCount } from '../../../../shared/scheduling/checkPace.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { rejection } from '../../../support/expectations.js';

/** At the pace under calls this would take minutes. */
const MUCH_BYTES = 1 << 30;

describe('the pace of a log check', () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const calls = newCallCount();

  /** Whether as many bytes may be read at once. */
  async function goesOn(pace: CheckPace): Promise<boolean> {
    const ended = new AbortController();
    const reason = new Error('ended');
    const rest = pace.rest(MUCH_BYTES, ended.signal).then(
      () => true,
      (error: unknown) => {
        expect(error).to.equal(reason);
        return false;
      },
    );
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    ended.abort(reason);
    return rest;
  }

  it('is slow at first, fast after a while without calls, and slow again at the next call', async () => {
    const pace = new CheckPace(calls, clock);
    expect(await goesOn(pace)).to.equal(false);
    nowMs += 1_000;
    expect(await goesOn(pace)).to.equal(true);
    expect(await goesOn(pace)).to.equal(true);
    Atomics.add(calls, 0, 1);
    expect(await goesOn(pace)).to.equal(false);
    nowMs += 10;
    expect(await goesOn(pace)).to.equal(false);
    nowMs += 1_000;
    expect(await goesOn(pace)).to.equal(true);
  });

  it('rejects with the reason of the signal at any pace', async () => {
    const pace = new CheckPace(calls, clock);
    nowMs += 1_000;
    const ended = new AbortController();
    ended.abort(new Error('closed'));
    expect((await rejection(pace.rest(0, ended.signal))).message).to.equal('closed');
  });
});
