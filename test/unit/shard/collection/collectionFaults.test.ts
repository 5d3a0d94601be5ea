/** A collection whose log fails it: nothing is applied before it is durable, nothing is written twice, nothing is assumed. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { systemClock } from '../../../../shared/clock.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import { LogDamaged } from '../../../../shared/log/eventLog.js';
import { eventually, expectCode, gate } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { configOf, Engine, fixed, insertOf, requestIdOf, type TestCollection } from '../../../support/rigs/engine.js';
import { replayedLog } from '../../../support/rigs/replayedLog.js';
import { type Fate, ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;

describe('a collection whose log fails', () => {
  let logs: ScriptedLogs;
  let engine: Engine;
  let collection: TestCollection;
  beforeEach(() => {
    logs = new ScriptedLogs();
    engine = new Engine(logs);
    collection = engine.host(configOf(ID));
  });
  afterEach(() => collection.hosted.close({ keep: true }));

  it('shows nothing that is not durable; what waits meanwhile shares the next frame', async () => {
    await collection.insert([1, 0]);
    const disk = gate();
    logs.fates.push(disk.opened);
    const slow = collection.insert([2, 0]);
    await eventually('the append is under way', () => logs.appends === 2);
    const waiting = Array.from({ length: 20 }, (_, i) => collection.insert([3 + i, 0]));
    expect(await collection.found()).to.deep.equal([1]);
    await expectCode(collection.get(2), 'record_not_found');
    disk.open();
    expect((await slow).id).to.equal(2);
    await Promise.all(waiting);
    expect(logs.frames(ID)).to.have.length(3);
    expect(await collection.records()).to.equal(22);
  });

  it('refuses nothing because of a write that is not durable, nor where that comes to nothing', async () => {
    await collection.insert([1, 0]);
    const disk = gate();
    logs.fates.push(disk.opened);
    const deletion = collection.write({ op: 'softDelete', id: 1 });
    let isRefused = false;
    const refused = expectCode(collection.write({ op: 'softDelete', id: 1 }), 'record_not_found').then(() => {
      isRefused = true;
    });
    await eventually('the append is under way', () => logs.appends === 2);
    const [found, wasRefused] = [await collection.found(), isRefused];
    disk.open();
    expect({ found, wasRefused }).to.deep.equal({ found: [1], wasRefused: false });
    await Promise.all([deletion, refused]);

    await collection.insert([2, 0]);
    logs.fates.push('lost');
    const both = [1, 2].map(() => collection.write({ op: 'softDelete', id: 2 }));
    for (const each of both) await expectCode(each, 'unavailable');
    expect(await collection.found()).to.deep.equal([2]);
  });

  const unknown: [Fate, string][] = [
    ['landed', 'the frame was there'],
    ['lost', 'the frame was not there'],
    ['late', 'the frame came later'],
  ];
  for (const [fate, title] of unknown)
    it(`after an unknown outcome a retry makes no second record, where ${title}`, async () => {
      await collection.insert([1, 0]);
      logs.fates.push(fate);
      const requestId = requestIdOf(1);
      await expectCode(collection.insert([2, 0], { requestId }), 'unavailable');
      logs.landLate();
      const retried = await collection.insert([2, 0], { requestId });
      expect(retried).to.include({ id: 2, deduplicated: fate !== 'lost' });
      expect(retried.receipt).to.include({ record_id: 2, sequence: 2 });
      expect(await collection.found()).to.deep.equal([1, 2]);
      expect((await replayedLog(logs.frames(ID))).problems).to.deep.equal([]);
    });

  it('a late frame that lands between the retry’s look and its append wins, and the retry finds it', async () => {
    logs.fates.push('late');
    const requestId = requestIdOf(1);
    await expectCode(collection.insert([1, 0], { requestId }), 'unavailable');
    const turn = gate();
    logs.fates.push(turn.opened);
    const retry = expectCode(collection.insert([1, 0], { requestId }), 'unavailable');
    await eventually('the retry is under way', () => logs.appends === 2);
    expect(logs.landLate()).to.equal(true);
    turn.open();
    await retry;
    expect(await collection.insert([1, 0], { requestId })).to.include({ id: 1, deduplicated: true });
    expect(await collection.records()).to.equal(1);
  });

  it('one that was fenced takes in what the other owner wrote before it writes again', async () => {
    await collection.insert([1, 0]);
    const other = new Engine(logs).host(configOf(ID));
    await other.insert([2, 0], { requestId: requestIdOf(2) });
    await expectCode(collection.insert([3, 0]), 'unavailable');
    expect((await collection.replay(requestIdOf(2))).record_id).to.equal(2);
    expect((await collection.insert([3, 0])).id).to.equal(3);
    expect(await collection.found()).to.deep.equal([1, 2, 3]);
    await other.hosted.close({ keep: true });
  });

  it('one whose log is read a second time before the first reading has ended takes in each frame once', async () => {
    await collection.insert([1, 0]);
    const other = new Engine(logs).host(configOf(ID));
    await other.insert([2, 0]);
    await other.insert([3, 0]);
    const { journal } = await collection.hosted.opened();
    // The first one stays behind where reading a collection's watermark fails beside it.
    await Promise.all([journal.catchUp(), journal.catchUp()]);
    expect(journal.sequence).to.equal(3);
    expect(await collection.found()).to.deep.equal([1, 2, 3]);
    await other.hosted.close({ keep: true });
  });

  it('a write past its deadline is refused and leaves nothing, its neighbours are committed', async () => {
    const late = { requestId: 'late', deadlineMs: systemClock.nowMs() - 1 };
    const [refused, taken] = await Promise.allSettled([
      collection.write(insertOf(fixed(1, 1)), late),
      collection.insert([2, 0]),
    ]);
    expect((refused as PromiseRejectedResult).reason).to.include({ code: 'unavailable' });
    expect(taken.status).to.equal('fulfilled');
    expect(await collection.records()).to.equal(1);
  });

  it('closing answers the commit under way and refuses what waits behind it', async () => {
    const disk = gate();
    logs.fates.push(disk.opened);
    const underWay = collection.insert([1, 0]);
    await eventually('the append is under way', () => logs.appends === 1);
    const behind = expectCode(collection.insert([2, 0]), 'unavailable');
    const closed = collection.hosted.close({ keep: true });
    await behind;
    disk.open();
    expect((await underWay).id).to.equal(1);
    await closed;
    await expectCode(collection.insert([3, 0]), 'unavailable');
    expect(await engine.host(configOf(ID)).found()).to.deep.equal([1]);
  });

  it('records whose commit has an unknown outcome stay reserved until it is known', async () => {
    logs.lateMs = 60_000;
    const tight = new Engine(logs, { capacity: 10 });
    const one = tight.host(configOf(ID));
    const two = tight.host(configOf(8));
    logs.fates.push('late');
    await expectCode(one.batch(Array.from({ length: 8 }, (_, i) => [i, 0])), 'unavailable');
    const others = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => two.insert([i, 0])));
    logs.landLate();
    const there =
      (await one.insert([1, 1]).then(
        () => 1,
        () => 0,
      )) + 8; // prettier-ignore
    expect(await one.records()).to.equal(there);
    expect(others.filter(({ status }) => status === 'fulfilled').length + there).to.be.at.most(10);
    await Promise.all([one.hosted.close({ keep: true }), two.hosted.close({ keep: true })]);
  });

  it('a failed read while it opens is no damage: the next call opens it', async () => {
    await collection.insert([1, 0]);
    const again = engine.host(configOf(ID));
    logs.failRead = new VouchError('unavailable', 'no connection');
    await expectCode(again.get(1), 'unavailable');
    expect((await again.get(1)).id).to.equal(1);
    expect(again.hosted.quarantined).to.equal(false);
    await again.hosted.close({ keep: true });
  });

  it('a log with another collection’s genesis is refused, and nothing is written to it', async () => {
    await collection.insert([1, 0]);
    logs.writeAs(8, logs.frames(ID)[0] as Uint8Array);
    const other = engine.host(configOf(8));
    const error = await expectCode(other.get(1), 'internal_error');
    expect(error.message).to.match(/"c8".*genesis/);
    await expectCode(other.insert([1, 0]), 'internal_error');
    expect(logs.frames(8)).to.have.length(1);
    expect(other.hosted.quarantined).to.equal(true);
    expect((await collection.get(1)).id).to.equal(1);
  });

  it('a log whose frames are tampered with, moved or left out is refused by name', async () => {
    for (let i = 0; i < 3; i++) await collection.insert([i, 0]);
    const whole = logs.frames(ID) as Uint8Array[];
    const flipped = Uint8Array.from(whole[1] as Uint8Array);
    flipped[100] = (flipped[100] as number) ^ 1;
    const damaged: Uint8Array[][] = [
      [whole[0]!, flipped, whole[2]!],
      [whole[0]!, whole[2]!, whole[1]!],
      [whole[0]!, whole[2]!],
      [whole[1]!, whole[2]!],
      [whole[0]!, whole[0]!],
    ];
    for (const [n, frames] of damaged.entries()) {
      const id = 20 + n;
      const alone = new ScriptedLogs();
      for (const frame of frames) alone.writeAs(ID, frame);
      const refused = new Engine(alone).host(configOf(ID, `c${ID}`));
      const error = await expectCode(refused.get(1), 'internal_error');
      expect(error.message, `case ${id}`).to.match(/"c7" is quarantined/);
    }
  });

  it('damage met in the middle of its work stops the collection for all callers, by name', async () => {
    await collection.insert([1, 0]);
    const disk = gate();
    logs.fates.push(disk.opened);
    const first = expectCode(collection.insert([2, 0]), 'unavailable');
    await eventually('the append is under way', () => logs.appends === 2);
    logs.writeAs(ID, new Uint8Array(300));
    const waiting = [3, 4].map((n) => expectCode(collection.insert([n, 0]), 'internal_error'));
    disk.open();
    await first;
    for (const error of await Promise.all(waiting)) expect(error.message).to.match(/"c7" is quarantined/);
    await expectCode(collection.get(1), 'internal_error');
    expect(collection.hosted.quarantined).to.equal(true);
    expect(logs.frames(ID)).to.have.length(2);
  });

  it('damage that the log itself reports quarantines the collection', async () => {
    await collection.insert([1, 0]);
    const again = engine.host(configOf(ID));
    logs.failRead = new LogDamaged(ID, 'a frame does not verify');
    expect((await expectCode(again.get(1), 'internal_error')).message).to.match(/"c7" is quarantined/);
    expect(again.hosted.quarantined).to.equal(true);
  });

  it('a commit that runs when the collection is quarantined ends before another shard may own it', async () => {
    await collection.insert([1, 0]);
    const disk = gate();
    logs.fates.push(disk.opened);
    const running = collection.insert([2, 0]);
    await eventually('the append is under way', () => logs.appends === 2);
    const { hosted } = collection;
    await expectCode(hosted.assertStored('its stream is gone'), 'internal_error');
    expect(hosted.quarantined).to.equal(true);
    expect(await hosted.pause(10), 'paused').to.equal(false);
    expect(hosted.mayGetAppends).to.equal(true);
    let isDemoted = false;
    const demoted = hosted.demote().then(() => {
      isDemoted = true;
    });
    await delay(10);
    expect(isDemoted).to.equal(false);
    disk.open();
    await demoted;
    expect((await running).id).to.equal(2);
    expect(hosted.mayGetAppends).to.equal(false);
  });

  it('an old receipt that cannot be made from the log any more quarantines the collection', async () => {
    const requestId = requestIdOf(1);
    await collection.insert([1, 0], { requestId });
    await collection.insert([2, 0]);
    const bytes = Uint8Array.from(logs.frames(ID)[0] as Uint8Array);
    bytes[80] = (bytes[80] as number) ^ 1;
    logs.tamper(ID, 0, bytes);
    const error = await expectCode(collection.insert([1, 0], { requestId }), 'internal_error');
    expect(error.message).to.match(/"c7" is quarantined/);
    expect(collection.hosted.quarantined).to.equal(true);
  });

  it('under random failures every retried write is one record, and the log verifies', async () => {
    const random = seededRandom(testSeed());
    const fates: Fate[] = ['stored', 'stored', 'landed', 'lost', 'late', 'fenced'];
    const write = async (n: number): Promise<number> => {
      for (;;) {
        logs.fates.splice(0, logs.fates.length, random.pick(fates));
        if (random.int(3) === 0) logs.landLate();
        try {
          return (await collection.insert([n, n], { requestId: requestIdOf(n) })).id;
        } catch (error) {
          expect(error).to.include({ code: 'unavailable' });
        }
      }
    };
    const ids = new Map<number, number>();
    for (let n = 0; n < 300; n += 4) {
      const some = [n, n + 1, n + 2, n + 3];
      const answered = await Promise.all(some.map(write));
      some.forEach((one, i) => {
        ids.set(one, answered[i] as number);
      });
    }
    logs.fates.length = 0;
    expect(new Set(ids.values()).size).to.equal(300);
    expect(await collection.records()).to.equal(300);
    for (const [n, id] of ids) expect((await collection.get(id)).vector).to.deep.equal(Buffer.from(fixed(n, n)));
    const { receipt } = await collection.insert([0, 1]);
    const report = await replayedLog(logs.frames(ID));
    expect(report.problems).to.deep.equal([]);
    expect(report.stateHash).to.equal(receipt.state_hash);
  });
});
