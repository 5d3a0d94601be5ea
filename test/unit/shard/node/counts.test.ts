// Covers: shard/node/shardRpc.ts
/** The answer of a shard to a count of its collections. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { unavailable } from '../../../../shared/errors/errors.js';
import { expectCode, rejection } from '../../../support/expectations.js';
import { ShardRig } from '../../../support/rigs/shardRig.js';

const HELD = 7;
const MISSING = 8;
const AWAY_MS = 20;

describe('counts of a shard', () => {
  let rig: ShardRig;
  beforeEach(async () => {
    rig = new ShardRig();
    await rig.shard('s1');
    await rig.create(HELD, 's1');
  });
  afterEach(() => rig.stop());

  const count = (...collectionIds: number[]) => rig.ask('s1', { op: 'count', collectionIds });

  it('include collections that are not open', async () => {
    expect(await count(HELD)).to.deep.include({ records: [0], sequences: [0] });
  });

  it('fail without an unhandled rejection if a collection is foreign and the log of another is unreachable', async () => {
    let failed = 0;
    rig.cluster.logs.open = async () => {
      await delay(AWAY_MS);
      failed++;
      throw unavailable('the log is away');
    };
    expect((await rejection(count(HELD, MISSING))).message).to.include(`does not serve collection ${MISSING}`);
    // An unhandled rejection would have failed the test by now.
    await delay(2 * AWAY_MS);
    expect(failed).to.equal(1);
    await expectCode(count(HELD), 'unavailable');
  });
});
