import { expect } from 'chai';
import { Leadership } from '../../coordinator/cluster/leadership.js';
import { type Category, type Decision, LocalLimiter } from '../../coordinator/limits/limiter.js';
import { SharedLimiter } from '../../coordinator/limits/sharedLimiter.js';
import { MemoryBucket } from '../../shared/bucket/memory.js';
import { systemClock } from '../../shared/clock.js';
import { silentLogger } from '../../shared/logger.js';
import { InProcessTransport } from '../../shared/transport/inProcess.js';

const RATES = {
  total: { perMinute: 0.1, burst: 20 },
  read: { perMinute: 0.1, burst: 10 },
  write: { perMinute: 0.1, burst: 10 },
};
const LEASE_MS = 60_000;

describe('the limiter that coordinators share', () => {
  let leases: MemoryBucket;
  let transport: InProcessTransport;
  let limiters: SharedLimiter[];

  const start = async (holder: string, rates: 'off' | typeof RATES = RATES): Promise<SharedLimiter> => {
    const limiter = new SharedLimiter(
      new LocalLimiter({ default: rates }, systemClock),
      new Leadership(leases, 'limits', holder, LEASE_MS, systemClock),
      transport,
      systemClock,
      silentLogger,
    );
    await limiter.start();
    limiters.push(limiter);
    return limiter;
  };
  const granted = async (takes: readonly (Decision | Promise<Decision>)[]): Promise<number> =>
    (await Promise.all(takes)).filter(({ retryAfterSecs }) => retryAfterSecs === 0).length;
  const takes = (limiter: SharedLimiter, count: number, category: Category) =>
    Array.from({ length: count }, () => limiter.take('p', category));

  beforeEach(() => {
    leases = new MemoryBucket({ logger: silentLogger });
    transport = new InProcessTransport({ logger: silentLogger });
    limiters = [];
  });
  afterEach(() => Promise.all(limiters.map((limiter) => limiter.stop())));

  it('grants a project its burst once, however many coordinators it asks', async () => {
    const [first, second, third] = [await start('a'), await start('b'), await start('c')];
    expect(
      await granted([...takes(first, 5, 'write'), ...takes(second, 5, 'write'), ...takes(third, 5, 'write')]),
    ).to.equal(10);
    expect(await granted([...takes(third, 6, 'read'), ...takes(second, 6, 'read')])).to.equal(10);
    const refused = await second.take('p', 'read');
    expect(refused.retryAfterSecs).to.be.above(0);
    expect(refused.standing).to.include({ remaining: 0 });
    expect((await third.take('other', 'read')).retryAfterSecs).to.equal(0);
  });

  it('asks nobody about a project without limits', async () => {
    await start('a', 'off');
    const second = await start('b', 'off');
    expect(second.take('p', 'write')).to.deep.equal({ standing: undefined, retryAfterSecs: 0 });
  });

  it('counts for itself while no counter can be reached, and another takes over', async () => {
    const first = await start('a');
    const second = await start('b');
    expect(await granted(takes(second, 12, 'write'))).to.equal(10);
    await first.stop();
    expect(await granted(takes(second, 12, 'write'))).to.equal(10);
    const third = await start('c');
    expect(await granted([...takes(third, 12, 'read'), ...takes(second, 12, 'read')])).to.equal(10);
  });
});
