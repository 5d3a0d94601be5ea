/** The memory and store limits that `npm start` gives to the shards of one machine. */
import { expect } from 'chai';
import { loadConfig } from '../../../../../config/load.js';
import { shardSizes } from '../../../../../scripts/local/supervisor/clusterPlans.js';
import { systemMemoryBytes } from '../../../../../shared/process/memoryLimit.js';

describe('the limits that npm start gives its shards', () => {
  it('divide the memory among the shards, and pass on the limit of the NATS store', () => {
    expect(shardSizes(loadConfig({}), 4, 9_000_000_000)).to.deep.equal({
      VOUCH_MEMORY_BYTES: String(Math.floor(systemMemoryBytes() / 4)),
      VOUCH_STORE_BYTES: '9000000000',
    });
  });

  it('are the configured ones if set', () => {
    const limits = { memoryBytes: 5_000_000_000, storeBytes: 7_000_000_000 };
    expect(shardSizes(loadConfig({}, { limits }), 4, 9_000_000_000)).to.deep.equal({
      VOUCH_MEMORY_BYTES: '5000000000',
      VOUCH_STORE_BYTES: '7000000000',
    });
  });
});
