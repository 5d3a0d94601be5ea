// Covers: shard/state/writeReceipt.ts, shard/state/logHistory.ts, shard/collection/collection.ts
/** Answers to repeated writes that are older than the frames in memory, so that their receipts are made from the log. */
import { expect } from 'chai';
import { systemClock } from '../../../../shared/clock.js';
import { type EventLog, type EventLogs, LogDamaged } from '../../../../shared/log/eventLog.js';
import { eventually, expectCode, gate } from '../../../support/expectations.js';
import {
  configOf,
  Engine,
  fixed,
  type Inserted,
  insertOf,
  requestIdOf,
  type TestCollection,
} from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;
const FIRST = requestIdOf(1);

/** Logs that hold back reads of single frames until the test releases them. */
class GatedLogs implements EventLogs {
  readonly lateMs = 0;
  readonly stored = new ScriptedLogs();
  /** Awaited before each read. */
  gate: () => Promise<void> = async () => undefined;
  /** Number of reads that are held back. */
  waiting = 0;

  async open(collectionId: number): Promise<EventLog> {
    const log = await this.stored.open(collectionId);
    const readAt = async (position: number): Promise<Uint8Array> => {
      this.waiting++;
      await this.gate();
      this.waiting--;
      return log.readAt(position);
    };
    return { ...log, readAt };
  }

  remove(collectionId: number): Promise<void> {
    return this.stored.remove(collectionId);
  }
}

describe('the answer to a repeated old write', () => {
  let logs: GatedLogs;
  let engine: Engine;
  let collection: TestCollection;
  let first: Inserted;
  let reads: ReturnType<typeof gate>;

  beforeEach(async () => {
    logs = new GatedLogs();
    engine = new Engine(logs);
    collection = engine.host(configOf(ID));
    first = await collection.insert([1, 1], { requestId: FIRST });
    for (let n = 0; n < 5; n++) await collection.insert([n, n]);
    reads = gate();
    logs.gate = () => reads.opened;
  });
  afterEach(async () => {
    reads.open();
    await collection.hosted.close({ keep: true });
    await engine.context.pasts.end();
  });

  const repeat = (): Promise<Inserted> => collection.insert([0, 0], { requestId: FIRST });
  const untilRead = (): Promise<void> => eventually('the frame is being read', () => logs.waiting > 0);

  it('equals the first answer, and commits made meanwhile do not wait for it', async () => {
    const repeated = [repeat(), repeat()];
    const together = collection.insert([6, 6]);
    await untilRead();
    await together;
    for (let n = 7; n < 12; n++) await collection.insert([n, n]);
    await collection.write({ op: 'delete', id: 3 });
    await collection.write({ op: 'delete', id: 1 });
    reads.open();
    for (const answer of await Promise.all(repeated)) expect(answer).to.deep.equal({ ...first, deduplicated: true });
    expect(await collection.records()).to.equal(10);
  });

  it('is an error once its deadline has passed, and a later repeat is answered', async () => {
    const call = insertOf(fixed(0, 0), { requestId: FIRST });
    const deadlineMs = systemClock.nowMs() + 500;
    const late = expectCode(collection.write(call, { requestId: 'late', deadlineMs }), 'unavailable');
    await untilRead();
    await eventually('the deadline has passed', () => systemClock.nowMs() > deadlineMs);
    reads.open();
    expect((await late).message).to.contain('the deadline passed');
    expect(await repeat()).to.deep.equal({ ...first, deduplicated: true });
  });

  it('is refused while the collection closes, and the close waits for the read in flight', async () => {
    const refused = Promise.all([repeat(), repeat()].map((answer) => expectCode(answer, 'unavailable')));
    await untilRead();
    let isClosed = false;
    const closing = collection.hosted.close({ keep: true }).then(() => {
      isClosed = true;
    });
    await eventually('the collection refuses writes', () =>
      collection.insert([8, 8]).then(
        () => false,
        () => true,
      ),
    );
    expect(isClosed).to.equal(false);
    reads.open();
    await refused;
    await closing;
  });

  it('is an error if its frame is damaged, and the collection is quarantined', async () => {
    logs.gate = async () => {
      await reads.opened;
      throw new LogDamaged(ID, 'a frame');
    };
    const refused = expectCode(repeat(), 'internal_error');
    await untilRead();
    await collection.insert([6, 6]);
    reads.open();
    expect((await refused).message).to.contain('"c7" is quarantined');
    expect(collection.hosted.quarantined).to.equal(true);
    await expectCode(collection.insert([7, 7]), 'internal_error');
  });
});
