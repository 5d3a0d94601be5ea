// Covers: shared/registry/leases.ts
import { expect } from 'chai';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { otherVersions, PROTOCOL_VERSION, untilOneVersion } from '../../../../shared/protocol/version.js';
import { coordinatorOf } from '../../../../shared/registry/leases.js';
import { shardOf } from '../../../../shared/registry/owners.js';
import { speaksAnother } from '../../../../shared/transport/transportErrors.js';
import { expectCode } from '../../../support/expectations.js';
import { HEARTBEAT } from '../../../support/nats/bucketEntries.js';

const OTHER = PROTOCOL_VERSION + 1;

describe('the version of the messages between processes', () => {
  it('is equal for processes that state this one', () => {
    expect(otherVersions([['shard s1', { protocol: PROTOCOL_VERSION }]])).to.equal(undefined);
    expect(otherVersions([])).to.equal(undefined);
  });

  it('is 0 for a process that states none, and processes of other versions are listed in order', () => {
    const live = [
      ['shard s3', { protocol: OTHER }],
      ['shard s2', {}],
      ['shard s1', { protocol: PROTOCOL_VERSION }],
    ] as const;
    const named = [speaksAnother('shard s2', 0, PROTOCOL_VERSION), speaksAnother('shard s3', OTHER, PROTOCOL_VERSION)];
    expect(otherVersions(live)).to.equal(named.join('; '));
  });
});

describe('the start of a process beside another version', () => {
  let bucket: MemoryBucket;
  beforeEach(() => {
    bucket = new MemoryBucket({ logger: silentLogger });
  });

  it('waits until the other process has ended', async () => {
    await bucket.put('s1', { ...HEARTBEAT, protocol: OTHER });
    let hasStarted = false;
    let waited = false;
    const logger = {
      ...silentLogger,
      info: () => {
        expect(hasStarted).to.equal(false);
        waited = true;
        void bucket.delete('s1');
      },
    };
    await untilOneVersion(bucket, shardOf, { clock: systemClock, logger });
    hasStarted = true;
    expect(waited).to.equal(true);
  });

  it('fails with the names of the other processes if they do not end', async () => {
    await bucket.put('coordinator.c1.a', { holder: 'c1.a', protocol: OTHER });
    let nowMs = 0;
    // Each reading of the clock takes a minute.
    const clock: Clock = { ...systemClock, monotonicMs: () => (nowMs += 60_000) };
    const error = await expectCode(
      untilOneVersion(bucket, coordinatorOf, { clock, logger: silentLogger }),
      'unavailable',
    );
    expect(error.message).to.equal(speaksAnother('coordinator c1.a', OTHER, PROTOCOL_VERSION));
  });

  it('ignores the leases among the presences', async () => {
    await bucket.put('placement', { holder: 'c1.a' });
    await untilOneVersion(bucket, coordinatorOf, { clock: systemClock, logger: silentLogger });
  });
});
