// Covers: shard/collection/collection.ts, shard/collection/commitLoop.ts, shard/collection/planWrite.ts
// Covers: shard/collection/writeResult.ts
/** A collection over a failing log: it applies nothing before it is durable, and writes nothing twice. */
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

  it('shows only durable writes, and combines waiting writes into the next frame', async () => {
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

  it('does not refuse a write because of another that is not durable, or that fails', async () => {
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
    it(`stores one record for a retry after an unknown outcome, if ${title}`, async () => {
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

  it("finds by a retry a late frame that arrived between the retry's read and append", async () => {
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

  it('reads the frames of another owner before it writes again after it was fenced', async () => {
    await collection.insert([1, 0]);
    const other = new Engine(logs).host(configOf(ID));
    await other.insert([2, 0], { requestId: requestIdOf(2) });
    await expectCode(collection.insert([3, 0]), 'unavailable');
    expect((await collection.replay(requestIdOf(2))).record_id).to.equal(2);
    expect((await collection.insert([3, 0])).id).to.equal(3);
    expect(await collection.found()).to.deep.equal([1, 2, 3]);
    await other.hosted.close({ keep: true });
  });

  it('applies each frame once if its log is read twice at the same time', async () => {
    await collection.insert([1, 0]);
    const other = new Engine(logs).host(configOf(ID));
    await other.insert([2, 0]);
    await other.insert([3, 0]);
    const { journal } = await collection.hosted.opened();
    // This happens if a read of the collection's watermark fails beside the first reading.
    await Promise.all([journal.catchUp(), journal.catchUp()]);
    expect(journal.sequence).to.equal(3);
    expect(await collection.found()).to.deep.equal([1, 2, 3]);
    await other.hosted.close({ keep: true });
  });

  it('refuses a write past its deadline without an effect, and commits the others', async () => {
    const late = { requestId: 'late', deadlineMs: systemClock.nowMs() - 1 };
    const [refused, taken] = await Promise.allSettled([
      collection.write(insertOf(fixed(1, 1)), late),
      collection.insert([2, 0]),
    ]);
    expect((refused as PromiseRejectedResult).reason).to.include({ code: 'unavailable' });
    expect(taken.status).to.equal('fulfilled');
    expect(await collection.records()).to.equal(1);
  });

  it('when closed answers the commit in flight, and refuses the writes behind it', async () => {
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

  it('keeps records of an unknown commit reserved until its outcome is known', async () => {
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

  it('is not damaged by a failed read during its opening: the next call opens it', async () => {
    await collection.insert([1, 0]);
    const again = engine.host(configOf(ID));
    logs.failRead = new VouchError('unavailable', 'no connection');
    await expectCode(again.get(1), 'unavailable');
    expect((await again.get(1)).id).to.equal(1);
    expect(again.hosted.quarantined).to.equal(false);
    await again.hosted.close({ keep: true });
  });

  it("refuses a log with another collection's genesis, and writes nothing to it", async () => {
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

  it('refuses a log with altered, swapped or missing frames, by its name', async () => {
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

  it('refuses all callers, by its name, after it has found damage', async () => {
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

  it('is quarantined by damage that the log reports', async () => {
    await collection.insert([1, 0]);
    const again = engine.host(configOf(ID));
    logs.failRead = new LogDamaged(ID, 'a frame does not verify');
    expect((await expectCode(again.get(1), 'internal_error')).message).to.match(/"c7" is quarantined/);
    expect(again.hosted.quarantined).to.equal(true);
  });

  it('finishes a commit in flight during a quarantine before another shard may own it', async () => {
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

  it('is quarantined if an old receipt can no longer be made from its log', async () => {
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

  it('stores one record for each retried write under random failures, and its log verifies', async () => {
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
