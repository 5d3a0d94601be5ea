/** A log that is gone, or has lost its end, is never taken for one that was not begun or went no further. */
import { expect } from 'chai';
import { Catalog } from '../../coordinator/cluster/catalog.js';
import type { Json } from '../../shared/bucket/bucket.js';
import { MemoryBucket } from '../../shared/bucket/memory.js';
import type { CollectionConfig } from '../../shared/calls.js';
import { type CatalogEntry, catalogEntryOf } from '../../shared/catalogEntry.js';
import { systemClock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import type { EventLog, StoredFrame } from '../../shared/log/eventLog.js';
import { silentLogger } from '../../shared/logger.js';
import { BUCKETS } from '../../shared/platform.js';
import { Engine, fixed, insertOf, requestIdOf, soon, type TestCollection } from '../support/engine.js';
import { MemoryCluster } from '../support/memoryCluster.js';
import { ScriptedLogs } from '../support/scriptedLogs.js';
import { eventually, expectCode, gate } from '../support/suites/expectations.js';

const GONE = 'it holds nothing, but writes to it were answered';

/** Counts what is asked of it, and can be out of reach. */
class CountedBucket extends MemoryBucket {
  gets = 0;
  updates = 0;
  isAway = false;
  /** The next updates come after it. */
  before: () => Promise<unknown> = async () => undefined;

  override async get(key: string): ReturnType<MemoryBucket['get']> {
    this.gets++;
    if (this.isAway) throw unavailable('out of reach');
    return super.get(key);
  }

  override async update(key: string, value: Json, revision: number): Promise<number | undefined> {
    this.updates++;
    await this.before();
    if (this.isAway) throw unavailable('out of reach');
    return super.update(key, value, revision);
  }
}

describe('a collection that has a first commit', () => {
  let bucket: CountedBucket;
  let catalog: Catalog;
  let logs: ScriptedLogs;
  let config: CollectionConfig;
  let collection: TestCollection;
  let engine: Engine;
  const engines: Engine[] = [];

  const entryOf = async (name = 'c'): Promise<CatalogEntry> => catalogEntryOf((await bucket.get(`p.${name}`))!);
  const isBegun = async (name?: string): Promise<boolean> => (await entryOf(name)).isBegun === true;
  const make = async (name: string): Promise<CollectionConfig> => {
    await catalog.create('p', { name, dimension: 2, index: 'brute' });
    return (await entryOf(name)).config;
  };
  /** As another shard would. */
  const open = (opened = config): TestCollection => {
    engine = new Engine(logs, { catalog: bucket });
    engines.push(engine);
    return engine.host(opened);
  };
  const expectQuarantined = async (lost: TestCollection, reason = GONE): Promise<void> => {
    const { message } = await expectCode(lost.found(), 'internal_error');
    expect(message).to.contain(`collection "${lost.hosted.config.name}" is quarantined`).and.to.contain(reason);
    await expectCode(lost.insert([9, 9]), 'internal_error');
    expect(lost.hosted.quarantined).to.equal(true);
    expect(engine.context.damages.told().map(({ collectionId, part }) => [collectionId, part])).to.deep.equal([
      [lost.hosted.config.id, 'log'],
    ]);
  };

  beforeEach(async () => {
    bucket = new CountedBucket({ logger: silentLogger });
    catalog = new Catalog(bucket, new MemoryBucket({ logger: silentLogger }), systemClock, 10);
    await catalog.start();
    logs = new ScriptedLogs();
    config = await make('c');
    collection = open();
  });
  afterEach(async () => {
    for (const { context } of engines.splice(0)) await context.pasts.end();
    catalog.stop();
    bucket.close();
  });

  it('is answered for only once the catalog says so: one write to it in the life of a collection', async () => {
    const told = gate();
    bucket.before = () => told.opened;
    let isAnswered = false;
    const writing = collection.insert([1, 1]).then(() => {
      isAnswered = true;
    });
    await eventually('the catalog is told', () => bucket.updates === 1);
    expect([logs.frames(config.id).length, isAnswered]).to.deep.equal([1, false]);
    told.open();
    await writing;
    expect(await isBegun()).to.equal(true);
    const asked = bucket.gets;
    for (let n = 0; n < 5; n++) await collection.insert([n, n]);
    expect([bucket.gets, bucket.updates]).to.deep.equal([asked, 1]);
    // Nothing else of the entry has changed.
    expect((await catalog.find('p', 'c')).id).to.equal(config.id);
    expect((await entryOf()).spec.kind).to.equal('brute');
  });

  it('answers nothing any more where its log is gone, and the others serve', async () => {
    const other = await make('other');
    await collection.insert([1, 1]);
    await open(other).insert([2, 2]);
    logs.lose(config.id, 0);
    await expectQuarantined(open());
    expect(await engine.host(other).found()).to.deep.equal([1]);
    expect(logs.frames(config.id)).to.have.length(0);
  });

  it('is known after a crash between its log and the catalog: of that commit nothing was answered', async () => {
    expect(await collection.found()).to.deep.equal([]);
    bucket.isAway = true;
    await expectCode(collection.insert([1, 1]), 'unavailable');
    bucket.isAway = false;
    expect([logs.frames(config.id).length, await isBegun()]).to.deep.equal([1, false]);
    expect(await open().found()).to.deep.equal([1]);
    await eventually('the catalog is told', () => isBegun());
    logs.lose(config.id, 0);
    await expectQuarantined(open());
  });

  it('repeats no answer before the catalog knows', async () => {
    const call = insertOf(fixed(1, 1), { requestId: requestIdOf(1) });
    expect(await collection.found()).to.deep.equal([]);
    bucket.isAway = true;
    await expectCode(collection.write(call), 'unavailable');
    await expectCode(collection.write(call), 'unavailable');
    bucket.isAway = false;
    expect(await collection.write(call)).to.include({ id: 1, deduplicated: true });
    expect([logs.frames(config.id).length, await isBegun()]).to.deep.equal([1, true]);
  });

  it('that never had one opens empty; where the catalog is out of reach it is not opened, and not damaged', async () => {
    expect(await collection.found()).to.deep.equal([]);
    const later = open();
    bucket.isAway = true;
    await expectCode(later.found(), 'unavailable');
    bucket.isAway = false;
    expect(await later.found()).to.deep.equal([]);
    expect(engine.context.damages.told()).to.deep.equal([]);
    // Counting asks nobody.
    const asked = bucket.gets;
    expect((await open().hosted.count()).records).to.equal(0);
    expect(bucket.gets).to.equal(asked);
  });

  it('has nothing to do with another that is made under its name', async () => {
    await collection.insert([1, 1]);
    await catalog.remove('p', 'c');
    await logs.remove(config.id);
    // One that was deleted needs no entry.
    logs.lose(config.id, 0);
    expect(await open().found()).to.deep.equal([]);
    const again = await make('c');
    expect(again.id).not.to.equal(config.id);
    expect(await open(again).found()).to.deep.equal([]);
    expect(await isBegun()).to.equal(false);
  });

  it('is not lost because a server that was deposed does not know of it', async () => {
    await collection.insert([1, 1]);
    const later = new StaleLogs(logs, 2);
    engine = new Engine(later, { catalog: bucket });
    engines.push(engine);
    expect(await engine.host(config).found()).to.deep.equal([1]);
    expect(later.staleReads).to.equal(0);
  });

  it('whose log loses what was applied takes no further write', async () => {
    for (let n = 0; n < 3; n++) await collection.insert([n, n]);
    logs.lose(config.id, 2);
    // The log takes nothing behind what it does not have; why, is looked into before the next.
    await expectCode(collection.insert([9, 9]), 'unavailable');
    await expectCode(collection.insert([9, 9]), 'internal_error');
    await expectQuarantined(collection, 'it ends with event 2, but event 3 was applied');
    expect(logs.frames(config.id)).to.have.length(2);
  });

  it('of an import that was finished, has all that was announced', async () => {
    for (let n = 0; n < 3; n++) await collection.insert([n, n]);
    const frames = logs.frames(config.id);
    const wanted = {
      name: 'copy',
      origin: { id: config.id, project: 'p', name: 'c' },
      dimension: 2,
      createdAtMs: config.createdAtMs,
      spec: { kind: 'brute', parameters: {} },
      end: { sequence: 3, chainHead: '0'.repeat(64), stateHash: '0'.repeat(64) },
    } as const;
    const { collection: copy } = await catalog.createImport('p', wanted);
    const imported = (await entryOf('copy')).config;
    const importing = open(imported);
    await importing.hosted.control({ op: 'importFrames', frames, upTo: 3 }, soon());
    expect(await isBegun('copy')).to.equal(true);
    await catalog.finishImport(copy);
    expect(await isBegun('copy')).to.equal(true);
    expect(await open(imported).found()).to.deep.equal([1, 2, 3]);
    logs.lose(imported.id, 2);
    await expectQuarantined(open(imported), 'it ends with event 2, but an import of 3 events was finished');
    logs.lose(imported.id, 0);
    await expectQuarantined(open(imported), 'it holds nothing, but an import of 3 events was finished');
  });
});

/** The first reads are answered by a server that knows of nothing. */
class StaleLogs {
  constructor(
    private readonly logs: ScriptedLogs,
    public staleReads: number,
  ) {}

  async open(collectionId: number): Promise<EventLog> {
    const log = await this.logs.open(collectionId);
    const isStale = (): boolean => this.staleReads > 0 && this.staleReads-- > 0;
    const head = async (): Promise<StoredFrame | undefined> => (isStale() ? undefined : log.head());
    const read = (after: number): AsyncIterable<StoredFrame> => (isStale() ? nothing() : log.read(after));
    return { ...log, head, read, staleMs: 60_000 };
  }

  remove(collectionId: number): Promise<void> {
    return this.logs.remove(collectionId);
  }
}

async function* nothing(): AsyncGenerator<StoredFrame> {}

describe('a log that is gone, in a cluster', () => {
  let cluster: MemoryCluster;
  beforeEach(() => {
    cluster = new MemoryCluster({ placement: { heartbeatMs: 100, leaseMs: 20_000, reassignMs: 30_000 } });
  });
  afterEach(() => cluster.stop());

  it('is found by whichever shard opens it next, told in the health, and all of it goes with the collection', async () => {
    const { backend } = await cluster.coordinator();
    const first = await cluster.shard('s1');
    const make = async (name: string) =>
      (await backend.create('p', { name, dimension: 2, index: 'brute' }, soon())).collection;
    const [lost, whole] = [await make('lost'), await make('whole')];
    for (const collection of [lost, whole]) await backend.call(collection, insertOf(fixed(1, 1)), soon());
    const second = await cluster.shard('s2');
    await first.leave();
    await Promise.all([first.stop(), second.stop()]);
    cluster.logs.lose(lost.id, 0);
    await cluster.shard('s2');
    const write = () => backend.call(lost, insertOf(fixed(2, 2)), soon());
    await expectCode(write(), 'internal_error');
    expect((await backend.call(whole, { op: 'describe' }, soon())).records).to.equal(1);
    await eventually('it is told', async () => (await backend.health()).damages.length === 1);
    const [damage] = (await backend.health()).damages;
    expect([damage?.collectionId, damage?.part]).to.deep.equal([lost.id, 'log']);
    expect(damage?.reason).to.contain(GONE);
    await backend.remove('p', 'lost', soon());
    expect(await cluster.bucket(BUCKETS.catalog).get('p.lost')).to.equal(undefined);
    const again = await make('lost');
    expect(await backend.call(again, insertOf(fixed(2, 2)), soon())).to.include({ id: 1 });
    await eventually('nothing is told', async () => (await backend.health()).damages.length === 0);
  });
});
