import { expect } from 'chai';
import { Leadership } from '../../../../coordinator/cluster/members/leadership.js';
import { type Category, type Decision, LocalLimiter } from '../../../../coordinator/limits/limiter.js';
import { SharedLimiter } from '../../../../coordinator/limits/sharedLimiter.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { pack } from '../../../../shared/protocol/wire.js';
import { InProcessTransport } from '../../../../shared/transport/inProcess.js';
import { LIMITS_SUBJECT } from '../../../../shared/transport/subjects.js';
import { eventually, gate } from '../../../support/expectations.js';

const RATES = {
  total: { perMinute: 0.1, burst: 20 },
  read: { perMinute: 0.1, burst: 10 },
  write: { perMinute: 0.1, burst: 10 },
};
/** Time in which one token grows. */
const TOKEN_MS = 600_000;
const LEASE_MS = 60_000;

describe('the limiter that coordinators share', () => {
  let leases: MemoryBucket;
  let transport: InProcessTransport;
  let limiters: SharedLimiter[];
  /** Local limiter of each coordinator, by holder. */
  let known: Map<string, LocalLimiter>;

  const start = async (holder: string, rates: 'off' | typeof RATES = RATES): Promise<SharedLimiter> => {
    const local = new LocalLimiter({ default: rates }, systemClock);
    known.set(holder, local);
    const limiter = new SharedLimiter(
      local,
      new Leadership(leases, { name: 'limits', holder, ttlMs: LEASE_MS }, systemClock),
      transport,
      { clock: systemClock, logger: silentLogger },
    );
    await limiter.start();
    limiters.push(limiter);
    return limiter;
  };
  const granted = async (takes: readonly (Decision | Promise<Decision>)[]): Promise<number> =>
    (await Promise.all(takes)).filter(({ retryAfterSecs }) => retryAfterSecs === 0).length;
  const takes = (limiter: SharedLimiter, count: number, category: Category) =>
    Array.from({ length: count }, () => limiter.take('p', category));

  /** Number of recent writes that the holder knows of. */
  const writesKnown = (holder: string): number => {
    const [, untilFull] = known.get(holder)?.known()[0] ?? [];
    return Math.round((untilFull?.[2] ?? 0) / TOKEN_MS);
  };

  beforeEach(() => {
    leases = new MemoryBucket({ logger: silentLogger });
    transport = new InProcessTransport({ logger: silentLogger });
    limiters = [];
    known = new Map();
  });
  afterEach(() => Promise.all(limiters.map((limiter) => limiter.stop())));

  it('grants a project its burst once, through any number of coordinators', async () => {
    const [first, second, third] = [await start('a'), await start('b'), await start('c')];
    expect(
      await granted([...takes(first, 5, 'write'), ...takes(second, 5, 'write'), ...takes(third, 5, 'write')]),
    ).to.equal(10);
    expect(await granted([...takes(third, 6, 'read'), ...takes(second, 6, 'read')])).to.equal(10);
    const refused = await second.take('p', 'read');
    expect(refused.retryAfterSecs).to.be.above(0);
    expect(refused.state).to.include({ remaining: 0 });
    expect((await third.take('other', 'read')).retryAfterSecs).to.equal(0);
  });

  it('sends no request for a project without limits', async () => {
    await start('a', 'off');
    const second = await start('b', 'off');
    expect(second.take('p', 'write')).to.deep.equal({ state: undefined, retryAfterSecs: 0 });
  });

  it('continues with the granted tokens when the counting coordinator stops, at any successor', async () => {
    const first = await start('a');
    const second = await start('b');
    expect(await granted([...takes(first, 3, 'write'), ...takes(second, 4, 'write')])).to.equal(7);
    await first.stop();
    await eventually('the second knows the limits', () => writesKnown('b') === 7);
    expect(await granted(takes(second, 12, 'write'))).to.equal(3);
    const third = await start('c');
    expect(writesKnown('c')).to.equal(10);
    expect(await granted([...takes(third, 12, 'write'), ...takes(second, 12, 'write')])).to.equal(0);
    expect(await granted([...takes(third, 12, 'read'), ...takes(second, 12, 'read')])).to.equal(10);
  });

  it('counts locally while no coordinator counts, and the others learn the result', async () => {
    const [first, second, third] = [await start('a'), await start('b'), await start('c')];
    await first.stop();
    expect(await granted(takes(second, 6, 'read'))).to.equal(6);
    await eventually('the third knows the limits', () => known.get('c')?.known().length === 1);
    expect(await granted(takes(third, 12, 'read'))).to.equal(4);
  });

  it('waits once for a counter that does not answer, and then counts locally for a while', async () => {
    await leases.create('limits', { holder: 'hung' });
    const hung = gate();
    const serving = await transport.serve(LIMITS_SUBJECT, async () => {
      await hung.opened;
      return pack(null);
    });
    const second = await start('b');
    expect(await granted(takes(second, 12, 'write'))).to.equal(10);
    expect(second.take('p', 'read'), 'at once').to.deep.include({ retryAfterSecs: 0 });
    hung.open();
    await serving.stop();
  });

  it('starts a new coordinator with the counts of the others', async () => {
    const first = await start('a');
    expect(await granted(takes(first, 8, 'write'))).to.equal(8);
    const second = await start('b');
    await first.stop();
    expect(await granted(takes(second, 12, 'write'))).to.equal(2);
  });
});
