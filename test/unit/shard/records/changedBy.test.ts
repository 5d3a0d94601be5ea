// Covers: shard/state/collectionState.ts, shard/audit/stateTree.ts, shard/snapshot/restore.ts, shard/records/readRecords.ts
/** The `log_index` of records, compared with the last event of each record in the log, wherever a state comes from. */
import { expect } from 'chai';
import type { ReadCall, ResultOf } from '../../../../shared/protocol/calls.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { CollectionLife } from '../../../support/rigs/collectionLife.js';
import { batchOf, fixed, soon, type TestCollection } from '../../../support/rigs/engine.js';
import { numbersIn, ShardRig } from '../../../support/rigs/shardRig.js';
import { SnapshotRig } from '../../../support/rigs/snapshotRig.js';

const ID = 7;

type Ask = <C extends ReadCall>(call: C) => Promise<ResultOf<C>>;

const askOf =
  ({ hosted }: TestCollection): Ask =>
  async <C extends ReadCall>(call: C) =>
    (await hosted.run(call, soon())) as ResultOf<C>;

/** Pairs of record and event, as the log has them, of all records that can be read. */
async function expected(ask: Ask): Promise<[number, number][]> {
  const { events } = await ask({ op: 'timeline', fromMs: 0, toMs: 8e15, after: 0, limit: 10_000 });
  const last = new Map<number, number>();
  for (const { type, recordId, sequence } of events)
    if (recordId !== undefined && type !== 'addNode') last.set(recordId, sequence);
  const { ids } = await ask({ op: 'listRecords', after: 0, limit: 1_000, fields: [], maxBytes: 1 << 20 });
  return numbersIn(ids).map((id) => [id, last.get(id)!]);
}

async function expectRight(ask: Ask): Promise<void> {
  const pairs = await expected(ask);
  expect(pairs).to.have.length.at.least(2);
  const fields = ['log_index'] as const;
  const listed = await ask({ op: 'listRecords', after: 0, limit: 1_000, fields, maxBytes: 1 << 20 });
  expect(numbersIn(listed.fields.changedBy!)).to.deep.equal(pairs.map(([, sequence]) => sequence));
  for (const [id, sequence] of pairs)
    expect((await ask({ op: 'get', id })).changedBy, `record ${id}`).to.equal(sequence);
}

describe('the log_index of records', () => {
  it('is their last event after every write, a snapshot, and a replay of the log', async () => {
    const rig = await SnapshotRig.start();
    try {
      const life = new CollectionLife(() => rig.collection, seededRandom(testSeed()));
      await life.live(120);
      await expectRight(askOf(rig.collection));
      await rig.snapshot();
      await life.live(60);
      await rig.reopen();
      await expectRight(askOf(rig.collection));
      expect(await rig.openedFrom()).to.equal('snapshot');
      await expectRight(askOf(rig.replayed()));
      await life.live(60);
      await expectRight(askOf(rig.collection));
    } finally {
      await rig.stop();
    }
  });

  it('is their last event at a follower that becomes the owner', async () => {
    const rig = new ShardRig();
    try {
      await Promise.all(['s1', 's2'].map((name) => rig.shard(name)));
      await rig.create(ID, 's1', ['s2']);
      const upsert = (externalIds: string[], since?: number) =>
        rig.call(ID, {
          ...batchOf(externalIds.map(() => fixed(1, 1))),
          externalIds,
          ...(since === undefined ? {} : { since }),
        });
      await upsert(['a', 'b', 'c']);
      await rig.untilFollowed(ID);
      await upsert(['b']);
      await rig.call(ID, { op: 'patchMetadata', id: 1, patch: Buffer.from('{"n":1}') });
      await rig.untilFollowed(ID);
      await rig.move(ID, 's2');
      expect((await rig.ownership(ID)).shard).to.equal('s2');
      await expectRight((call) => rig.call(ID, call));
      const refused = await upsert(['b'], 3).catch((error: Error) => error.message);
      expect(refused).to.equal('record 2 was changed by event 4, after 3: read it again');
      await upsert(['b'], 4);
      await expectRight((call) => rig.call(ID, call));
    } finally {
      await rig.stop();
    }
  });
});
