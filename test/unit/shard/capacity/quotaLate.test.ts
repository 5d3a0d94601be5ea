// Covers: shard/capacity/quota.ts, shard/collection/capacityReservation.ts
/**
 * Late appends, which are stored after their writer has reported a failure: their growth stays reserved while they may
 * still arrive.
 */
import { expect } from 'chai';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import { expectCode } from '../../../support/expectations.js';
import { configOf, Engine, type TestCollection } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const LATE_MS = 1_000_000;
const CAPACITY = 1_000;
const ROWS = 5;
const [OF, OTHER] = [1, 2];

describe('the growth of a late append', () => {
  let bucket: MemoryBucket;
  let logs: ScriptedLogs;
  let laterMs: number;
  beforeEach(() => {
    bucket = new MemoryBucket({ logger: silentLogger });
    logs = new ScriptedLogs();
    logs.lateMs = LATE_MS;
    laterMs = 0;
  });
  afterEach(() => bucket.close());

  const shard = (): Engine => {
    const monotonicMs = (): number => systemClock.monotonicMs() + laterMs;
    return new Engine(logs, { capacity: CAPACITY, bucket, clock: { nowMs: () => systemClock.nowMs(), monotonicMs } });
  };
  const reserved = async (id: number): Promise<number | undefined> =>
    ((await bucket.get('p'))?.value as Record<string, number> | undefined)?.[id];
  const insert = (collection: TestCollection, count: number): Promise<number[]> =>
    collection.batch(Array.from({ length: count }, (_, i) => [i, 0]));
  const insertLate = async (collection: TestCollection): Promise<void> => {
    logs.fates.push('late');
    await expectCode(insert(collection, ROWS), 'unavailable');
  };

  it('stays reserved until another append has taken its position', async () => {
    const engine = shard();
    const collection = engine.host(configOf(OF));
    await insert(collection, 1);
    await insertLate(collection);
    // The next commit learns that the frame is absent, and is not stored either.
    logs.fates.push('lost');
    await expectCode(insert(collection, 1), 'unavailable');
    await engine.context.quota.trim('p');
    expect(await reserved(OF)).to.equal(1 + ROWS);
    await insert(collection, 1);
    expect(logs.landLate()).to.equal(false);
    await engine.context.quota.trim('p');
    expect(await reserved(OF)).to.equal(2);
  });

  for (const lateMs of [LATE_MS, 0])
    it(`is released if the append is not stored ${lateMs > 0 ? 'in time' : 'when the log is read, and cannot be late'}`, async () => {
      logs.lateMs = lateMs;
      const engine = shard();
      const { context } = engine;
      const collection = engine.host(configOf(OF));
      await insert(collection, 1);
      logs.fates.push('lost');
      await expectCode(insert(collection, ROWS), 'unavailable');
      if (lateMs > 0) await context.quota.trim('p');
      expect(await reserved(OF)).to.be.at.least(1 + ROWS);
      laterMs = lateMs;
      await context.quota.trim('p');
      expect(await reserved(OF)).to.equal(1);
      expect(collection.hosted.mayGetAppends).to.equal(false);
    });

  it('in an unreadable collection does not keep other collections from releasing', async () => {
    const engine = shard();
    const [of, other] = [engine.host(configOf(OF)), engine.host(configOf(OTHER))];
    await insert(other, ROWS);
    await insert(of, 1);
    await insertLate(of);
    expect(await reserved(OTHER)).to.be.above(ROWS);
    laterMs = LATE_MS;
    logs.failRead = unavailable('it cannot be read');
    await expectCode(engine.context.quota.trim('p'), 'unavailable');
    expect([await reserved(OTHER), logs.failRead]).to.deep.equal([ROWS, undefined]);
    expect(await reserved(OF)).to.be.at.least(1 + ROWS);
    await engine.context.quota.trim('p');
    expect(await reserved(OF)).to.equal(1);
  });

  for (const isOpen of [true, false])
    it(`stays reserved at the next owner, with the collection ${isOpen ? 'open' : 'closed'}, and counts once it is stored`, async () => {
      const before = shard().host(configOf(OF));
      await insert(before, 1);
      await insertLate(before);
      const engine = shard();
      const next = engine.host(configOf(OF));
      next.hosted.beginOwnership(true);
      if (isOpen) await next.records();
      const other = engine.host(configOf(OTHER));
      const wanted = CAPACITY - 1;
      await expectCode(insert(other, wanted), 'unavailable');
      expect(await reserved(OF)).to.be.at.least(1 + ROWS);
      expect(logs.landLate()).to.equal(true);
      laterMs = LATE_MS;
      await expectCode(insert(other, wanted), 'capacity_exceeded');
      expect(await reserved(OF)).to.equal(1 + ROWS);
      await insert(other, CAPACITY - 1 - ROWS);
      expect(await next.records()).to.equal(1 + ROWS);
    });

  it('is not awaited after a handover by the former owner, or after a write of this one', async () => {
    const before = shard().host(configOf(OF));
    await insert(before, 1);
    expect(before.hosted.mayGetAppends).to.equal(false);
    const engine = shard();
    const other = engine.host(configOf(OTHER));
    const next = engine.host(configOf(OF));
    next.hosted.beginOwnership(true);
    expect(next.hosted.mayGetAppends).to.equal(true);
    await insert(next, 1);
    expect(next.hosted.mayGetAppends).to.equal(false);
    await insert(other, CAPACITY - 2 - ROWS);
    next.hosted.beginOwnership(false);
    expect(next.hosted.mayGetAppends).to.equal(false);
    await insertLate(next);
    expect(next.hosted.mayGetAppends).to.equal(true);
  });
});
