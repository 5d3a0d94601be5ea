import { expect } from 'chai';
import { Keyring } from '../../../../coordinator/auth/keyring.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock, systemEntropy } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { createKey, KEYS_PER_PROJECT_MAX, keyHash, listKeys, revokeKey } from '../../../../shared/registry/keys.js';
import { eventually, rejection } from '../../../support/expectations.js';

describe('the keys of a project', () => {
  let bucket: MemoryBucket;
  let keyring: Keyring;
  const create = (project: string) => createKey(bucket, { project, scope: 'read_only' }, systemClock, systemEntropy);
  const make = (project: string) => keyring.make(project, () => create(project));

  beforeEach(async () => {
    bucket = new MemoryBucket({ logger: silentLogger });
    for (let i = 0; i < KEYS_PER_PROJECT_MAX - 2; i++) await create('full');
    keyring = await Keyring.open(bucket, systemClock, silentLogger);
  });
  afterEach(async () => {
    await keyring.close();
    bucket.close();
  });

  it('are limited in number, also for concurrent creations, separately for each project', async () => {
    const made = await Promise.allSettled(Array.from({ length: 10 }, () => make('full')));
    expect(made.filter(({ status }) => status === 'fulfilled')).to.have.length(2);
    expect(await listKeys(bucket, 'full')).to.have.length(KEYS_PER_PROJECT_MAX);
    expect(await rejection(make('full'))).to.include({
      code: 'capacity_exceeded',
      message: 'the project has 1000 API keys, its bound; revoke one first',
    });
    await make('other');
  });

  it('leave room for another key after a revocation, or after a failed creation', async () => {
    const [first] = [await make('full'), await make('full')];
    await revokeKey(bucket, first!.record.id, 'full');
    keyring.forget(keyHash(first!.key)!);
    const failed = keyring.make('full', async () => {
      throw new Error('the store is away');
    });
    expect((await rejection(failed)).message).to.equal('the store is away');
    await make('full');
    expect(await listKeys(bucket, 'full')).to.have.length(KEYS_PER_PROJECT_MAX);
  });
});

describe('a check of thousands of keys', () => {
  it('logs all expired keys, at most a hundred in a turn, and marks them in the store', async () => {
    const KEYS = 2_000;
    const bucket = new MemoryBucket({ logger: silentLogger });
    // Each reading of the monotonic clock advances it by a millisecond.
    let [nowMs, monotonicMs] = [systemClock.nowMs(), 0];
    const clock = { nowMs: () => nowMs, monotonicMs: () => monotonicMs++ };
    let last = '';
    for (let i = 0; i < KEYS; i++) {
      const wanted = { project: `p${i % 7}`, scope: 'read_only', expiresAtMs: nowMs + 60_000 } as const;
      last = (await createKey(bucket, wanted, clock, systemEntropy)).key;
    }
    const logged = [0];
    const warn = (): void => void logged.push(logged.pop()! + 1);
    const keyring = await Keyring.open(bucket, clock, { ...silentLogger, warn } as unknown as typeof silentLogger);
    nowMs += 61_000;
    const hashHex = keyHash(last)!;
    expect(keyring.isExpired(hashHex, keyring.find(hashHex)!)).to.equal(true);
    let isOver = false;
    const countTurns = (): void => {
      logged.push(0);
      if (!isOver) setImmediate(countTurns);
    };
    countTurns();
    await eventually('every key is noted as expired', async () =>
      (await listKeys(bucket)).every(({ expiredAtMs }) => expiredAtMs === nowMs),
    );
    isOver = true;
    expect(logged.reduce((sum, lines) => sum + lines)).to.equal(KEYS);
    expect(Math.max(...logged)).to.be.at.most(100);
    await keyring.close();
    bucket.close();
  });
});
