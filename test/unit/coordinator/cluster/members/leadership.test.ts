/** A lease that one coordinator has at a time. */
import { expect } from 'chai';
import { Leadership } from '../../../../../coordinator/cluster/members/leadership.js';
import type { Bucket, BucketValue } from '../../../../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../../shared/clock.js';
import { unavailable } from '../../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../../shared/logger.js';

const LEASE_MS = 60_000;

describe('the lease of a coordinator', () => {
  let asked: string[];
  let bucket: Bucket;
  let losesAnswer: boolean;

  beforeEach(() => {
    asked = [];
    losesAnswer = false;
    const memory = new MemoryBucket({ logger: silentLogger });
    bucket = Object.assign(Object.create(memory) as MemoryBucket, {
      get: (key: string) => {
        asked.push('get');
        return memory.get(key);
      },
      create: (key: string, value: BucketValue) => {
        asked.push('create');
        return memory.create(key, value);
      },
      update: async (key: string, value: BucketValue, revision: number) => {
        asked.push('update');
        const written = await memory.update(key, value, revision);
        if (losesAnswer) throw unavailable('the answer is lost');
        return written;
      },
      delete: (key: string) => memory.delete(key),
    });
  });

  const leadershipOf = (holder: string): Leadership =>
    new Leadership(bucket, { name: 'work', holder: holder, ttlMs: LEASE_MS }, systemClock);

  it('belongs to one coordinator, and costs the others one request each time', async () => {
    const [one, other] = [leadershipOf('one'), leadershipOf('other')];
    expect(await one.hold()).to.equal(true);
    asked.length = 0;
    expect(await other.hold()).to.equal(false);
    expect(asked).to.deep.equal(['get']);
    asked.length = 0;
    expect(await one.hold()).to.equal(true);
    expect(asked).to.deep.equal(['update']);
    await one.release();
    expect(await other.hold()).to.equal(true);
    expect(await one.hold()).to.equal(false);
  });

  it('can be renewed by its owner after the answer of a renewal was lost', async () => {
    const [one, other] = [leadershipOf('one'), leadershipOf('other')];
    await one.hold();
    losesAnswer = true;
    await one.hold().catch(() => undefined);
    losesAnswer = false;
    expect(await one.hold()).to.equal(true);
    asked.length = 0;
    expect(await one.hold()).to.equal(true);
    expect(asked).to.deep.equal(['update']);
    expect(await other.hold()).to.equal(false);
  });
});
