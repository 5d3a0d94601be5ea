// Covers: shard/collection/removals.ts, shard/collection/commitLoop.ts, shard/state/expiryAt.ts
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import { SYSTEM } from '../../../../shared/model/actor.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { expectCode } from '../../../support/expectations.js';
import { configOf, Engine, soon, type TestCollection } from '../../../support/rigs/engine.js';

const ID = 7;

/** The system's clock, moved. */
class MovedClock implements Clock {
  byMs = 0;
  nowMs = (): number => systemClock.nowMs() + this.byMs;
  monotonicMs = (): number => systemClock.monotonicMs();
}

describe('the removal of expired records', () => {
  let folder: string;
  let logs: LocalLogs;
  let engine: Engine;
  let collection: TestCollection;
  let clock: MovedClock;

  async function open(): Promise<void> {
    logs = await LocalLogs.open({ folder });
    engine = new Engine(logs, { clock });
    collection = engine.host(configOf(ID));
  }
  async function close(): Promise<void> {
    await collection.hosted.close({ keep: true });
    await logs.close();
  }
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-'));
    clock = new MovedClock();
    await open();
  });
  afterEach(async () => {
    await close();
    await rm(folder, { recursive: true });
  });
  /** The second that many seconds from now. */
  const inSecs = (secs: number): number => 1000 * Math.ceil(systemClock.nowMs() / 1000 + secs);
  const passed = (expiresAtMs: number): void => {
    clock.byMs = expiresAtMs - systemClock.nowMs();
  };
  const timeline = async (): Promise<Results['timeline']> =>
    (await collection.hosted.read(
      { op: 'timeline', fromMs: 0, toMs: 8e15, after: 0, limit: 1_000 },
      { ...soon(), deadlineMs: clock.nowMs() + 60_000 },
    )) as Results['timeline'];
  const insert = (expiresAtMs: number): Promise<Results['insert']> =>
    collection.write(
      { op: 'insert', vector: new Uint8Array(8), tag: 0, requestId: null, metadata: null, text: null, expiresAtMs },
      { requestId: 'test', deadlineMs: clock.nowMs() + 60_000 },
    ) as Promise<Results['insert']>;

  it('is an event of the system at the time of the expiry, before any later event', async () => {
    const [first, second] = [inSecs(100), inSecs(200)];
    for (const at of [second, first, second, inSecs(300)]) await insert(at);
    passed(second + 5_000);
    await insert(inSecs(400));
    const { events } = await timeline();
    const removed = events.filter(({ type }) => type === 'delete');
    expect(removed.map(({ recordId }) => recordId)).to.have.members([1, 2, 3]);
    expect(removed.map(({ timeMs }) => timeMs)).to.deep.equal([first, second, second]);
    expect(removed[0]).to.include({ recordId: 2 });
    for (const { actor } of removed) expect(actor).to.deep.equal(SYSTEM);
    expect(events.at(-1)).to.include({ type: 'insert' });
  });

  it('happens once before a read, also after a restart, and with a clock that was set back', async () => {
    const at = inSecs(50);
    await insert(at);
    await insert(at + 1_000);
    await close();
    await open();
    expect(await collection.records()).to.equal(2);
    passed(at);
    expect(await collection.records()).to.equal(1);
    await expectCode(collection.get(1), 'record_not_found');
    clock.byMs = 0;
    expect(await collection.records()).to.equal(1);
    passed(at + 1_000);
    expect(await collection.records()).to.equal(0);
  });

  it('is noted as the first expiry, before the insert is answered', async () => {
    const at = inSecs(50);
    await insert(at + 1_000);
    expect(engine.due.get(ID)).to.equal(at + 1_000);
    await insert(at);
    expect(engine.due.get(ID)).to.equal(at);
    passed(at);
    expect(await collection.hosted.expire()).to.equal(at + 1_000);
    expect(engine.due.get(ID)).to.equal(at + 1_000);
  });

  it('does not wait for the end of a hold of the writes', async () => {
    const at = inSecs(50);
    await insert(at);
    await collection.hosted.run({ op: 'hold', token: 'a', holdMs: 60_000 }, soon());
    passed(at);
    expect(await collection.records()).to.equal(0);
    await collection.hosted.run({ op: 'release', token: 'a' }, soon());
  });

  it('refuses an expiry that has passed', async () => {
    await expectCode(insert(systemClock.nowMs() - 1), 'validation_error');
    expect(await collection.records()).to.equal(0);
  });
});
