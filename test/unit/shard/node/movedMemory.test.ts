// Covers: shard/state/dedupWindow.ts, shard/state/collectionState.ts, shard/node/ownershipTransfer.ts
// Covers: shard/node/casOwner.ts
/** State of a collection besides its records, which follows from the log: a warm move does not change it. */
import { expect } from 'chai';
import type { Call, ResultOf, Results } from '../../../../shared/protocol/calls.js';
import { expectCode } from '../../../support/expectations.js';
import { batchOf, fixed, insertOf, requestIdOf } from '../../../support/rigs/engine.js';
import { numbersIn, ShardRig } from '../../../support/rigs/shardRig.js';

const ID = 7;
const SHARDS = ['s1', 's2'];

describe('a collection after a warm move', () => {
  let rig: ShardRig;
  beforeEach(async () => {
    rig = new ShardRig();
    for (const name of SHARDS) await rig.shard(name);
    await rig.create(ID, 's1');
  });
  afterEach(() => rig.stop());

  const call = <C extends Call>(made: C): Promise<ResultOf<C>> => rig.call(ID, made);
  const insert = (n: number) => call(insertOf(fixed(n, n), { requestId: requestIdOf(n) }));
  const batch = async (...given: Parameters<typeof batchOf>): Promise<Results['insertBatch']> =>
    (await call(batchOf(...given))) as Results['insertBatch'];

  it('repeats first answers for request ids, hides deleted records, and reuses no id', async () => {
    const first = await insert(1);
    const batched = await batch([fixed(2, 2), fixed(3, 3)], [requestIdOf(2), null]);
    await call({ op: 'softDelete', id: 2 });
    await call({ op: 'delete', id: 3 });
    const before = await call({ op: 'describe' });
    for (const shard of ['s2', 's1', 's2']) {
      await rig.move(ID, shard);
      expect((await rig.ownership(ID)).shard).to.equal(shard);
      expect(await insert(1)).to.deep.equal({ ...first, deduplicated: true });
      const again = await batch([fixed(9, 9)], [requestIdOf(2)]);
      expect(numbersIn(again.ids)).to.deep.equal(numbersIn(batched.ids).slice(0, 1));
      for (const id of [2, 3]) {
        await expectCode(call({ op: 'get', id }), 'record_not_found');
        await expectCode(call({ op: 'softDelete', id }), 'record_not_found');
      }
      const past = await call({ op: 'search', query: fixed(0, 0), k: 9, asOf: { logIndex: 3 } });
      expect(numbersIn(past.ids)).to.deep.equal([1, 2, 3]);
      expect(await call({ op: 'describe' })).to.deep.equal(before);
    }
    expect((await insert(4)).id).to.equal(4);
  });
});
