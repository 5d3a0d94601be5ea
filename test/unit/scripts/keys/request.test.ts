// Covers: scripts/terminal/unknownWord.ts
import { expect } from 'chai';
import { type KeyRequest, parseKeyRequest } from '../../../../scripts/keys/request.js';
import { UsageError } from '../../../../scripts/terminal/commandLine.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock, systemEntropy } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { createKey } from '../../../../shared/registry/keys.js';
import { expectCode } from '../../../support/expectations.js';

const create = (...more: string[]): KeyRequest =>
  parseKeyRequest(['create', '--project', 'p', '--scope', 'read_only', ...more]);

describe('the arguments of keys create', () => {
  it('an expiry is at most the 136 years that the API accepts', () => {
    expect(create('--expires', '49710d')).to.include({ validMs: 49_710 * 86_400_000 });
    for (const expires of ['49711d', '999999w'])
      expect(() => create('--expires', expires)).to.throw(
        UsageError,
        `--expires is ${expires}; allowed are at most 49710d`,
      );
  });

  it('a label has at most the 100 characters that the API accepts', async () => {
    expect(create('--label', 'a'.repeat(100))).to.include({ label: 'a'.repeat(100) });
    expect(() => create('--label', 'a'.repeat(101))).to.throw(
      UsageError,
      '--label has 101 characters; allowed are 100',
    );
    const keys = new MemoryBucket({ logger: silentLogger });
    const wanted = { project: 'p', scope: 'admin', label: 'a'.repeat(101) } as const;
    await expectCode(createKey(keys, wanted, systemClock, systemEntropy), 'validation_error');
  });
});
