// Covers: shard/snapshot/collectionLogCheck.ts, shard/snapshot/checkLog.ts
/**
 * The background check of the log before a snapshot, which the opening did not read: it finds damage without a request.
 */

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { LOG_BEGIN, type LogPlace } from '../../../../shard/snapshot/checkLog.js';
import { type CheckLog, CollectionLogCheck } from '../../../../shard/snapshot/collectionLogCheck.js';
import { snapshotPath } from '../../../../shard/snapshot/folder.js';
import { openState } from '../../../../shard/snapshot/openState.js';
import { writeSnapshot } from '../../../../shard/snapshot/writeSnapshot.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import { EMPTY_LOG } from '../../../../shared/log/chain.js';
import { Damaged } from '../../../../shared/log/damaged.js';
import type { EventLog, EventLogs, Position, StoredFrame } from '../../../../shared/log/eventLog.js';
import { buildFrame, claimedStart, readFrameHeader, verifyFrame } from '../../../../shared/log/frame.js';
import { SEGMENT_HEADER_BYTES } from '../../../../shared/log/segmentFormat.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import type { MetricTable } from '../../../../shared/metrics/table.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { eventually, expectCode, gate } from '../../../support/expectations.js';
import { samplesNamed } from '../../../support/launch/metricSamples.js';
import { configOf, Engine, soon, type TestCollection } from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';
import { snapshotsIn, type TestSnapshots } from '../../../support/rigs/snapshots.js';

const ID = 7;
const WRITES = 5;
const AFTER = 2;

/** Records which logs are read from the beginning, and lets frames pass when the test says so. */
class NotedLogs implements EventLogs {
  readonly lateMs = 0;
  readonly begun: number[] = [];
  pass: Promise<void> = Promise.resolve();
  /** Error for the next reading from the beginning. */
  fail: Error | undefined;

  constructor(readonly stored: ScriptedLogs) {}

  async open(collectionId: number): Promise<EventLog> {
    const log = await this.stored.open(collectionId);
    return { ...log, read: (after) => this.#read(collectionId, log, after) };
  }

  remove(collectionId: number): Promise<void> {
    return this.stored.remove(collectionId);
  }

  async *#read(collectionId: number, log: EventLog, after: Position): AsyncGenerator<StoredFrame> {
    if (after === 0) {
      this.begun.push(collectionId);
      const { fail } = this;
      this.fail = undefined;
      if (fail !== undefined) throw fail;
    }
    for await (const frame of log.read(after)) {
      await this.pass;
      yield frame;
    }
  }
}

describe('the log before a snapshot', () => {
  let folder: string;
  let snapshots: TestSnapshots;
  let engine: Engine;
  const opened: TestCollection[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-log-check-'));
    snapshots = await snapshotsIn(join(folder, 'snapshots'), { checkAgainMs: 5 });
  });
  afterEach(async () => {
    for (const { hosted } of opened.splice(0)) await hosted.close({ keep: true });
    await engine?.context.pasts.end();
    await snapshots.threads.close();
    await rm(folder, { recursive: true, force: true });
  });

  const start = (logs: EventLogs): Engine => {
    engine = new Engine(logs, { snapshots });
    return engine;
  };
  const host = (id = ID): TestCollection => {
    const collection = engine.host(configOf(id));
    opened.push(collection);
    return collection;
  };
  const close = (collection: TestCollection, keep = true): Promise<void> => {
    opened.splice(opened.indexOf(collection), 1);
    return collection.hosted.close({ keep });
  };
  /** Writes, makes a snapshot, writes more, and closes. Returns the sequence and position of the snapshot. */
  async function written(logs: EventLogs, id = ID, after = AFTER): Promise<LogPlace> {
    const collection = host(id);
    for (let n = 0; n < WRITES; n++) await collection.insert([n, n], { text: `t${n}` });
    const log = await logs.open(id);
    const { memory, dedupWindow, clock } = engine.context;
    const { state, journal } = await openState(configOf(id), log, { memory, dedupWindow, clock, logs });
    const path = snapshotPath(snapshots.store.folderOf(id), journal.sequence);
    await mkdir(dirname(path), { recursive: true });
    const { history } = journal;
    await writeSnapshot(
      path,
      { state, history, describedBytes: 1, collectionId: id, madeAtMs: 1_700_000_000_000 },
      async () => undefined,
    );
    state.vectors.destroy();
    await log.close();
    for (let n = 0; n < after; n++) await collection.insert([n, n]);
    await close(collection);
    return { position: history.position, end: history.end };
  }
  const describeIt = (collection: TestCollection): Promise<unknown> =>
    collection.hosted.run({ op: 'describe' }, soon());
  async function metric(name: keyof MetricTable, reason?: string): Promise<number> {
    const samples = samplesNamed(name, await snapshots.metrics.texts());
    return samples.find(({ labels }) => reason === undefined || labels.reason === reason)?.value ?? 0;
  }
  /**
   * Opens the collection by a call that needs no log, and then makes no other call. Returns when the damage was found.
   */
  async function foundAt(what: string): Promise<'opening' | 'check'> {
    const collection = host();
    const isOpen = await describeIt(collection).then(
      () => true,
      () => false,
    );
    await eventually(`${what}: damage is found`, () => collection.hosted.quarantined);
    const error = await expectCode(describeIt(collection), 'internal_error');
    expect(error.message, what).to.contain('"c7" is quarantined, its stored log does not verify');
    expect(
      engine.context.damages.reported().map(({ part }) => part),
      what,
    ).to.include('log');
    engine.context.damages.forget(ID);
    await close(collection);
    return isOpen ? 'check' : 'opening';
  }
  /** Restores what an opening has renamed. */
  async function keepSnapshot(): Promise<() => Promise<void>> {
    const ofThis = snapshots.store.folderOf(ID);
    const [name] = await readdir(ofThis);
    const bytes = await readFile(join(ofThis, name!));
    return async () => {
      if ((await readdir(ofThis)).length === 1 && (await snapshots.store.newestFirst(ID)).length === 1) return;
      await rm(ofThis, { recursive: true });
      await mkdir(ofThis);
      await writeFile(join(ofThis, name!), bytes);
    };
  }

  it('is read and verified once the collection is open', async () => {
    const logs = new NotedLogs(new ScriptedLogs());
    start(logs);
    const { end } = await written(logs);
    expect(await metric('vouch_log_checked_bytes_total')).to.equal(0);
    const collection = host();
    await describeIt(collection);
    await eventually('the log is checked', async () => (await metric('vouch_log_checks_waiting')) === 0);
    expect(await metric('vouch_log_checked_bytes_total')).to.equal(end.logBytes);
    expect(await metric('vouch_log_check_failures_total')).to.equal(0);
    expect(collection.hosted.quarantined).to.equal(false);
    expect(await collection.records()).to.equal(WRITES + AFTER);
  });

  it('in local files is checked: any flipped byte and any cut is found without a request', async () => {
    const logs = await LocalLogs.open({ folder: join(folder, 'logs'), segmentBytes: 900 });
    try {
      start(logs);
      const { position } = await written(logs);
      const putBack = await keepSnapshot();
      const segments = join(folder, 'logs', String(ID), 'log');
      const names = (await readdir(segments)).sort();
      expect(names.length).to.be.above(2);
      const found = { opening: 0, check: 0 };
      for (const name of names) {
        const path = join(segments, name);
        const base = Number.parseInt(name, 10);
        const whole = await readFile(path);
        const ends = Math.min(whole.length, position - base);
        for (let at = SEGMENT_HEADER_BYTES; at < ends; at++) {
          const flipped = Uint8Array.from(whole);
          flipped[at]! ^= 1 << (at % 8);
          await writeFile(path, flipped);
          found[await foundAt(`${name}, byte ${at}`)]++;
          await putBack();
          if (at % 7 === 0) {
            await writeFile(path, whole.subarray(0, at));
            await foundAt(`${name}, cut at ${at}`);
            await putBack();
          }
        }
        await writeFile(path, whole);
      }
      expect(found.check).to.be.above(400);
      expect(await metric('vouch_log_check_failures_total', 'damaged')).to.be.at.least(found.check);
    } finally {
      for (const { hosted } of opened.splice(0)) await hosted.close({ keep: true });
      await logs.close();
    }
  });

  it('in messages is checked: any flipped byte, swapped frame or frame of another history is found', async () => {
    const logs = new ScriptedLogs();
    start(logs);
    const { position } = await written(logs);
    const putBack = await keepSnapshot();
    const frames = [...logs.frames(ID)];
    for (let index = 0; index < position - 1; index++) {
      const whole = frames[index]!;
      // Every byte of the first frame, and of the others each byte of the layout around the event.
      for (let at = 0; at < whole.length; at += index === 0 || at < 100 || at > whole.length - 50 ? 1 : 5) {
        const flipped = Uint8Array.from(whole);
        flipped[at]! ^= 1 << (at % 8);
        logs.tamper(ID, index, flipped);
        expect(await foundAt(`frame ${index}, byte ${at}`)).to.equal('check');
      }
      logs.tamper(ID, index, frames[index + 1]!);
      expect(await foundAt(`frame ${index} is its neighbour`)).to.equal('check');
      logs.tamper(ID, index, await rewritten(whole));
      expect(await foundAt(`frame ${index} has another event`)).to.equal('check');
      logs.tamper(ID, index, whole);
      await putBack();
    }
    const collection = host();
    await describeIt(collection);
    await eventually('the log is checked', async () => (await metric('vouch_log_checks_waiting')) === 0);
    expect(collection.hosted.quarantined).to.equal(false);
  });

  it('is read while writes and searches continue', async () => {
    const logs = new NotedLogs(new ScriptedLogs());
    start(logs);
    await written(logs, ID, 0);
    const reads = gate();
    logs.pass = reads.opened;
    const collection = host();
    for (let n = 0; n < 5; n++) await collection.insert([n, n]);
    await eventually('the check reads', () => logs.begun.length > 0);
    await collection.insert([9, 9]);
    expect(await collection.found()).to.have.length(WRITES + 6);
    expect(await metric('vouch_log_checks_waiting')).to.equal(1);
    reads.open();
    await eventually('the log is checked', async () => (await metric('vouch_log_checks_waiting')) === 0);
    expect(await collection.records()).to.equal(WRITES + 6);
  });

  it('is abandoned when the collection is closed or deleted, and checked again at the next opening', async () => {
    const logs = new NotedLogs(new ScriptedLogs());
    start(logs);
    await written(logs, ID, 0);
    for (let times = 0; times < 2; times++) {
      const reads = gate();
      logs.pass = reads.opened;
      logs.begun.length = 0;
      const collection = host();
      await describeIt(collection);
      await eventually('the check reads', () => logs.begun.length === 1);
      const closing = close(collection);
      reads.open();
      await closing;
      expect(collection.hosted.quarantined).to.equal(false);
      expect(await metric('vouch_log_checks_waiting')).to.equal(0);
    }
    const reads = gate();
    logs.pass = reads.opened;
    const dropped = host();
    await describeIt(dropped);
    await eventually('the check reads', () => logs.begun.length > 1);
    const closing = close(dropped, false);
    reads.open();
    await closing;
    await logs.remove(ID);
    logs.pass = Promise.resolve();
    expect(await metric('vouch_log_check_failures_total')).to.equal(0);
    expect(await snapshots.store.newestFirst(ID)).to.deep.equal([]);
    const imported = host(ID + 1);
    await imported.insert([1, 1]);
    expect(await imported.found()).to.deep.equal([1]);
  });

  it('is read for one collection after another, in the order of their opening', async () => {
    const logs = new NotedLogs(new ScriptedLogs());
    start(logs);
    for (const id of [1, 2, 3, 4]) await written(logs, id, 0);
    const reads = gate();
    logs.pass = reads.opened;
    logs.begun.length = 0;
    const collections = new Map<number, TestCollection>();
    for (const id of [3, 1, 4, 2]) {
      collections.set(id, host(id));
      await describeIt(collections.get(id)!);
    }
    await eventually('the first is read', () => logs.begun.length > 0);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(logs.begun).to.deep.equal([3]);
    expect(await metric('vouch_log_checks_waiting')).to.equal(4);
    // A waiting one is closed, and skipped.
    await close(collections.get(1)!);
    reads.open();
    await eventually('every log is checked', async () => (await metric('vouch_log_checks_waiting')) === 0);
    expect(logs.begun).to.deep.equal([3, 4, 2]);
  });

  it('is read later if it cannot be read', async () => {
    const logs = new NotedLogs(new ScriptedLogs());
    start(logs);
    const { end } = await written(logs);
    logs.begun.length = 0;
    logs.fail = unavailable('out of reach');
    const collection = host();
    await describeIt(collection);
    await eventually('the log is checked', async () => (await metric('vouch_log_checks_waiting')) === 0);
    expect(await metric('vouch_log_checked_bytes_total')).to.equal(end.logBytes);
    expect(await metric('vouch_log_check_failures_total', 'unreadable')).to.equal(1);
    expect(logs.begun).to.deep.equal([ID, ID]);
    expect(collection.hosted.quarantined).to.equal(false);
  });

  describe("from its owner's view", () => {
    const upTo: LogPlace = { position: 9, end: { ...EMPTY_LOG, nextSequence: 10, logBytes: 1_000 } };
    const half: LogPlace = { position: 4, end: { ...EMPTY_LOG, nextSequence: 5, logBytes: 500 } };
    const check = (work: CheckLog): { check: CollectionLogCheck; damages: string[] } => {
      const damages: string[] = [];
      const onDamage = ({ message }: Damaged): unknown => damages.push(message);
      const checked = { upTo, check: work, onDamage };
      return { check: new CollectionLogCheck({ id: ID, project: 'p' }, snapshots, checked), damages };
    };

    it('is continued from the place of a failed read', async () => {
      const begun: LogPlace[] = [];
      const { damages } = check(async (from, to, onReached) => {
        begun.push(from);
        onReached(begun.length === 1 ? half : to);
        if (begun.length === 1) throw unavailable('out of reach');
        return true;
      });
      await eventually('the log is checked', () => !snapshots.unchecked.has(ID));
      expect(begun).to.deep.equal([LOG_BEGIN, half]);
      expect(await metric('vouch_log_checked_bytes_total')).to.equal(1_000);
      expect(await metric('vouch_log_check_failures_total', 'unreadable')).to.equal(1);
      expect(damages).to.deep.equal([]);
    });

    it('counts as damaged only if it ends too early again and again', async () => {
      let times = 0;
      const { damages } = check(async () => {
        times++;
        return false;
      });
      await eventually('the check has reported the damage', () => damages.length > 0);
      expect(times).to.equal(3);
      expect(damages).to.deep.equal(['it ends before event 9, which the snapshot has']);
    });

    it('is not reported once the check is stopped', async () => {
      const reads = gate();
      const { check: stopped, damages } = check(async () => {
        await reads.opened;
        throw new Damaged('a frame');
      });
      await eventually('the check reads', () => snapshots.unchecked.has(ID));
      stopped.stop();
      const closing = stopped.close();
      reads.open();
      await closing;
      expect(damages).to.deep.equal([]);
      expect(await metric('vouch_log_check_failures_total')).to.equal(0);
    });
  });
});

/** A valid frame for this place with other event times. */
async function rewritten(frame: Uint8Array): Promise<Uint8Array> {
  const before = claimedStart(frame);
  const { events } = await verifyFrame(frame, before, nextTurn);
  const others = events.map((event) => ({ ...event, timeMs: event.timeMs + 1 }));
  return (await buildFrame(others, before, readFrameHeader(frame).liveRecords, nextTurn)).bytes;
}
