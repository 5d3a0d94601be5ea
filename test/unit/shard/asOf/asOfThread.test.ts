/** Searches of the past through a collection: answers from memory and from the as-of thread. */
import { expect } from 'chai';
import { AsOfThread } from '../../../../shard/asOf/asOfThread.js';
import { countMeasured } from '../../../../shard/asOf/measured.js';
import type { CollectionContext } from '../../../../shard/collection/collectionContext.js';
import { CollectionHandle } from '../../../../shard/collection/collectionHandle.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { Results, SearchCall } from '../../../../shared/protocol/calls.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { eventually, expectCode, gate } from '../../../support/expectations.js';
import { samplesNamed } from '../../../support/launch/metricSamples.js';
import { configOf, Engine, fixed, insertOf, soon, type TestCollection } from '../../../support/rigs/engine.js';
import { WatchedLogs } from '../../../support/rigs/watchedLogs.js';

const ID = 7;
const RECORDS = 60;
/** Makes the worker die, see `mortalPastWorker.ts`. */
const DIES_AT_K = 4_444;

type Past = Partial<SearchCall>;

describe('the as-of thread', () => {
  let logs: WatchedLogs;
  let engine: Engine;
  let collection: TestCollection;

  beforeEach(async () => {
    logs = new WatchedLogs();
    engine = new Engine(logs);
    collection = engine.host(configOf(ID));
    await Promise.all(upTo(RECORDS).map((n) => collection.insert([n, 0], { metadata: Buffer.from(`{"n":${n}}`) })));
    logs.reads = 0;
    logs.framesRead = 0;
  });
  afterEach(async () => {
    await collection.hosted.close({ keep: true });
    await engine.context.pasts.end();
  });

  const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);
  async function found(logIndex: number, options: Past = {}, hosted = collection.hosted): Promise<number[]> {
    const call = { op: 'search', query: fixed(0, 0), k: 5_000, asOf: { logIndex }, ...options } as const;
    const { ids } = (await hosted.run(call, soon())) as Results['search'];
    return [...new Float64Array(new Uint8Array(ids).buffer)];
  }
  const past = async (options: Past, logIndex: number): Promise<Results['search']> => {
    const call = { op: 'search', query: fixed(0, 0), k: 5_000, asOf: { logIndex }, ...options } as const;
    return (await collection.hosted.run(call, soon())) as Results['search'];
  };
  async function metric(name: string): Promise<Record<string, number>> {
    const samples = samplesNamed(name, await engine.context.metrics.texts());
    return Object.fromEntries(samples.map(({ value, labels }) => [labels.from ?? 'all', value]));
  }
  /** Deletes a record, so that memory loses the states before it. */
  const lose = (id: number): Promise<unknown> => collection.write({ op: 'delete', id });
  /** Another collection over this log, with an as-of thread of its own. */
  function hostWith(options: { vectorBytesMax?: number; program?: URL }): {
    hosted: CollectionHandle;
    pasts: AsOfThread;
  } {
    const { metrics } = engine.context;
    const pasts = new AsOfThread(
      {
        cacheBytesMax: 1 << 28,
        ...(options.vectorBytesMax === undefined ? {} : { vectorBytesMax: options.vectorBytesMax }),
        clock: systemClock,
        logger: silentLogger,
        measured: (what) => countMeasured(metrics, what),
      },
      options.program,
    );
    const context: CollectionContext = { ...engine.context, pasts };
    return { hosted: new CollectionHandle(configOf(ID), context), pasts };
  }

  it('takes no turn among reads for a search that it answers itself', async () => {
    const { admission } = engine.context;
    const turns: string[] = [];
    const inTurn = admission.inTurn.bind(admission);
    admission.inTurn = (reader, work) => {
      turns.push(reader.project);
      return inTurn(reader, work);
    };
    const { project } = configOf(ID);
    await found(RECORDS);
    await found(40);
    await found(0);
    expect(turns).to.deep.equal([project, project, project]);
    await collection.hosted.run(
      { op: 'searchBatch', searches: [{ op: 'search', query: fixed(0, 0), k: 1 }], maxBytes: 1 << 20 },
      soon(),
    );
    expect(turns).to.have.length(3);
    await lose(1);
    const { opened, open } = gate();
    logs.pass = opened;
    const rebuilt = found(30);
    await eventually('the state is being rebuilt', () => logs.framesRead > 0);
    expect(await found(RECORDS + 1)).to.have.length(RECORDS - 1);
    open();
    expect(await rebuilt).to.deep.equal(upTo(30));
  });

  it('is not used while memory can answer, as it can after inserts and soft deletes', async () => {
    expect(await found(RECORDS)).to.deep.equal(upTo(RECORDS));
    expect(await found(0)).to.deep.equal([]);
    expect(await found(40)).to.deep.equal(upTo(40));
    for (const id of [2, 3]) await collection.write({ op: 'softDelete', id });
    expect(await found(RECORDS)).to.deep.equal(upTo(RECORDS));
    expect(await found(RECORDS + 1)).to.deep.equal(upTo(RECORDS).filter((n) => n !== 2));
    const filter = { op: 'test', path: ['n'], test: { kind: 'lte', value: 3 } } as const;
    expect(await found(RECORDS + 1, { filter })).to.deep.equal([1, 3]);
    expect(logs.reads).to.equal(0);
    expect(await metric('vouch_as_of_searches_total')).to.deep.equal({ current: 1, memory: 4 });
  });

  it('is used only for states that memory has lost', async () => {
    await lose(5);
    expect(await found(40)).to.deep.equal(upTo(40));
    expect(await found(4)).to.deep.equal(upTo(4));
    expect(logs.reads).to.equal(1);
    await collection.write({ op: 'updateMetadata', id: 1, metadata: Buffer.from('{"n":9}') });
    const filter = { op: 'test', path: ['n'], test: { kind: 'lte', value: 3 } } as const;
    expect(await found(RECORDS + 1)).to.deep.equal(upTo(RECORDS).filter((n) => n !== 5));
    expect(logs.reads).to.equal(1);
    expect(await found(RECORDS + 1, { filter })).to.deep.equal([1, 2, 3]);
    expect(logs.reads).to.equal(2);
    expect(await found(RECORDS + 1, { filter })).to.deep.equal([1, 2, 3]);
    expect(await metric('vouch_as_of_searches_total')).to.deep.equal({ kept: 1, memory: 2, rebuilt: 2 });
    expect((await metric('vouch_as_of_cache_bytes')).all).to.be.above(0);
  });

  it('finds a record as it was, even if another record has its slot now', async () => {
    await lose(1);
    await collection.insert([7, 7]);
    expect(await found(RECORDS)).to.deep.equal(upTo(RECORDS));
    expect(await found(RECORDS + 1)).to.deep.equal(upTo(RECORDS).slice(1));
    expect(await found(RECORDS + 2)).to.have.members([...upTo(RECORDS).slice(1), RECORDS + 1]);
  });

  it('quarantines a collection whose log is damaged in the middle', async () => {
    await collection.insert([0, 0]);
    await collection.insert([0, 0]);
    await lose(1);
    const last = logs.stored.frames(ID).length - 2;
    const frame = Uint8Array.from(logs.stored.frames(ID)[last]!);
    frame[100]! ^= 1;
    logs.stored.tamper(ID, last, frame);
    expect(await found(RECORDS)).to.deep.equal(upTo(RECORDS));
    const error = await expectCode(found(RECORDS + 2), 'internal_error');
    expect(error.message).to.contain('quarantined');
    await expectCode(collection.insert([0, 0]), 'internal_error');
    expect(collection.hosted.quarantined).to.equal(true);
  });

  it('refuses states that exceed its memory', async () => {
    await lose(1);
    const { hosted, pasts } = hostWith({ vectorBytesMax: 1 });
    await expectCode(found(RECORDS, {}, hosted), 'capacity_exceeded');
    expect(await found(RECORDS + 1, {}, hosted)).to.deep.equal(upTo(RECORDS).slice(1));
    await hosted.close({ keep: true });
    await pasts.end();
  });

  it('fails its waiting searches with unavailable when it dies, and is started again', async () => {
    await lose(1);
    const { hosted, pasts } = hostWith({
      program: new URL('../../../support/rigs/mortalPastWorker.js', import.meta.url),
    });
    expect(await found(30, {}, hosted)).to.deep.equal(upTo(30));
    const { opened, open } = gate();
    logs.pass = opened;
    const reads = logs.reads;
    const waiting = [expectCode(found(20, {}, hosted), 'unavailable')];
    await eventually('the rebuild is under way', () => logs.reads > reads);
    waiting.push(expectCode(found(30, { k: DIES_AT_K }, hosted), 'unavailable'));
    await Promise.all(waiting);
    open();
    expect(await found(30, {}, hosted)).to.deep.equal(upTo(30));
    expect(await metric('vouch_as_of_thread_restarts_total')).to.deep.equal({ all: 1 });
    await hosted.close({ keep: true });
    await pasts.end();
  });

  it('stops reading the log when the collection is closed', async () => {
    await lose(1);
    const { opened, open } = gate();
    logs.pass = opened;
    const asked = [10, 20, 25].map((n) => expectCode(found(n), 'unavailable'));
    await eventually('one rebuild is under way', () => logs.framesRead >= 1);
    let closed = false;
    collection.hosted.cancelBackgroundWork();
    const closing = collection.hosted.close({ keep: true }).then(() => {
      closed = true;
    });
    // Before the log can be read further.
    await Promise.all(asked);
    expect(closed).to.equal(false);
    open();
    await closing;
    const { framesRead } = logs;
    await nextTurn();
    expect(logs.framesRead).to.equal(framesRead);
    collection = engine.host(configOf(ID));
    expect(await found(40)).to.deep.equal(upTo(40));
  });

  it('receives a log in bounded portions, up to the needed event only', async () => {
    const wide = { ...configOf(8), dimension: 4_096 };
    const other = engine.host(wide);
    const vector = (n: number): Uint8Array => new Uint8Array(new Int32Array(wide.dimension).fill(n).buffer);
    for (const n of upTo(400)) await other.hosted.run(insertOf(vector(n)), soon());
    await other.write({ op: 'delete', id: 1 });
    logs.framesRead = 0;
    const call = { op: 'search', query: vector(0), k: 1, asOf: { logIndex: 300 } } as const;
    const { ids } = (await other.hosted.run(call, soon())) as Results['search'];
    expect([...new Float64Array(new Uint8Array(ids).buffer)]).to.deep.equal([1]);
    expect(logs.framesRead).to.equal(300);
    await other.hosted.close({ keep: true });
  });

  it('is not needed for a state while a later frame is being applied', async () => {
    const before = await past({}, RECORDS);
    let written = false;
    const write = collection.batch(upTo(RECORDS).map((n) => [n, 1])).finally(() => {
      written = true;
    });
    while (!written) {
      expect(await past({}, RECORDS)).to.deep.equal(before);
      await nextTurn();
    }
    await write;
    expect(logs.reads).to.equal(0);
  });

  it('takes over a search of a graph that a write changes meanwhile', async () => {
    const nodes = 600;
    await collection.write({ op: 'addNode', kind: 0, recordId: 1 });
    await Promise.all(
      upTo(nodes).map((n) => collection.write({ op: 'addNode', kind: 1, recordId: n === 1 ? 2 : null })),
    );
    // Edges from the first node to every other except the second, so that the walk visits them.
    await Promise.all(upTo(nodes - 1).map((n) => collection.write({ op: 'addEdge', from: 1, to: n + 2, kind: 0 })));
    const logIndex = RECORDS + 1 + nodes + nodes - 1;
    const graph = { weight: 1, seedCount: 1, maxDepth: 4, direction: 'both' } as const;
    const before = await past({ graph }, logIndex);
    expect(logs.reads).to.equal(0);
    await collection.write({ op: 'addEdge', from: 2, to: 1, kind: 0 });
    expect(await past({ graph }, logIndex)).to.deep.equal(before);
    expect(logs.reads).to.equal(1);
  });
});
