// Covers: shard/node/collectionReplica.ts, shard/node/rejoin.ts, shard/node/shardNode.ts
/** Transfers of a collection between shards under writes and reads. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import type { Call, ResultOf } from '../../../../shared/protocol/calls.js';
import { NotServed } from '../../../../shared/transport/transportErrors.js';
import { eventually, expectCode, gate, rejection } from '../../../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { fixed, insertOf, receiptIn } from '../../../support/rigs/engine.js';
import { Reach } from '../../../support/rigs/memoryCluster.js';
import { numbersIn, type RiggedShard, ShardRig, watchOpenings } from '../../../support/rigs/shardRig.js';

const ID = 7;
const SHARDS = ['s1', 's2', 's3'];
/** The largest k of the contract. */
const MOST_FOUND = 5_000;

describe('an ownership transfer', () => {
  let rig: ShardRig;
  const shards = new Map<string, RiggedShard>();
  beforeEach(async () => {
    rig = new ShardRig();
    for (const name of SHARDS) shards.set(name, await rig.shard(name));
    await rig.create(ID, 's1');
  });
  afterEach(() => rig.stop());

  const insert = (x: number, withinMs?: number): Promise<ResultOf<Call & { op: 'insert' }>> =>
    rig.call(ID, insertOf(fixed(x, 0)), withinMs);
  const describeNow = (): Promise<ResultOf<{ op: 'describe' }>> => rig.call(ID, { op: 'describe' });
  const handOver = (to: string, epoch: number, withinMs?: number): Promise<unknown> =>
    rig.ask('s1', { op: 'handOver', collectionId: ID, epoch, to, followers: ['s1'] }, withinMs);

  const found = async (epoch: number): Promise<number> => {
    const { ids } = await rig.askEpoch(ID, epoch, { op: 'search', query: fixed(0, 0), k: MOST_FOUND });
    return numbersIn(ids).length;
  };

  /** Writes and reads until `isOver`. No call fails, and no read misses a write that was answered before it. */
  async function load(random: SeededRandom, isOver: () => boolean): Promise<number> {
    let answered = 0;
    const inserted = new Set<number>();
    const writer = async (): Promise<void> => {
      while (!isOver()) {
        const answer = await insert(random.int(1_000));
        const { id } = answer;
        expect(inserted.has(id), `record ${id} was given twice`).to.equal(false);
        inserted.add(id);
        answered = Math.max(answered, receiptIn(answer).sequence);
      }
    };
    // A coordinator that receives no change asks the known owner as long as that answers.
    const reader = async (): Promise<void> => {
      let { epoch } = await rig.ownership(ID);
      while (!isOver()) {
        const before = answered;
        try {
          const isSearch = random.int(4) === 0;
          const seen = isSearch ? await found(epoch) : (await rig.askEpoch(ID, epoch, { op: 'describe' })).sequence;
          expect(seen).to.be.at.least(isSearch ? Math.min(before, MOST_FOUND) : before);
        } catch (error) {
          if (!(error instanceof NotServed)) throw error;
          await delay(1);
          ({ epoch } = await rig.ownership(ID));
        }
      }
    };
    await Promise.all([writer(), writer(), reader(), reader()]);
    const { records, sequence } = await describeNow();
    expect({ records, sequence }).to.deep.equal({ records: inserted.size, sequence: inserted.size });
    return inserted.size;
  }

  it('between any two shards fails no call, and no later read shows an earlier state', async () => {
    const random = seededRandom(testSeed());
    const { opened, end } = watchOpenings();
    let isOver = false;
    const loading = load(random, () => isOver);
    try {
      for (let moves = 0; moves < 25; moves++) {
        const { shard } = await rig.ownership(ID);
        await rig.move(ID, random.pick(SHARDS.filter((name) => name !== shard)));
      }
    } finally {
      isOver = true;
    }
    expect(await loading).to.be.above(25);
    end();
    expect(opened.length, 'each shard opens it once').to.be.at.most(SHARDS.length);
    expect((await rig.ownership(ID)).epoch).to.equal(26);
    expect(await rig.metric('s1', 'vouch_follower_diverged_total')).to.equal(0);
  });

  it('with an unanswered change of the owner entry is settled without stale reads or lost writes', async () => {
    const random = seededRandom(testSeed());
    let isOver = false;
    const loading = load(random, () => isOver);
    try {
      for (let moves = 0; moves < 12; moves++) {
        const { shard } = await rig.ownership(ID);
        const { opened, open } = gate();
        const { reach } = shards.get(shard)!;
        const updates: unknown[] = reach.ownerUpdates;
        // Only a repeated attempt finds the outcome.
        reach.hold(BUCKETS.owners);
        for (let n = random.int(3); n >= 0; n--) updates.push(random.pick(['lost', 'landed', opened]));
        setTimeout(open, random.int(200));
        await rig.move(ID, random.pick(SHARDS.filter((name) => name !== shard))).catch((error: unknown) => {
          // A late change may have altered the entry while the followers were written.
          expect((error as Error).message).to.match(/conflict|changed|not owned|does not follow/);
        });
        updates.length = 0;
        reach.release(BUCKETS.owners);
      }
    } finally {
      isOver = true;
    }
    expect(await loading).to.be.above(12);
  });

  it('with an outcome that arrives after a move away and back leaves one owner that answers', async () => {
    const { reach } = shards.get('s1')!;
    const unanswered = 1_000;
    reach.ownerUpdates.push(...Array.from({ length: unanswered }, () => 'lost' as const));
    const moving = handOver('s2', 1).catch((error: unknown) => error);
    await eventually('the transfer begins', () => reach.ownerUpdates.length < unanswered);
    for (const [epoch, shard] of [
      [2, 's2'],
      [3, 's1'],
    ] as const) {
      await rig.change(ID, { shard, epoch });
      for (const each of SHARDS) await rig.ask(each, { op: 'adopt', collectionIds: [ID] });
    }
    reach.ownerUpdates.length = 0;
    expect(await moving).to.have.property('code', 'conflict');
    await rig.askEpoch(ID, 3, { op: 'describe' });
    await rig.change(ID, { shard: 's2', epoch: 4 });
    for (const each of SHARDS) await rig.ask(each, { op: 'adopt', collectionIds: [ID] });
    expect(await rejection(rig.askEpoch(ID, 3, { op: 'describe' }))).to.be.instanceOf(NotServed);
    await rig.askEpoch(ID, 4, { op: 'describe' });
  });

  it('finishes and answers the running commit, and waiting writes are answered by the next owner', async () => {
    await insert(1);
    await rig.change(ID, { followers: ['s2'] });
    await rig.warm('s2', ID);
    const { opened, open } = gate();
    rig.cluster.logs.fates.push(opened);
    const underWay = rig.askEpoch(ID, 1, insertOf(fixed(2, 0)));
    await eventually('the append is under way', () => rig.cluster.logs.appends === 2);
    const waits = rig.askEpoch(ID, 1, insertOf(fixed(3, 0)));
    const retried = insert(4);
    const handed = handOver('s2', 1);
    expect((await describeNow()).sequence, 'reads continue').to.equal(1);
    open();
    expect((await underWay).id).to.equal(2);
    expect(await rejection(waits)).to.be.instanceOf(NotServed);
    await handed;
    expect((await retried).id).to.equal(3);
    expect(await rig.ownership(ID)).to.deep.include({ shard: 's2', epoch: 2, followers: ['s1'] });
    expect(await rejection(rig.askEpoch(ID, 1, { op: 'describe' }))).to.be.instanceOf(NotServed);
    await rig.untilFollowed(ID);
  });

  it('is refused if a commit takes too long, and the owner continues to serve', async () => {
    await insert(1);
    const { opened, open } = gate();
    rig.cluster.logs.fates.push(opened);
    const underWay = insert(2);
    await eventually('the append is under way', () => rig.cluster.logs.appends === 2);
    const waits = insert(3);
    const error = await expectCode(handOver('s2', 1, 700), 'unavailable');
    expect(error).not.to.be.instanceOf(NotServed);
    open();
    expect([(await underWay).id, (await waits).id]).to.deep.equal([2, 3]);
    expect((await rig.ownership(ID)).shard).to.equal('s1');
  });

  it('is refused at another shard, under another epoch, and beside another transfer', async () => {
    await insert(1);
    await expectCode(handOver('s2', 2), 'conflict');
    await expectCode(handOver('s1', 1), 'conflict');
    const other = rig.ask('s2', { op: 'handOver', collectionId: ID, epoch: 1, to: 's3', followers: [] });
    await expectCode(other, 'conflict');
    const both = await Promise.allSettled([handOver('s2', 1), handOver('s3', 1)]);
    expect(both.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
    expect((await insert(2)).id).to.equal(2);
  });

  it('leaves the owner serving if it loses against another change of the entry', async () => {
    await insert(1);
    const { ownerUpdates } = shards.get('s1')!.reach;
    ownerUpdates.push('lost');
    const handed = rejection(handOver('s2', 1));
    await eventually('the update of the owner is lost', () => ownerUpdates.length === 0);
    await rig.change(ID, { followers: ['s3'] });
    const error = await handed;
    expect(error.message).to.match(/changed meanwhile/);
    expect((await insert(2)).id).to.equal(2);
    expect(await rig.ownership(ID)).to.deep.include({ shard: 's1', epoch: 1 });
  });

  it('waits for the end of a hold on writes', async () => {
    for (let x = 0; x < 3; x++) await insert(x);
    await rig.call(ID, { op: 'hold', token: 't', holdMs: 60_000 });
    const waiting = insert(9);
    await expectCode(handOver('s2', 1, 700), 'unavailable');
    expect(await rig.ownership(ID)).to.deep.include({ shard: 's1', epoch: 1 });
    expect(await rig.ask('s1', { op: 'openIds' })).to.deep.equal({ open: [ID], held: [ID], following: [] });
    expect((await describeNow()).records).to.equal(3);
    const handed = handOver('s2', 1);
    await rig.call(ID, { op: 'release', token: 't' });
    await handed;
    expect((await waiting).id).to.equal(4);
    expect((await insert(10)).id).to.equal(5);
  });

  it('is refused if a hold on writes begins during its last commit', async () => {
    await insert(1);
    const { opened, open } = gate();
    rig.cluster.logs.fates.push(opened);
    const underWay = insert(2);
    await eventually('the append is under way', () => rig.cluster.logs.appends === 2);
    const handed = expectCode(handOver('s2', 1), 'unavailable');
    const holding = rig.call(ID, { op: 'hold', token: 't', holdMs: 60_000 });
    await eventually(
      'the shard holds its writes',
      async () => (await rig.ask('s1', { op: 'openIds' })).held.length === 1,
    );
    open();
    await Promise.all([underWay, handed, holding]);
    await rig.call(ID, { op: 'release', token: 't' });
    expect((await insert(3)).id).to.equal(3);
    expect((await rig.ownership(ID)).shard).to.equal('s1');
  });

  /** Restarts a shard, over `reach`. */
  const comeBack = async (name: string, reach?: Reach): Promise<void> => {
    await shards.get(name)!.stop();
    shards.set(name, await rig.shard(name, reach));
  };

  it('is made by a restarted shard before it answers, to followers with the collection in memory', async () => {
    const [followed, idle, alone] = [ID, ID + 1, ID + 2];
    await rig.create(idle, 's1', ['s2']);
    await rig.create(alone, 's1');
    await insert(1);
    await rig.call(alone, insertOf(fixed(1, 0)));
    await rig.change(followed, { followers: ['s3', 's2'] });
    await rig.warm('s2', followed);
    const { opened, end } = watchOpenings();
    await comeBack('s1');
    expect(await rig.ownership(followed)).to.deep.include({ shard: 's2', epoch: 2, followers: ['s3', 's1'] });
    expect((await insert(2)).id).to.equal(2);
    expect(opened, 'nothing was opened for that').to.deep.equal([]);
    end();
    for (const id of [idle, alone]) {
      expect(await rig.ownership(id)).to.deep.include({ shard: 's1', epoch: 1 });
      await rig.call(id, insertOf(fixed(2, 0)));
    }
    await rig.untilFollowed(followed);
  });

  it('from a shard that restarts repeatedly leads to no stale read, whatever its outcome', async () => {
    const random = seededRandom(testSeed());
    let isOver = false;
    const loading = load(random, () => isOver);
    try {
      for (let n = 0; n < 10; n++) {
        const { shard } = await rig.ownership(ID);
        const others = SHARDS.filter((name) => name !== shard);
        await rig.change(ID, { followers: others });
        await rig.warm(random.pick(others), ID);
        const reach = new Reach(rig.cluster);
        const { opened, open } = gate();
        const updates: unknown[] = reach.ownerUpdates;
        for (let fates = random.int(3); fates > 0; fates--) updates.push(random.pick(['lost', 'landed', opened]));
        setTimeout(open, random.int(200));
        await comeBack(shard, reach);
        expect((await rig.ownership(ID)).shard).not.to.equal(shard);
      }
    } finally {
      isOver = true;
    }
    expect(await loading).to.be.above(10);
  });

  it('moves only the owner entry of an unopened collection', async () => {
    await handOver('s2', 1);
    expect((await rig.ask('s1', { op: 'openIds' })).open).to.deep.equal([]);
    await rig.ask('s2', { op: 'adopt', collectionIds: [ID] });
    expect((await insert(1)).id).to.equal(1);
    expect((await rig.ask('s2', { op: 'openIds' })).open).to.deep.equal([ID]);
  });

  it('hands over the quota of the project, to the last record', async () => {
    await rig.stop();
    rig = new ShardRig({ limits: { maxRecords: 200 } });
    for (const name of SHARDS) shards.set(name, await rig.shard(name));
    await rig.create(ID, 's1');
    await rig.create(ID + 1, 's2');
    const random = seededRandom(testSeed());
    let inserted = 0;
    const fill = async (): Promise<void> => {
      for (;;) {
        try {
          await rig.call(random.pick([ID, ID + 1]), insertOf(fixed(1, 1)));
          inserted++;
        } catch (error) {
          expect((error as Error & { code: string }).code).to.equal('capacity_exceeded');
          return;
        }
      }
    };
    const filling = Promise.all([fill(), fill(), fill()]);
    for (let moves = 0; moves < 10; moves++) {
      const id = random.pick([ID, ID + 1]);
      const { shard } = await rig.ownership(id);
      await rig.move(id, random.pick(SHARDS.filter((name) => name !== shard)));
    }
    await filling;
    expect(inserted).to.equal(200);
  });

  it('to a shard that is cut off meanwhile is finished when that shard is reachable again', async () => {
    await insert(1);
    const { reach } = shards.get('s2')!;
    reach.hold(BUCKETS.owners);
    await handOver('s2', 1);
    rig.retries = false;
    expect(await rejection(insert(2))).to.be.instanceOf(NotServed);
    rig.retries = true;
    reach.release(BUCKETS.owners);
    expect((await insert(2)).id).to.equal(2);
  });
});
