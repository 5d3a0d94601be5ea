// Covers: coordinator/serviceLog/accessTrims.ts, shared/model/accessDay.ts
import { expect } from 'chai';
import { AccessTrims } from '../../../../coordinator/serviceLog/accessTrims.js';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { silentLogger } from '../../../../shared/logger.js';
import { eventually } from '../../../support/expectations.js';

const HASH = '07'.repeat(32);
const headOf = (collectionId: number) => ({
  ...{ collectionId, configHash: HASH, timeMs: 0, size: 10 * collectionId, chainHead: HASH, root: HASH },
});

describe('the removal of old entries of access logs', () => {
  let leads: boolean;
  let monotonicMs: number;
  let asked: string[];
  let trims: AccessTrims;
  beforeEach(() => {
    [leads, monotonicMs, asked] = [false, 1, []];
    trims = new AccessTrims({
      sources: {
        get leads() {
          return leads;
        },
        withRetention: () => [1, 2, 3],
        trimAccess: async (id, { size }) => {
          asked.push(`${id}:${size}`);
          if (id === 1) throw unavailable('its owner does not answer');
          return 1;
        },
      },
      covered: async (id) => (id === 2 ? undefined : headOf(id)),
      clock: { ...systemClock, monotonicMs: () => monotonicMs },
      logger: silentLogger,
    });
    trims.start();
  });
  afterEach(() => trims.stop());

  it('asks every owner of a covered log soon after the lease begins, then once an hour', async () => {
    leads = true;
    await eventually('the owners are asked', () => asked.length === 2);
    expect(asked).to.deep.equal(['1:10', '3:30']);
    monotonicMs += 3_599_000;
    await trims.lookNow();
    expect(asked).to.have.length(2);
    monotonicMs += 2_000;
    await trims.lookNow();
    expect(asked).to.have.length(4);
  });

  it('asks nothing without the lease, and at once when it is back', async () => {
    await trims.lookNow();
    expect(asked).to.deep.equal([]);
    leads = true;
    await trims.lookNow();
    leads = false;
    await trims.lookNow();
    leads = true;
    await trims.lookNow();
    expect(asked).to.have.length(4);
  });
});
