/** Appends that are stored after their writer has given up: what they bring stays reserved until they cannot come any more. */
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

describe('what a late append brings', () => {
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

  it('stays reserved until another append has taken its place', async () => {
    const engine = shard();
    const collection = engine.host(configOf(OF));
    await insert(collection, 1);
    await insertLate(collection);
    // The next commit learns that the frame is not there now, and is not stored either.
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
    it(`is given back where it is not stored ${lateMs > 0 ? 'in time' : 'when the log is read, and cannot be later'}`, async () => {
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

  it('of one that cannot be read keeps no other from giving back', async () => {
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
    it(`stays reserved at the next owner, which has it ${isOpen ? 'open' : 'closed'}, and counts once it is there`, async () => {
      const before = shard().host(configOf(OF));
      await insert(before, 1);
      await insertLate(before);
      const engine = shard();
      const next = engine.host(configOf(OF));
      next.hosted.beginTerm(true);
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

  it('is not waited for where the owner before has handed the collection over, or this one has written', async () => {
    const before = shard().host(configOf(OF));
    await insert(before, 1);
    expect(before.hosted.mayGetAppends).to.equal(false);
    const engine = shard();
    const other = engine.host(configOf(OTHER));
    const next = engine.host(configOf(OF));
    next.hosted.beginTerm(true);
    expect(next.hosted.mayGetAppends).to.equal(true);
    await insert(next, 1);
    expect(next.hosted.mayGetAppends).to.equal(false);
    await insert(other, CAPACITY - 2 - ROWS);
    next.hosted.beginTerm(false);
    expect(next.hosted.mayGetAppends).to.equal(false);
    await insertLate(next);
    expect(next.hosted.mayGetAppends).to.equal(true);
  });
});
