/** The wait of a small commit for the writes that follow the answers of the last one. */
import { expect } from 'chai';
import { Gathering } from '../../../../shard/collection/gathering.js';
import { TestClock } from '../../../support/rigs/testEdge.js';

const SMALL_BYTES = 10_000;
const LARGE_BYTES = 100_000;
const TOOK_MS = 5;

describe('the wait of a commit for more writes', () => {
  let clock: TestClock;
  let gathering: Gathering;
  let over: () => void;
  beforeEach(() => {
    clock = new TestClock();
    over = () => undefined;
    gathering = new Gathering(clock, () => over());
  });

  const waits = (writes: number, agoMs = 0): boolean => gathering.waits(writes, clock.monotonicMs() - agoMs);

  /** Lets the next commit, which waits, wait in vain. */
  async function inVain(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      over = resolve;
    });
    expect(waits(1)).to.equal(true);
    await ended;
    expect(waits(1), 'it is over').to.equal(false);
  }

  it('ends when as many writes wait as were answered or left waiting', () => {
    gathering.committed(3, SMALL_BYTES, TOOK_MS);
    expect([1, 2, 3].map((writes) => waits(writes))).to.deep.equal([true, true, false]);
    expect(waits(1), 'the commit of the three has begun').to.equal(false);
  });

  it('does not exist before the first commit, and after one of a lone or of large writes', () => {
    expect(waits(1)).to.equal(false);
    gathering.committed(1, SMALL_BYTES, TOOK_MS);
    expect(waits(1)).to.equal(false);
    gathering.committed(8, LARGE_BYTES, TOOK_MS);
    expect(waits(1)).to.equal(false);
  });

  it('lasts no longer for a write than the last commit', () => {
    gathering.committed(3, SMALL_BYTES, TOOK_MS);
    clock.advance(1);
    expect(waits(1)).to.equal(true);
    clock.advance(TOOK_MS - 1);
    expect(waits(2, TOOK_MS - 1)).to.equal(true);
    clock.advance(1);
    expect(waits(2, TOOK_MS)).to.equal(false);
  });

  it('does not begin when no write comes for twice the time of the last commit', () => {
    gathering.committed(3, SMALL_BYTES, TOOK_MS);
    clock.advance(2 * TOOK_MS);
    expect(waits(1)).to.equal(false);
  });

  it('is left out for 1, 2, 4 and more commits after waits in vain', async () => {
    const pauses: number[] = [];
    for (let round = 0; round < 4; round++) {
      gathering.committed(2, SMALL_BYTES, TOOK_MS);
      await inVain();
      let pause = 0;
      for (;;) {
        gathering.committed(2, SMALL_BYTES, TOOK_MS);
        if (waits(1)) break;
        pause++;
      }
      pauses.push(pause);
    }
    expect(pauses).to.deep.equal([1, 2, 4, 8]);
  });
});
