/** A lease that has expired and is taken again. */
import { expect } from 'chai';
import { Lease } from '../../../../shard/answering/lease.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import { eventually } from '../../../support/expectations.js';

const LEASE_MS = 2_000;
/** The test itself calls for each round. */
const NEVER_MS = 1e9;

class SetClock {
  ms = 0;
  nowMs = (): number => this.ms;
  monotonicMs = (): number => this.ms;
}

describe('a lease', () => {
  const clock = new SetClock();
  let bucket: MemoryBucket;
  let lease: Lease;
  /** Calls for the owned collections after an expiry, in order. */
  let asked: { answer: () => void; fail: () => void }[];

  beforeEach(async () => {
    clock.ms = 0;
    asked = [];
    bucket = new MemoryBucket({ logger: silentLogger });
    lease = new Lease(
      bucket,
      {
        ...{ shard: 's1', session: 'one', heartbeatMs: NEVER_MS, leaseMs: LEASE_MS },
        load: () => ({ collections: 0, records: 0, damages: [], full: [], leaving: false }),
        onRegain: () =>
          new Promise((resolve, reject) => {
            asked.push({ answer: resolve, fail: () => reject(unavailable('it does not catch up')) });
          }),
        onTakenOver: () => {},
      },
      clock,
      silentLogger,
    );
    await lease.start();
  });
  afterEach(() => lease.stop());

  const renewAt = async (ms: number): Promise<void> => {
    clock.ms = ms;
    await lease.renew();
  };

  it('reads no owners while it is renewed in time', async () => {
    for (const ms of [1_900, 3_800]) await renewAt(ms);
    expect([lease.leftMs, asked.length]).to.deep.equal([LEASE_MS, 0]);
  });

  it('is valid again once the owners are read, and is renewed meanwhile', async () => {
    await renewAt(2_500);
    const { revision } = (await bucket.get('s1'))!;
    await renewAt(4_000);
    expect((await bucket.get('s1'))!.revision).to.be.greaterThan(revision);
    expect([lease.valid, asked.length]).to.deep.equal([false, 1]);
    asked[0]!.answer();
    await eventually('the lease is valid', () => lease.valid);
    expect(lease.leftMs).to.equal(LEASE_MS);
  });

  it('reads the owners again after a failure, and after another expiry', async () => {
    await renewAt(2_500);
    asked[0]!.fail();
    await new Promise(setImmediate);
    await renewAt(3_000);
    expect([lease.valid, asked.length]).to.deep.equal([false, 2]);
    await renewAt(6_000);
    expect(asked.length).to.equal(3);
    asked[1]!.answer();
    await new Promise(setImmediate);
    expect(lease.valid, 'that was asked before it expired the second time').to.equal(false);
    asked[2]!.answer();
    await eventually('the lease is valid', () => lease.valid);
  });
});
