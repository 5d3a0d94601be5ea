// Covers: shard/collection/watermark.ts, shard/collection/watermarkNotes.ts, shard/collection/collectionHandle.ts
// Covers: shard/state/truncatedLog.ts, shared/registry/watermarks.ts
/** Lost or shortened logs: they are never mistaken for new or shorter logs. */
import { expect } from 'chai';
import { Catalog } from '../../../../coordinator/cluster/catalog/catalog.js';
import { CollectionHandle } from '../../../../shard/collection/collectionHandle.js';
import type { BucketValue } from '../../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { unavailable } from '../../../../shared/errors/errors.js';
import type { EventLog, StoredFrame } from '../../../../shared/log/eventLog.js';
import { silentLogger } from '../../../../shared/logger.js';
import type { CollectionConfig } from '../../../../shared/model/collectionConfig.js';
import { catalogEntryOf } from '../../../../shared/registry/catalogEntry.js';
import { watermarkKey, watermarkOf } from '../../../../shared/registry/watermarks.js';
import { eventually, expectCode, gate } from '../../../support/expectations.js';
import {
  Engine,
  type EngineOptions,
  fixed,
  insertOf,
  requestIdOf,
  soon,
  TestCollection,
} from '../../../support/rigs/engine.js';
import { MemoryCluster } from '../../../support/rigs/memoryCluster.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const GONE = 'it is empty, but event 1 was committed';

/** Counts its reads and writes, and can be out of reach. */
class CountedBucket extends MemoryBucket {
  gets = 0;
  writes = 0;
  isAway = false;
  /** Work that each write waits for. */
  before: () => Promise<unknown> = async () => undefined;

  override async get(key: string): ReturnType<MemoryBucket['get']> {
    this.gets++;
    if (this.isAway) throw unavailable('out of reach');
    return super.get(key);
  }

  override create(key: string, value: BucketValue): Promise<number | undefined> {
    return this.#write(() => super.create(key, value));
  }

  override update(key: string, value: BucketValue, revision: number): Promise<number | undefined> {
    return this.#write(() => super.update(key, value, revision));
  }

  /** Reads an entry without counting it. */
  peek(key: string): ReturnType<MemoryBucket['get']> {
    return super.get(key);
  }

  async #write(write: () => Promise<number | undefined>): Promise<number | undefined> {
    this.writes++;
    await this.before();
    if (this.isAway) throw unavailable('out of reach');
    return write();
  }
}

const BOUNDS = { collectionsPerProject: 10, aliasesPerProject: 3 };

describe('a collection whose log is written to', () => {
  let reached: CountedBucket;
  let catalog: Catalog;
  let entries: MemoryBucket;
  let logs: ScriptedLogs;
  let config: CollectionConfig;
  let collection: TestCollection;
  let engine: Engine;
  const engines: Engine[] = [];

  const configNamed = async (name: string): Promise<CollectionConfig> =>
    catalogEntryOf((await entries.get(`p.${name}`))!).config;
  /** Noted event; 0 without a note. */
  const noted = async (id = config.id): Promise<number> => {
    const entry = await reached.peek(watermarkKey(id));
    return entry === undefined ? 0 : watermarkOf(entry).sequence;
  };
  const make = async (name: string): Promise<CollectionConfig> => {
    await catalog.create('p', { name, dimension: 2, index: 'brute' });
    return configNamed(name);
  };
  /** Opens the collection on another shard. */
  const open = (opened = config, options: Partial<EngineOptions> = {}): TestCollection => {
    engine = new Engine(logs, { reached, ...options });
    engines.push(engine);
    return engine.host(opened);
  };
  const soonNoted = { notesEveryMs: 0 };
  const write = async (to: TestCollection, writes: number): Promise<void> => {
    for (let n = 0; n < writes; n++) await to.insert([n, n]);
  };
  const expectQuarantined = async (lost: TestCollection, reason = GONE): Promise<void> => {
    const { message } = await expectCode(lost.found(), 'internal_error');
    expect(message).to.contain(`collection "${lost.hosted.config.name}" is quarantined`).and.to.contain(reason);
    await expectCode(lost.insert([9, 9]), 'internal_error');
    expect(lost.hosted.quarantined).to.equal(true);
    expect(engine.context.damages.reported().map(({ collectionId, part }) => [collectionId, part])).to.deep.equal([
      [lost.hosted.config.id, 'log'],
    ]);
  };

  beforeEach(async () => {
    reached = new CountedBucket({ logger: silentLogger });
    entries = new MemoryBucket({ logger: silentLogger });
    const counters = new MemoryBucket({ logger: silentLogger });
    catalog = new Catalog({ catalog: entries, counters, ids: counters }, systemClock, BOUNDS);
    await catalog.start();
    logs = new ScriptedLogs();
    config = await make('c');
    collection = open();
  });
  afterEach(async () => {
    for (const { context } of engines.splice(0)) await context.pasts.end();
    catalog.stop();
    entries.close();
    reached.close();
  });

  it('answers its first commit once that is noted, and later ones without waiting', async () => {
    const noteGate = gate();
    reached.before = () => noteGate.opened;
    let isAnswered = false;
    const writing = collection.insert([1, 1]).then(() => {
      isAnswered = true;
    });
    await eventually('the log is noted', () => reached.writes === 1);
    expect([logs.frames(config.id).length, isAnswered]).to.deep.equal([1, false]);
    noteGate.open();
    await writing;
    expect(await noted()).to.equal(1);
    const asked = reached.gets;
    await write(collection, 5);
    expect([reached.gets, reached.writes]).to.deep.equal([asked, 1]);
  });

  it('refuses every call if its log is gone, while others serve', async () => {
    const other = await make('other');
    await collection.insert([1, 1]);
    await open(other).insert([2, 2]);
    logs.lose(config.id, 0);
    await expectQuarantined(open());
    expect(await engine.host(other).found()).to.deep.equal([1]);
    expect(logs.frames(config.id)).to.have.length(0);
  });

  it('is known after a crash before its note: no answer was given for that commit', async () => {
    expect(await collection.found()).to.deep.equal([]);
    reached.isAway = true;
    await expectCode(collection.insert([1, 1]), 'unavailable');
    reached.isAway = false;
    expect([logs.frames(config.id).length, await noted()]).to.deep.equal([1, 0]);
    expect(await open().found()).to.deep.equal([1]);
    await eventually('the log is noted', async () => (await noted()) === 1);
    logs.lose(config.id, 0);
    await expectQuarantined(open());
  });

  it('repeats no answer before its note', async () => {
    const call = insertOf(fixed(1, 1), { requestId: requestIdOf(1) });
    expect(await collection.found()).to.deep.equal([]);
    reached.isAway = true;
    await expectCode(collection.write(call), 'unavailable');
    await expectCode(collection.write(call), 'unavailable');
    reached.isAway = false;
    expect(await collection.write(call)).to.include({ id: 1, deduplicated: true });
    expect([logs.frames(config.id).length, await noted()]).to.deep.equal([1, 1]);
  });

  it('opens if the notes can be read, and otherwise fails without damage', async () => {
    await collection.insert([1, 1]);
    for (const [opened, found] of [
      [config, [1]],
      [await make('empty'), []],
    ] as const) {
      const later = open(opened);
      reached.isAway = true;
      await expectCode(later.found(), 'unavailable');
      reached.isAway = false;
      expect(await later.found()).to.deep.equal(found);
      expect(engine.context.damages.reported()).to.deep.equal([]);
    }
    // A count reads no notes.
    const asked = reached.gets;
    expect((await open().hosted.count()).records).to.equal(1);
    expect(reached.gets).to.equal(asked);
  });

  it('is independent of a later collection under its name', async () => {
    await collection.insert([1, 1]);
    await catalog.remove('p', 'c');
    const again = await make('c');
    expect(again.id).not.to.equal(config.id);
    expect(await open(again).found()).to.deep.equal([]);
    expect(await noted(again.id)).to.equal(0);
  });

  it('is not reported as lost because a stale replica lacks its log', async () => {
    await collection.insert([1, 1]);
    const later = new StaleLogs(logs, 2);
    engine = new Engine(later, { reached });
    engines.push(engine);
    expect(await engine.host(config).found()).to.deep.equal([1]);
    expect(later.staleReads).to.equal(0);
  });

  it('accepts no further write if its log loses applied events', async () => {
    await write(collection, 3);
    logs.lose(config.id, 2);
    // The append fails because its position is gone; the cause is found before the next write.
    await expectCode(collection.insert([9, 9]), 'unavailable');
    await expectCode(collection.insert([9, 9]), 'internal_error');
    await expectQuarantined(collection, 'it ends with event 2, but event 3 was applied');
    expect(logs.frames(config.id)).to.have.length(2);
  });

  it('is noted after a while, and refused if its log ends before the noted event', async () => {
    const busy = open(config, soonNoted);
    await write(busy, 5);
    await eventually('the log is noted', async () => (await noted()) === 5);
    expect(await open().found()).to.have.length(5);
    logs.lose(config.id, 4);
    await expectQuarantined(open(), 'it ends with event 4, but event 5 was committed');
    // A collection that continues from the rest of the log, with another note, uses the sequences again.
    await open(config, { reached: new MemoryBucket({ logger: silentLogger }) }).insert([8, 8]);
    expect(logs.frames(config.id)).to.have.length(5);
    await expectQuarantined(open(), 'its event 5, or an earlier one, is not the committed one');
  });

  it('is noted when its shard ends, or otherwise by the next shard that opens it', async () => {
    await write(collection, 3);
    expect(await noted()).to.equal(1);
    await collection.hosted.close({ keep: true });
    expect(await noted()).to.equal(3);
    const second = open();
    await write(second, 1);
    // After its deletion nothing is noted.
    await second.hosted.close({ keep: false });
    expect(await noted()).to.equal(3);
    await open(config, soonNoted).found();
    await eventually('the log is noted', async () => (await noted()) === 4);
  });

  it('is noted once for many writes, and again for writes during the note', async () => {
    const busy = open(config, soonNoted);
    await busy.insert([1, 1]);
    const under = gate();
    reached.before = () => under.opened;
    await busy.insert([2, 2]);
    await eventually('the log is being noted', () => reached.writes === 2);
    await write(busy, 5);
    expect(reached.writes).to.equal(2);
    under.open();
    await eventually('every event is noted', async () => (await noted()) === 7);
    expect(reached.writes).to.equal(3);
  });

  it('keeps the note of the highest event if two owners write notes', async () => {
    const late = gate();
    const former = open(config, soonNoted);
    await write(former, 2);
    await eventually('the log is noted', async () => (await noted()) === 2);
    await former.insert([3, 3]);
    reached.before = () => late.opened;
    await eventually('the former owner is about to note', () => reached.writes === 3);
    reached.before = async () => undefined;
    const next = open();
    await write(next, 4);
    await next.hosted.close({ keep: true });
    expect(await noted()).to.equal(7);
    const asked = reached.gets;
    late.open();
    await eventually('the former owner has read the note', () => reached.gets > asked);
    expect([await noted(), engines[1]!.context.watermarks.waiting]).to.deep.equal([7, 0]);
    expect(await open().found()).to.have.length(7);
  });

  it('is not noted after its deletion', async () => {
    const busy = open(config, soonNoted);
    await busy.insert([1, 1]);
    await reached.delete(watermarkKey(config.id));
    const asked = reached.gets;
    await write(busy, 3);
    await eventually('the owner has read the note', () => reached.gets > asked);
    await write(busy, 3);
    await busy.hosted.close({ keep: true });
    expect(await noted()).to.equal(0);
  });

  it('is taken over only by a follower that has all noted events', async () => {
    await write(collection, 3);
    const follower = new CollectionHandle(config, engine.context, 'follower');
    await follower.opened();
    await write(collection, 2);
    await collection.hosted.close({ keep: true });
    logs.lose(config.id, 4);
    await follower.promote().catch(() => undefined);
    await expectQuarantined(new TestCollection(follower), 'it ends with event 4, but event 5 was committed');
  });

  it('under import is noted up to its end before the import continues', async () => {
    await write(collection, 3);
    const frames = logs.frames(config.id);
    const wanted = {
      name: 'copy',
      origin: { id: config.id, project: 'p', name: 'c' },
      dimension: 2,
      createdAtMs: config.createdAtMs,
      createdBy: config.createdBy!,
      spec: { kind: 'brute', parameters: {} },
      end: { sequence: 3, chainHead: '0'.repeat(64), stateHash: '0'.repeat(64) },
    } as const;
    await catalog.createImport('p', wanted);
    const imported = await configNamed('copy');
    const importing = open(imported);
    const add = (count: number): Promise<unknown> =>
      importing.hosted.run({ op: 'importFrames', frames: frames.slice(0, count), upTo: 3 }, soon());
    await add(2);
    expect(await noted(imported.id)).to.equal(2);
    await add(3);
    expect(await noted(imported.id)).to.equal(3);
    expect(await open(imported).found()).to.deep.equal([1, 2, 3]);
    logs.lose(imported.id, 2);
    await expectQuarantined(open(imported), 'it ends with event 2, but event 3 was committed');
  });
});

/** Logs whose first reads come from a stale replica without entries. */
class StaleLogs {
  readonly lateMs = 0;
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

describe('a lost log in a cluster', () => {
  let cluster: MemoryCluster;
  beforeEach(() => {
    cluster = new MemoryCluster({ placement: { heartbeatMs: 100, leaseMs: 20_000, failoverMs: 30_000 } });
  });
  afterEach(() => cluster.stop());

  it('is detected by the next shard that opens it, reported in health, and removed with the collection', async () => {
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
    await eventually('the health reports the loss', async () => (await backend.health()).damages.length === 1);
    const [damage] = (await backend.health()).damages;
    expect([damage?.collectionId, damage?.part]).to.deep.equal([lost.id, 'log']);
    expect(damage?.reason).to.contain(GONE);
    await backend.remove('p', 'lost', soon());
    expect(await cluster.bucket(BUCKETS.catalog).get('p.lost')).to.equal(undefined);
    expect(await cluster.bucket(BUCKETS.watermarks).get(watermarkKey(lost.id))).to.equal(undefined);
    expect(await cluster.bucket(BUCKETS.watermarks).get(watermarkKey(whole.id))).not.to.equal(undefined);
    const again = await make('lost');
    expect(await backend.call(again, insertOf(fixed(2, 2)), soon())).to.include({ id: 1 });
    await eventually('the health reports no damage', async () => (await backend.health()).damages.length === 0);
  });
});
