// Covers: coordinator/limits/limiter.ts, coordinator/limits/failedAttempts.ts, coordinator/limits/tokenBucket.ts
import { expect } from 'chai';
import type { ProjectRates } from '../../../../config/config.js';
import { FailedAttempts } from '../../../../coordinator/limits/failedAttempts.js';
import { type Category, LocalLimiter } from '../../../../coordinator/limits/limiter.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { TestClock } from '../../../support/rigs/testEdge.js';

const SPEC: ProjectRates = {
  total: { perMinute: 100, burst: 20 },
  read: { perMinute: 50, burst: 10 },
  write: { perMinute: 50, burst: 10 },
};

describe('the rate limiter', () => {
  let clock: TestClock;
  let limiter: LocalLimiter;
  const take = (category: Category, project = 'p') => limiter.take(project, category);
  const allowed = (category: Category, tries: number, project = 'p'): number =>
    Array.from({ length: tries }, () => take(category, project)).filter((one) => one.retryAfterSecs === 0).length;

  beforeEach(() => {
    clock = new TestClock();
    limiter = new LocalLimiter({ default: SPEC }, clock);
  });

  it('grants a burst of 10 writes, and refuses the 11th until Retry-After has passed', () => {
    expect(allowed('write', 10)).to.equal(10);
    const { retryAfterSecs } = take('write');
    expect(retryAfterSecs).to.equal(2);
    clock.advance(1_199);
    expect(take('write').retryAfterSecs).to.equal(1);
    clock.advance(801);
    expect(take('write').retryAfterSecs).to.equal(0);
    expect(take('write').retryAfterSecs).to.be.above(0);
  });

  it('counts reads and writes separately, under one total', () => {
    expect(allowed('write', 11)).to.equal(10);
    expect(allowed('read', 11)).to.equal(10);
    // Both categories refill 50 a minute, and the total 100: ten of each in twelve seconds.
    clock.advance(12_000);
    expect(allowed('read', 20)).to.equal(10);
    expect(allowed('write', 20)).to.equal(10);
  });

  it('applies the total where it is the tighter one', () => {
    limiter = new LocalLimiter({ default: { ...SPEC, total: { perMinute: 60, burst: 3 } } }, clock);
    expect(allowed('read', 5)).to.equal(3);
    expect(take('write').retryAfterSecs).to.equal(1);
    expect(take('write').state).to.deep.equal({ limit: 3, remaining: 0, resetSecs: 3 });
  });

  it('takes no token of either bucket if it refuses', () => {
    expect(allowed('write', 200)).to.equal(10);
    expect(allowed('read', 200)).to.equal(10);
    clock.advance(1_200);
    expect(allowed('write', 5)).to.equal(1);
  });

  it('reports the tighter bucket', () => {
    expect(take('read').state).to.deep.equal({ limit: 10, remaining: 9, resetSecs: 2 });
    allowed('read', 9);
    expect(take('read').state).to.deep.equal({ limit: 10, remaining: 0, resetSecs: 12 });
    expect(take('write').state).to.deep.equal({ limit: 10, remaining: 9, resetSecs: 2 });
  });

  it('counts projects separately, and may have other rates or none for a project', () => {
    const small = { ...SPEC, write: { perMinute: 1, burst: 1 } };
    limiter = new LocalLimiter({ default: SPEC, projects: { free: 'off', small } }, clock);
    expect(allowed('write', 30, 'a')).to.equal(10);
    expect(allowed('write', 30, 'b')).to.equal(10);
    expect(allowed('write', 30, 'small')).to.equal(1);
    expect(take('write', 'small').retryAfterSecs).to.equal(60);
    expect(allowed('write', 100, 'free')).to.equal(100);
    expect(take('write', 'free').state).to.equal(undefined);
    limiter = new LocalLimiter('off', clock);
    expect(allowed('read', 100)).to.equal(100);
  });

  it('admits each retry after Retry-After, and never grants more than burst and rate', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 50; round++) {
      const perMinute = 1 + random.next() * 1_000;
      const burst = 1 + random.int(20);
      const rate = { perMinute, burst };
      clock = new TestClock();
      clock.advance(random.next() * 1e10);
      limiter = new LocalLimiter({ default: { total: rate, read: rate, write: rate } }, clock);
      const startMs = clock.nowMs();
      let granted = 0;
      for (let step = 0; step < 200; step++) {
        clock.advance(random.next() * 2 * (60_000 / perMinute));
        const { retryAfterSecs } = take(random.pick(['read', 'write'] as const));
        if (retryAfterSecs === 0) {
          granted += 1;
          continue;
        }
        clock.advance(1_000 * retryAfterSecs);
        expect(take('read').retryAfterSecs).to.equal(0);
        granted += 1;
      }
      expect(granted).to.be.at.most(burst + ((clock.nowMs() - startMs) / 60_000) * perMinute + 0.01);
    }
  });
});

describe('the limiter of failed authentication', () => {
  const v4 = (last: number): ArrayBuffer => Uint8Array.of(10, 0, 0, last).buffer;
  const v6 = (...bytes: number[]): ArrayBuffer => Uint8Array.from({ length: 16 }, (_, i) => bytes[i] ?? 0).buffer;
  const mapped = (last: number): ArrayBuffer => v6(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, last);
  const exhaust = (attempts: FailedAttempts, address: ArrayBuffer): void => {
    for (let i = 0; i < 10_000 && attempts.take(address) === 0; i++);
  };

  it('is separate for each client address, and refills', () => {
    const clock = new TestClock();
    const attempts = new FailedAttempts(clock);
    exhaust(attempts, v4(1));
    const wait = attempts.take(v4(1));
    expect(wait).to.equal(1);
    expect(attempts.take(v4(2))).to.equal(0);
    clock.advance(1_000 * wait);
    expect(attempts.take(v4(1))).to.equal(0);
  });

  it('counts an IPv6 network as one client, and a mapped IPv4 address as that address', () => {
    const attempts = new FailedAttempts(new TestClock());
    exhaust(attempts, v6(0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 9));
    expect(attempts.take(v6(0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 7, 7))).to.be.above(0);
    expect(attempts.take(v6(0x20, 1, 0xd, 0xb8, 0, 0, 0, 2))).to.equal(0);
    exhaust(attempts, mapped(3));
    expect(attempts.take(v4(3))).to.be.above(0);
    expect(attempts.take(mapped(4))).to.equal(0);
  });
});
