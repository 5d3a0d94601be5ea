/** What past states cost: rebuilt once for all who ask, kept within a bound, given up when nobody waits for them. */
import { expect } from 'chai';
import type { CollectionContext } from '../../shard/collection/collection.js';
import { HostedCollection } from '../../shard/hostedCollection.js';
import { VectorMemory } from '../../shard/kernel/vectorMemory.js';
import { ShardMetrics } from '../../shard/metrics.js';
import { PastStates } from '../../shard/past/pastStates.js';
import { nextTurn } from '../../shard/pause.js';
import type { Results, SearchCall } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import type { ErrorCode, VouchError } from '../../shared/errors.js';
import type { EventLog, EventLogs, Position, StoredFrame } from '../../shared/log/eventLog.js';
import { configOf, Engine, type EngineOptions, fixed, type TestCollection } from '../support/engine.js';
import { ScriptedLogs } from '../support/scriptedLogs.js';
import { eventually, expectCode, gate } from '../support/suites/expectations.js';

const ID = 7;
const RECORDS = 60;

/** Every look at it is a millisecond later by the one, and by the other as it is told. */
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

/** Counts what is read of the logs, and lets reads pass one by one where it is told to. */
class WatchedLogs implements EventLogs {
  readonly stored = new ScriptedLogs();
  pass: Promise<void> = Promise.resolve();
  reads = 0;
  framesRead = 0;

  async open(collectionId: number): Promise<EventLog> {
    const log = await this.stored.open(collectionId);
    return { ...log, read: (after) => this.#read(log, after) };
  }

  remove(collectionId: number): Promise<void> {
    return this.stored.remove(collectionId);
  }

  async *#read(log: EventLog, after: Position): AsyncGenerator<StoredFrame> {
    this.reads++;
    for await (const frame of log.read(after)) {
      this.framesRead++;
      await this.pass;
      yield frame;
    }
  }
}

describe('past states', () => {
  let clock: TestClock;
  let logs: WatchedLogs;
  let engine: Engine;
  let collection: TestCollection;

  async function start(options: EngineOptions = {}): Promise<void> {
    clock = new TestClock();
    logs = new WatchedLogs();
    engine = new Engine(logs, { clock, ...options });
    collection = engine.host(configOf(ID));
    for (let n = 1; n <= RECORDS; n++) await collection.insert([n, 0]);
    logs.reads = 0;
    logs.framesRead = 0;
  }
  beforeEach(() => start());
  afterEach(() => collection.hosted.close({ keep: true }));

  const inMs = (ms: number) => ({ requestId: 'test', deadlineMs: clock.ms + ms });
  async function found(logIndex: number, envelope = inMs(10_000), hosted = collection.hosted): Promise<number[]> {
    const call = { op: 'search', query: fixed(0, 0), k: 5_000, asOf: { logIndex } } as const;
    const { ids } = (await hosted.read(call, envelope)) as Results['search'];
    return [...new Float64Array(new Uint8Array(ids).buffer)];
  }
  const past = async (options: Partial<SearchCall>, logIndex = RECORDS): Promise<Results['search']> => {
    const call = { op: 'search', query: fixed(0, 0), k: 5_000, asOf: { logIndex }, ...options } as const;
    return (await collection.hosted.read(call, inMs(10_000))) as Results['search'];
  };
  const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);
  async function metric(name: string): Promise<unknown> {
    const all = (await engine.context.metrics.json()) as { name: string; values: unknown }[];
    return all.find((one) => one.name === name)?.values;
  }
  const codes = (settled: readonly PromiseSettledResult<unknown>[]): (ErrorCode | 'found')[] =>
    settled.map((one) => (one.status === 'fulfilled' ? 'found' : (one.reason as VouchError).code));

  it('are rebuilt once for all who ask at the same time, and not again for those who ask later', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => found(40)));
    for (const ids of all) expect(ids).to.deep.equal(upTo(40));
    expect(await found(40)).to.deep.equal(upTo(40));
    expect(logs).to.include({ reads: 1, framesRead: 40 });
    const { keptBytes } = engine.context.pasts;
    expect(keptBytes).to.be.above(0);
    expect(await metric('vouch_past_bytes')).to.deep.equal([{ value: keptBytes, labels: {} }]);
    expect(await metric('vouch_past_searches_total')).to.deep.equal([
      { value: 20, labels: { from: 'rebuilt' } },
      { value: 1, labels: { from: 'kept' } },
    ]);
  });

  it('are not rebuilt where the current one is meant', async () => {
    expect(await found(RECORDS)).to.deep.equal(upTo(RECORDS));
    expect(await found(0)).to.deep.equal([]);
    expect(logs.reads).to.equal(0);
  });

  it('go on from an earlier one that nobody uses', async () => {
    await found(40);
    expect(await found(50)).to.deep.equal(upTo(50));
    expect(logs.framesRead).to.equal(50);
    expect(await found(40)).to.deep.equal(upTo(40));
    expect(logs.framesRead).to.equal(90);
  });

  it('are given up at the bound, the least recently used first, and all memory with them', async () => {
    const live = engine.context.memory.usedBytes;
    await found(40);
    const { keptBytes } = engine.context.pasts;
    await collection.hosted.close({ keep: true });
    await start({ pastStatesBytes: Math.floor(2.5 * keptBytes) });
    for (const n of [40, 39, 40, 38]) expect(await found(n)).to.deep.equal(upTo(n));
    expect(logs.reads).to.equal(3);
    await found(40);
    await found(38);
    expect(logs.reads).to.equal(3);
    await found(39);
    expect(logs.reads).to.equal(4);
    expect(engine.context.pasts.keptBytes).to.be.at.most(2.5 * keptBytes);
    await collection.hosted.close({ keep: true });
    await start({ pastStatesBytes: 1 });
    for (const n of [40, 39, 40]) expect(await found(n)).to.deep.equal(upTo(n));
    await Promise.all([40, 39, 40, 20, 10].map(async (n) => expect(await found(n)).to.deep.equal(upTo(n))));
    expect(engine.context.pasts.keptBytes).to.equal(0);
    expect(engine.context.memory.usedBytes).to.equal(live);
  });

  it('give way to the deadline of the last who waits', async () => {
    const { opened, open } = gate();
    logs.pass = opened;
    const early = expectCode(found(50, inMs(100)), 'unavailable');
    const late = found(50, inMs(1_000));
    await eventually('the rebuild is under way', () => logs.framesRead === 1);
    clock.ms += 500;
    open();
    await early;
    expect(await late).to.deep.equal(upTo(50));
    expect(logs).to.include({ reads: 1, framesRead: 50 });
  });

  it('are not finished when every deadline has passed', async () => {
    const live = engine.context.memory.usedBytes;
    const { opened, open } = gate();
    logs.pass = opened;
    const waiting = [100, 200].map((ms) => expectCode(found(50, inMs(ms)), 'unavailable'));
    await eventually('the rebuild is under way', () => logs.framesRead === 1);
    clock.ms += 500;
    open();
    await Promise.all(waiting);
    expect(logs.framesRead).to.be.below(10);
    expect(engine.context.memory.usedBytes).to.equal(live);
    expect(await found(50)).to.deep.equal(upTo(50));
  });

  it('are rebuilt two at once; so many wait, and more are refused', async () => {
    const { opened, open } = gate();
    logs.pass = opened;
    const asked = Promise.allSettled(upTo(40).map((n) => found(n)));
    await eventually('two are under way', () => logs.framesRead === 2);
    open();
    const outcome = codes(await asked);
    expect(outcome.slice(0, 34)).to.deep.equal(new Array(34).fill('found'));
    expect(outcome.slice(34)).to.deep.equal(new Array(6).fill('unavailable'));
  });

  it('are given up when their collection closes, those that wait too', async () => {
    await found(30);
    const { opened, open } = gate();
    logs.pass = opened;
    const asked = Promise.allSettled([10, 20, 25, 40].map((n) => found(n)));
    await eventually('two are under way', () => logs.framesRead === 32);
    collection.hosted.hurry();
    open();
    expect(codes(await asked)).to.deep.equal(new Array(4).fill('unavailable'));
    expect(logs.framesRead).to.be.below(50);
    await collection.hosted.close({ keep: true });
    expect(engine.context.pasts.keptBytes).to.equal(0);
    expect(engine.context.memory.usedBytes).to.equal(0);
  });

  it('give all memory back where there is not enough', async () => {
    const metrics = new ShardMetrics();
    const memory = new VectorMemory({ boundBytes: engine.context.memory.usedBytes - 1 });
    const pasts = new PastStates({ boundBytes: 1, memory, clock, metrics: metrics.past });
    const context: CollectionContext = { ...engine.context, pasts };
    const hosted = new HostedCollection(configOf(ID), context);
    await expectCode(found(RECORDS - 1, inMs(1_000), hosted), 'capacity_exceeded');
    expect(memory.usedBytes).to.equal(0);
    expect(await found(5, inMs(1_000), hosted)).to.deep.equal(upTo(5));
    expect(memory.usedBytes).to.equal(0);
    await hosted.close({ keep: true });
  });

  it('are those of a collection that was opened again too', async () => {
    await found(40);
    await collection.hosted.close({ keep: true });
    collection = engine.host(configOf(ID));
    expect(await found(40)).to.deep.equal(upTo(40));
    expect(logs.reads).to.equal(3);
  });

  it('find records whose slots others have now', async () => {
    for (let id = 1; id <= RECORDS; id++) await collection.write({ op: 'delete', id }, inMs(1_000));
    for (let n = 1; n <= RECORDS; n++) await collection.insert([-n, 0]);
    expect(await found(RECORDS)).to.deep.equal(upTo(RECORDS));
    expect(await found(2 * RECORDS)).to.deep.equal([]);
    expect(await found(3 * RECORDS)).to.deep.equal(upTo(RECORDS).map((n) => RECORDS + n));
  });

  it('quarantine a collection whose log is damaged in the middle', async () => {
    const frame = Uint8Array.from(logs.stored.frames(ID)[29]!);
    frame[100]! ^= 1;
    logs.stored.tamper(ID, 29, frame);
    expect(await found(29)).to.deep.equal(upTo(29));
    const error = await expectCode(found(35), 'internal_error');
    expect(error.message).to.contain('quarantined');
    await expectCode(collection.insert([0, 0]), 'internal_error');
    expect(collection.hosted.quarantined).to.equal(true);
  });

  it('are not read off a state that a frame is being applied to', async () => {
    const before = await past({});
    expect(engine.context.pasts.keptBytes).to.equal(0);
    let written = false;
    const write = collection.batch(upTo(RECORDS).map((n) => [n, 1])).finally(() => {
      written = true;
    });
    while (!written) {
      expect(await past({})).to.deep.equal(before);
      await nextTurn();
    }
    await write;
    expect(engine.context.pasts.keptBytes).to.be.above(0);
  });

  it('are not read off a state that a write has changed while it was searched', async () => {
    const nodes = 600;
    await collection.write({ op: 'addNode', kind: 0, recordId: 1 }, inMs(1_000));
    await Promise.all(
      upTo(nodes).map((n) => collection.write({ op: 'addNode', kind: 1, recordId: n === 1 ? 2 : null }, inMs(1_000))),
    );
    // From the first to all but the second, which makes the walk look at all of them.
    await Promise.all(
      upTo(nodes - 1).map((n) => collection.write({ op: 'addEdge', from: 1, to: n + 2, kind: 0 }, inMs(1_000))),
    );
    const logIndex = RECORDS + 1 + nodes + nodes - 1;
    const graph = { weight: 1, seedCount: 1, maxDepth: 4, direction: 'both' } as const;
    const before = await past({ graph }, logIndex);
    expect(logs.reads).to.equal(0);
    const [during] = await Promise.all([past({ graph }, logIndex), collection.insert([0, 1])]);
    expect(during).to.deep.equal(before);
    expect(logs.reads).to.equal(1);
  });
});
