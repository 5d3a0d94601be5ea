// Covers: shard/asOf/historicalStateCache.ts, shard/asOf/searchState.ts, shard/snapshot/folderSnapshots.ts
// Covers: shard/snapshot/opening.ts
/**
 * The cost of historical states in their thread: rebuilt once for concurrent searches, kept within a limit, aborted
 * without waiting searches.
 */
import { expect } from 'chai';
import { HistoricalStateCache } from '../../../../shard/asOf/historicalStateCache.js';
import type { Measured } from '../../../../shard/asOf/measured.js';
import { searchState } from '../../../../shard/asOf/searchState.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { Opening } from '../../../../shard/snapshot/opening.js';
import type { Clock } from '../../../../shared/clock.js';
import type { ErrorCode, VouchError } from '../../../../shared/errors/errors.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { moved } from '../../../../shared/transport/transportErrors.js';
import { eventually, expectCode, gate, rejection } from '../../../support/expectations.js';
import { configOf, Engine, type TestCollection } from '../../../support/rigs/engine.js';
import { WatchedLogs } from '../../../support/rigs/watchedLogs.js';

const ID = 7;
const RECORDS = 60;

/** The monotonic clock advances by a millisecond at each reading, the wall clock when the test says so. */
class TestClock implements Clock {
  ms = configOf(ID).createdAtMs;
  #looks = 0;
  nowMs(): number {
    return this.ms;
  }
  monotonicMs(): number {
    return this.#looks++;
  }
}

describe('historical states', () => {
  let clock: TestClock;
  let logs: WatchedLogs;
  let collection: TestCollection;
  let memory: VectorMemory;
  let pasts: HistoricalStateCache;
  let opening: Opening;
  let measured: Measured[];

  async function start(boundBytes = 1 << 28, memoryBytes?: number): Promise<void> {
    memory = new VectorMemory(memoryBytes === undefined ? {} : { boundBytes: memoryBytes });
    measured = [];
    const options = { boundBytes, memory, clock, setAside: () => undefined };
    pasts = new HistoricalStateCache({ ...options, measured: (what) => measured.push(what) });
    opening = new Opening(1, configOf(ID), await logs.open(ID));
    logs.reads = 0;
    logs.framesRead = 0;
  }
  beforeEach(async () => {
    clock = new TestClock();
    logs = new WatchedLogs();
    collection = new Engine(logs).host(configOf(ID));
    for (let n = 1; n <= RECORDS; n++) await collection.insert([n, 0]);
    await start();
  });
  afterEach(async () => {
    await pasts.close(opening, moved());
    await collection.hosted.close({ keep: true });
  });

  /** Ids, nearest to the origin first. */
  function found(sequence: number, inMs = 10_000): Promise<number[]> {
    const deadlineMs = clock.ms + inMs;
    return pasts.use(opening, sequence, deadlineMs, async ({ state, timeMs }) => {
      const query = new Int32Array(2);
      const options = { k: 5_000, agedToMs: undefined };
      const { ids } = await searchState({ state, timeMs }, query, options, () => new Slice(clock, deadlineMs));
      return [...ids];
    });
  }
  const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);
  const codes = (settled: readonly PromiseSettledResult<unknown>[]): (ErrorCode | 'found')[] =>
    settled.map((one) => (one.status === 'fulfilled' ? 'found' : (one.reason as VouchError).code));
  const searchedFrom = (): string[] => measured.flatMap((one) => (one.what === 'searched' ? [one.from] : []));

  it('are rebuilt once for concurrent searches, and kept for later ones', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => found(40)));
    for (const ids of all) expect(ids).to.deep.equal(upTo(40));
    expect(await found(40)).to.deep.equal(upTo(40));
    expect(logs).to.include({ reads: 1, framesRead: 40 });
    expect(pasts.keptBytes).to.be.above(0);
    expect(measured).to.deep.include({ what: 'kept', bytes: pasts.keptBytes });
    expect(searchedFrom()).to.deep.equal([...new Array(20).fill('rebuilt'), 'kept']);
    expect(measured.flatMap((one) => (one.what === 'rebuilt' ? [one.outcome] : []))).to.deep.equal(['done']);
  });

  it('before the first event need no reading', async () => {
    expect(await found(0)).to.deep.equal([]);
    expect(logs.reads).to.equal(0);
  });

  it('are continued from an earlier unused state', async () => {
    await found(40);
    expect(await found(50)).to.deep.equal(upTo(50));
    expect(logs.framesRead).to.equal(50);
    expect(await found(40)).to.deep.equal(upTo(40));
    expect(logs.framesRead).to.equal(90);
  });

  it('are dropped at the limit, the least recently used first, with their memory', async () => {
    await found(40);
    const { keptBytes } = pasts;
    await start(Math.floor(2.5 * keptBytes));
    for (const n of [40, 39, 40, 38]) expect(await found(n)).to.deep.equal(upTo(n));
    expect(logs.reads).to.equal(3);
    await found(40);
    await found(38);
    expect(logs.reads).to.equal(3);
    await found(39);
    expect(logs.reads).to.equal(4);
    expect(pasts.keptBytes).to.be.at.most(2.5 * keptBytes);
    await start(1);
    for (const n of [40, 39, 40]) expect(await found(n)).to.deep.equal(upTo(n));
    await Promise.all([40, 39, 40, 20, 10].map(async (n) => expect(await found(n)).to.deep.equal(upTo(n))));
    expect(pasts.keptBytes).to.equal(0);
    expect(memory.usedBytes).to.equal(0);
  });

  it('are rebuilt until the last deadline of the waiting searches', async () => {
    const { opened, open } = gate();
    logs.pass = opened;
    const early = expectCode(found(50, 100), 'unavailable');
    const late = found(50, 1_000);
    await eventually('the rebuild is under way', () => logs.framesRead === 1);
    clock.ms += 500;
    open();
    await early;
    expect(await late).to.deep.equal(upTo(50));
    expect(logs).to.include({ reads: 1, framesRead: 50 });
  });

  it('are abandoned when every deadline has passed', async () => {
    const { opened, open } = gate();
    logs.pass = opened;
    const waiting = [100, 200].map((ms) => expectCode(found(50, ms), 'unavailable'));
    await eventually('the rebuild is under way', () => logs.framesRead === 1);
    clock.ms += 500;
    open();
    await Promise.all(waiting);
    expect(logs.framesRead).to.be.below(10);
    expect(memory.usedBytes).to.equal(0);
    expect(await found(50)).to.deep.equal(upTo(50));
  });

  it('are rebuilt one at a time for a project, with a bounded queue', async () => {
    const { opened, open } = gate();
    logs.pass = opened;
    const asked = Promise.allSettled(upTo(40).map((n) => found(n)));
    await eventually('one rebuild is under way', () => logs.framesRead === 1);
    open();
    const outcome = codes(await asked);
    expect(outcome.slice(0, 33)).to.deep.equal(new Array(33).fill('found'));
    expect(outcome.slice(33)).to.deep.equal(new Array(7).fill('unavailable'));
  });

  it('are rebuilt at once for another project, however many one project waits for', async () => {
    const config = { ...configOf(8), project: 'other' };
    const written = new Engine(logs).host(config);
    for (let n = 1; n <= 5; n++) await written.insert([n, 0]);
    const { opened, open } = gate();
    logs.pass = opened;
    const asked = Promise.allSettled(upTo(20).map((n) => found(n)));
    await eventually('one rebuild is under way', () => logs.framesRead === 1);
    logs.pass = Promise.resolve();
    const other = new Opening(2, config, await logs.open(config.id));
    const counted = pasts.use(other, 4, clock.ms + 10_000, async ({ state }) => state.liveRecords);
    try {
      expect(await counted).to.equal(4);
    } finally {
      open();
      await asked;
      await pasts.close(other, moved());
      await written.hosted.close({ keep: true });
    }
  });

  it('are dropped when their collection closes, and waiting searches fail', async () => {
    await found(30);
    const { opened, open } = gate();
    logs.pass = opened;
    const asked = Promise.allSettled([10, 20, 25, 40].map((n) => found(n)));
    await eventually('one rebuild is under way', () => logs.framesRead === 31);
    const closed = pasts.close(opening, moved());
    open();
    expect(codes(await asked)).to.deep.equal(new Array(4).fill('unavailable'));
    expect(logs.framesRead).to.be.below(50);
    await closed;
    expect(pasts.keptBytes).to.equal(0);
    expect(memory.usedBytes).to.equal(0);
    expect(measured.at(-1)).to.deep.equal({ what: 'kept', bytes: 0 });
    await expectCode(found(30), 'unavailable');
  });

  it('release all memory if there is not enough', async () => {
    await pasts.use(opening, RECORDS, clock.ms, async () => undefined);
    const needed = memory.usedBytes;
    await start(1, needed - 1);
    await expectCode(found(RECORDS), 'capacity_exceeded');
    expect(memory.usedBytes).to.equal(0);
    expect(await found(5)).to.deep.equal(upTo(5));
    expect(memory.usedBytes).to.equal(0);
  });

  it('contain records whose slots other records have now', async () => {
    for (let id = 1; id <= RECORDS; id++) await collection.write({ op: 'delete', id });
    for (let n = 1; n <= RECORDS; n++) await collection.insert([-n, 0]);
    expect(await found(RECORDS)).to.deep.equal(upTo(RECORDS));
    expect(await found(2 * RECORDS)).to.deep.equal([]);
    expect(await found(3 * RECORDS)).to.deep.equal(upTo(RECORDS).map((n) => RECORDS + n));
  });

  it('fail with Damaged if the log is damaged before their event', async () => {
    const frame = Uint8Array.from(logs.stored.frames(ID)[29]!);
    frame[100]! ^= 1;
    logs.stored.tamper(ID, 29, frame);
    expect(await found(29)).to.deep.equal(upTo(29));
    expect((await rejection(found(35))).name).to.equal('Damaged');
    expect(await found(20)).to.deep.equal(upTo(20));
  });
});
