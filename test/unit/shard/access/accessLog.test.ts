// Covers: shard/access/accessLog.ts, shared/log/accessFrame.ts, shared/log/accessTree.ts, verifier/access.ts
import { expect } from 'chai';
import { AccessLog } from '../../../../shard/access/accessLog.js';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { overloaded } from '../../../../shared/errors/overloaded.js';
import { decodeAccessFrame } from '../../../../shared/log/accessFrame.js';
import { accessLogId } from '../../../../shared/model/logId.js';
import type { AccessHead } from '../../../../shared/protocol/access.js';
import { verifyAccessLog } from '../../../../verifier/access.js';
import { rejection } from '../../../support/expectations.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;

describe('the access log', () => {
  let logs: ScriptedLogs;
  let log: AccessLog;
  /** Days by which the clock is ahead. */
  let day: number;
  const clock: Clock = { ...systemClock, nowMs: () => systemClock.nowMs() + day * 86_400_000 };
  const open = (): AccessLog =>
    new AccessLog(ID, { logs, admission: { refusal: (reason) => overloaded(reason) }, clock });
  const envelope = () => ({ requestId: 'r', deadlineMs: clock.nowMs() + 5_000 });
  const entryOf = (key_id: string) => JSON.stringify({ actor: { key_id }, kind: 'search' });
  const addAll = (...keyIds: string[]) => log.add({ op: 'logAccess', entries: keyIds.map(entryOf) }, envelope());
  const add = (key_id: string) => addAll(key_id);
  const page = (more: object = {}) =>
    log.page(
      { op: 'accessPage', fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, after: 0, limit: 100, maxBytes: 1e6, ...more },
      envelope(),
    );
  const numbers = async (more?: object) =>
    (await page(more)).entries.map((entry) => (JSON.parse(entry) as { entry: number }).entry);
  const frames = () => logs.frames(accessLogId(ID));

  beforeEach(() => {
    logs = new ScriptedLogs();
    day = 0;
    log = open();
  });

  it('stores many entries in few frames, which the verifier accepts', async () => {
    await Promise.all(Array.from({ length: 100 }, (_, i) => add(`k${i}`)));
    expect(logs.appends).to.be.at.most(2);
    await add('last');
    const { head } = await page();
    const given = async function* () {
      yield* frames();
    };
    const report = await verifyAccessLog(given(), BigInt(ID), [head]);
    expect(report.head).to.deep.equal(head);
    expect([report.wrong, head.size]).to.deep.equal([[], 101]);
  });

  it('numbers the entries of several calls in their order, in one frame', async () => {
    await Promise.all([addAll('a', 'b'), add('c'), addAll('d', 'e')]);
    const stored = (await page()).entries.map(
      (text) => JSON.parse(text) as { entry: number; actor: { key_id: string } },
    );
    expect(stored.map(({ entry, actor }) => `${entry}${actor.key_id}`)).to.deep.equal(['1a', '2b', '3c', '4d', '5e']);
    expect(logs.appends).to.equal(1);
  });

  it('stores characters of several bytes, which the verifier accepts', async () => {
    const names = ['ü', '€', '😀', 'a'];
    await addAll(...names);
    const { entries, head } = await page();
    expect(entries.map((text) => (JSON.parse(text) as { actor: { key_id: string } }).actor.key_id)).to.deep.equal(
      names,
    );
    const given = async function* () {
      yield* frames();
    };
    expect((await verifyAccessLog(given(), BigInt(ID), [head])).wrong).to.deep.equal([]);
  });

  it('continues after the last frame of an earlier owner', async () => {
    for (const name of ['a', 'b', 'c']) await add(name);
    await log.end(unavailable('moved'));
    log = open();
    await add('d');
    expect(await numbers()).to.deep.equal([1, 2, 3, 4]);
    expect(frames().map((frame) => decodeAccessFrame(frame).before.size)).to.deep.equal([0, 1, 2, 3]);
  });

  for (const [fate, stored] of [
    ['lost', [1, 2]],
    ['landed', [1, 2, 3]],
    ['fenced', [1, 2]],
  ] as const)
    it(`does not confirm an entry whose append is ${fate}, and continues behind what is stored`, async () => {
      await add('a');
      logs.fates.push(fate);
      expect(await rejection(add('b'))).to.have.property('code', 'unavailable');
      await add('c');
      expect(await numbers()).to.deep.equal(stored);
    });

  it('refuses entries beyond its bound, and takes them again later', async () => {
    let release: () => void = () => undefined;
    logs.fates.push(new Promise<void>((resolve) => (release = resolve)));
    const first = add('a');
    await new Promise(setImmediate);
    const waiting = Array.from({ length: 4_096 }, () => add('b'));
    expect(() => add('c')).to.throw('too many reads wait for the access log');
    release();
    await Promise.all([first, ...waiting]);
    await add('d');
    expect((await page()).head.size).to.equal(4_098);
  });

  it('ends a page at the limit, at the size, and after 10,000 entries of other actors', async () => {
    for (let i = 0; i < 11; i++) await Promise.all(Array.from({ length: 1_000 }, () => add('k')));
    await add('wanted');
    expect((await page({ limit: 2 })).next).to.equal(2);
    expect((await page({ maxBytes: 1 })).entries).to.have.length(1);
    const first = await page({ actor: 'wanted' });
    expect([first.entries, first.next]).to.deep.equal([[], 10_000]);
    expect(await numbers({ actor: 'wanted', after: 10_000 })).to.deep.equal([11_001]);
  });

  it('reports a damaged frame, and shows nothing', async () => {
    await add('a');
    const [frame] = frames();
    logs.tamper(accessLogId(ID), 0, frame!.with(70, frame![70]! ^ 1));
    log = open();
    expect(String(await rejection(page()))).to.include('the access log of collection 7 is damaged');
  });

  it('refuses all calls once the ownership has ended', async () => {
    await log.end(unavailable('moved'));
    expect(() => add('a')).to.throw('moved');
  });

  describe('with a retention of two days', () => {
    /** Removes old entries. `covered`: the state that the service log names; by default the present one. */
    const trim = async (covered?: AccessHead, retentionDays = 2): Promise<number> => {
      const call = { op: 'trimAccess', covered: covered ?? (await page()).head } as const;
      return (await log.trim(call, retentionDays, envelope())).removed;
    };
    const given = async function* () {
      yield* frames();
    };

    /** Two entries on each of the days 0 to 4; today is day 5. */
    beforeEach(async () => {
      for (day = 0; day < 5; day++) for (const name of ['a', 'b']) await add(name);
    });

    it('loses the days that ended more than two days ago, and says what they hash to', async () => {
      const { head: before } = await verifyAccessLog(
        (async function* () {
          yield* frames().slice(0, 6);
        })(),
        BigInt(ID),
        [],
      );
      expect(await trim()).to.equal(6);
      const { entries, removed, head } = await page();
      expect([entries.length, removed, head.size]).to.deep.equal([4, before, 10]);
      expect(await trim()).to.equal(0);
      log = open();
      expect((await page()).removed).to.deep.equal(before);
      await add('c');
      expect(await numbers()).to.deep.equal([7, 8, 9, 10, 11]);
    });

    it('loses nothing without a retention, nothing that is not covered, and never its last day', async () => {
      const { head } = await page();
      expect(await trim(head, 0)).to.equal(0);
      expect(await trim({ ...head, size: 5 })).to.equal(0);
      expect(await numbers()).to.have.length(10);
      day = 100;
      expect(await trim(head)).to.equal(8);
      expect(await numbers()).to.deep.equal([9, 10]);
    });

    it('loses nothing if the service log states other hashes', async () => {
      const { head } = await page();
      for (const wrong of [{ root: head.chainHead }, { chainHead: head.root }, { size: 9 }, { size: 11 }])
        expect(String(await rejection(trim({ ...head, ...wrong })))).to.include('states other hashes');
      expect(await numbers()).to.have.length(10);
    });

    it('refuses to continue before its beginning, and begins there by itself', async () => {
      await trim();
      for (const after of [1, 5]) expect(await rejection(page({ after }))).to.have.property('code', 'entries_removed');
      expect(await numbers({ after: 6 })).to.deep.equal([7, 8, 9, 10]);
      expect(await numbers({ fromMs: 1, limit: 2 })).to.deep.equal([7, 8]);
      const read = (more: object) => log.frames({ op: 'accessFrames', maxBytes: 1e6, ...more }, envelope());
      expect(await rejection(read({ from: 6 }))).to.have.property('code', 'entries_removed');
      for (const more of [{}, { from: 0 }, { from: 7 }]) expect((await read(more)).frames).to.deep.equal(frames());
    });

    it('verifies from its beginning on, which a checkpoint of later entries proves', async () => {
      const { head } = await page();
      await trim();
      const whole = await verifyAccessLog(given(), BigInt(ID), [head]);
      expect([whole.removed?.size, whole.isBeginProven, whole.wrong]).to.deep.equal([6, true, []]);
      const early = { ...head, size: 5 };
      const stated = await verifyAccessLog(given(), BigInt(ID), [early]);
      expect([stated.isBeginProven, stated.unknown, stated.wrong]).to.deep.equal([false, [early], []]);
      const forged = await verifyAccessLog(given(), BigInt(ID), [{ ...head, root: head.chainHead }]);
      expect([forged.isBeginProven, forged.wrong.length]).to.deep.equal([false, 1]);
    });

    it('is read to its end by a page during whose reading another owner removes its beginning', async () => {
      const other = open();
      expect(await numbers()).to.have.length(10);
      const { head } = await page();
      const [found] = await Promise.all([numbers(), other.trim({ op: 'trimAccess', covered: head }, 2, envelope())]);
      expect(found.at(-1)).to.equal(10);
      expect(await numbers()).to.deep.equal([7, 8, 9, 10]);
    });
  });
});
