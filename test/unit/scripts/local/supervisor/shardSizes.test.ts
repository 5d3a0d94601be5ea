/** What the shards of one machine are told of its memory and of the store of its NATS servers. */
import { expect } from 'chai';
import { loadConfig } from '../../../../../config/load.js';
import { shardSizes } from '../../../../../scripts/local/supervisor/clusterPlans.js';
import { systemMemoryBytes } from '../../../../../shared/process/memoryLimit.js';

describe('the sizes that npm start gives its shards', () => {
  it('divide the memory among them, and are what the store may take', () => {
    expect(shardSizes(loadConfig({}), 4, 9_000_000_000)).to.deep.equal({
      VOUCH_MEMORY_BYTES: String(Math.floor(systemMemoryBytes() / 4)),
      VOUCH_STORE_BYTES: '9000000000',
    });
  });

  it('are the configured ones where there are any', () => {
    const limits = { memoryBytes: 5_000_000_000, storeBytes: 7_000_000_000 };
    expect(shardSizes(loadConfig({}, { limits }), 4, 9_000_000_000)).to.deep.equal({
      VOUCH_MEMORY_BYTES: '5000000000',
      VOUCH_STORE_BYTES: '7000000000',
    });
  });
});
