import { expect } from 'chai';
import { Keyring } from '../../../../coordinator/auth/keyring.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock, systemEntropy } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { createKey, KEYS_PER_PROJECT_MAX, keyHash, listKeys, revokeKey } from '../../../../shared/registry/keys.js';
import { rejection } from '../../../support/suites/expectations.js';

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

  it('are bounded, however many are made at once; another project is not affected', async () => {
    const made = await Promise.allSettled(Array.from({ length: 10 }, () => make('full')));
    expect(made.filter(({ status }) => status === 'fulfilled')).to.have.length(2);
    expect(await listKeys(bucket, 'full')).to.have.length(KEYS_PER_PROJECT_MAX);
    expect(await rejection(make('full'))).to.include({
      code: 'capacity_exceeded',
      message: 'the project has 1000 API keys, its bound; revoke one first',
    });
    await make('other');
  });

  it('leave room for one more when one is revoked, or could not be made', async () => {
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
