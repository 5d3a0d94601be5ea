// Covers: shard/follow/following.ts, shard/follow/readIndex.ts
/** Strong searches at a follower: what they show, and when only the owner can answer. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import { BRUTE, type IndexSpec } from '../../../../shared/model/indexSpec.js';
import type { Results, SearchBatchCall, SearchCall } from '../../../../shared/protocol/calls.js';
import { catalogKey, storedEntry } from '../../../../shared/registry/catalogEntry.js';
import { NotServed } from '../../../../shared/transport/transportErrors.js';
import { eventually, rejection } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { batchOf, configOf, fixed, insertOf } from '../../../support/rigs/engine.js';
import { numbersIn, ShardRig } from '../../../support/rigs/shardRig.js';

const ID = 7;
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

describe('a strong search at a follower', () => {
  let rig: ShardRig;
  beforeEach(() => {
    rig = new ShardRig();
  });
  afterEach(() => rig.stop());

  const insert = (x: number, extra = {}): Promise<Results['insert']> => rig.call(ID, insertOf(fixed(x, 0), extra));
  const search = (more: Partial<SearchCall> = {}): SearchCall => ({
    ...{ op: 'search', query: fixed(0, 0), k: 5_000 },
    ...more,
  });
  const found = async (shard = 's2'): Promise<number[]> => numbersIn((await rig.strongAt(ID, shard, search())).ids);
  const isForwarded = async (shard = 's2'): Promise<void> => {
    expect(await rejection(rig.strongAt(ID, shard, search()))).to.be.instanceOf(NotServed);
  };
  const start = async (...names: string[]): Promise<void> => {
    await Promise.all(names.map((name) => rig.shard(name)));
  };
  const startFollowed = async (...others: string[]): Promise<void> => {
    await start('s1', ...others);
    await rig.create(ID, 's1', ['s2']);
    await insert(1);
    await rig.untilFollowed(ID);
  };

  it('finds each write that was answered before it, whatever the feed loses', async () => {
    const { reach } = await rig.shard('s1');
    await start('s2');
    await rig.create(ID, 's1', ['s2']);
    await insert(0);
    await rig.untilFollowed(ID);
    const random = seededRandom(testSeed());
    let answered = 0;
    for (let records = 2; records <= 60; records++) {
      const unmute = random.int(4) === 0 ? reach.mute() : () => undefined;
      await insert(records);
      unmute();
      const ids = await found().catch(() => undefined);
      if (ids === undefined) continue;
      expect(ids).to.have.lengthOf(records);
      answered++;
    }
    expect(answered).to.be.above(30);
    const outcome = { consistency: 'strong', outcome: 'answered' };
    expect(await rig.metric('s2', 'vouch_follower_searches_total', outcome)).to.equal(answered);
  });

  it('shares one request to the owner with all waiting searches', async () => {
    await startFollowed('s2');
    const before = await rig.metric('s2', 'vouch_read_index_messages_total');
    await Promise.all(Array.from({ length: 200 }, () => found()));
    expect((await rig.metric('s2', 'vouch_read_index_messages_total')) - before).to.be.within(1, 20);
  });

  it("returns exactly the owner's answer, with every option", async () => {
    await startFollowed('s2');
    const random = seededRandom(testSeed());
    for (let i = 0; i < 150; i++) {
      const extra = { metadata: json({ n: i % 7, tag: `t${i % 3}` }), text: `word${i % 5} word${i % 11} other` };
      await rig.call(ID, insertOf(fixed(random.int(1000) / 7, random.int(1000) / 3), extra));
      if (i % 10 === 0) await rig.call(ID, { op: 'softDelete', id: 1 + i });
      if (i % 15 === 0) await rig.call(ID, { op: 'delete', id: 2 + i });
    }
    await rig.call(ID, { op: 'addNode', kind: 0, recordId: 4 });
    const k = 20;
    const searches: readonly Partial<SearchCall>[] = [
      { k },
      { k, filter: { op: 'test', path: ['n'], test: { kind: 'lt', value: 4 } } },
      { k, scoreMost: 5_000 },
      { k, text: { query: 'word1 word3', hybrid: true } },
      { k, decay: { halfLifeSecs: 10, nowMs: Date.UTC(2030, 1) } },
      { k, text: { query: 'word2 other', hybrid: false }, decay: { halfLifeSecs: 3, nowMs: Date.UTC(2030, 1) } },
      { k, graph: { weight: 0.5, seedCount: 3, maxDepth: 2, direction: 'both' } },
      { k: 5, group: { key: 'n', size: 3 }, maxBytes: 100_000 },
      { k, fields: ['metadata', 'text', 'vector'], maxBytes: 1_000_000 },
      { k, asOf: { logIndex: 40 } },
    ];
    for (const more of searches) {
      const { query: _, ...call } = search(more);
      for (const asked of [
        { ...call, query: fixed(3.3, 70) },
        { ...call, like: 6 },
      ] as SearchCall[])
        expect(await rig.strongAt(ID, 's2', asked), JSON.stringify(more)).to.deep.equal(await rig.call(ID, asked));
    }
    const batch: SearchBatchCall = {
      op: 'searchBatch',
      searches: [
        { op: 'search', query: fixed(1, 1), k },
        { op: 'search', query: fixed(80, 80), k },
      ],
      maxBytes: 0,
    };
    expect(await rig.strongAt(ID, 's2', batch)).to.deep.equal(await rig.call(ID, batch));
  });

  it('is the only strong call that a follower accepts', async () => {
    await startFollowed('s2');
    expect(await rejection(rig.strongAt(ID, 's2', { op: 'get', id: 1 }))).to.be.instanceOf(NotServed);
  });

  it('shows no event that the owner does not show', async () => {
    await startFollowed('s2');
    // In the log, but unknown to the owner until its next commit.
    rig.cluster.logs.fates.push('landed');
    await rejection(insert(2));
    await rig.warm('s2', ID);
    await isForwarded();
    expect(await rig.found(ID)).to.deep.equal([1]);
    const waiting = found();
    await insert(3);
    expect(await waiting.catch(() => found())).to.include.members([1, 2]);
    expect(await rig.found(ID)).to.deep.equal([1, 2, 3]);
  });

  it('never goes back in time, at any shard, during large commits and with a lossy feed', async () => {
    const { reach } = await rig.shard('s1');
    await start('s2', 's3');
    await rig.create(ID, 's1', ['s2', 's3']);
    await insert(0);
    await rig.untilFollowed(ID);
    const random = seededRandom(testSeed());
    let seen = 1;
    let isWriting = true;
    let byFollowers = 0;
    const reader = async (own: number): Promise<void> => {
      for (let i = own; isWriting; i++) {
        const before = seen;
        const shard = ['s1', 's2', 's3'][i % 3]!;
        const reading = shard === 's1' ? rig.found(ID) : found(shard);
        const records = (await reading.catch(() => undefined))?.length;
        if (records === undefined) continue;
        expect(records, shard).to.be.at.least(before);
        if (shard !== 's1') byFollowers++;
        seen = Math.max(seen, records);
      }
    };
    const writer = async (): Promise<void> => {
      for (let i = 0; i < 25; i++) {
        const rows = Array.from({ length: 1 + random.int(180) }, () => fixed(random.int(1_000), 1));
        if (random.int(5) === 0) setTimeout(reach.mute(), random.int(50));
        await rig.call(ID, batchOf(rows));
        await delay(random.int(10));
      }
      isWriting = false;
    };
    await Promise.all([writer(), ...[0, 1, 2, 3, 4, 5].map(reader)]);
    expect(byFollowers).to.be.above(20);
  });

  it('is forwarded while the owner has no lease, and answered again afterwards', async () => {
    await rig.stop();
    rig = new ShardRig({ placement: { heartbeatMs: 40, leaseMs: 250, failoverMs: 400, drainTimeoutMs: 20_000 } });
    const { reach } = await rig.shard('s1');
    await start('s2');
    await rig.create(ID, 's1', ['s2']);
    await insert(1);
    await rig.untilFollowed(ID);
    await eventually('the search is answered', async () => (await found().catch(() => [])).length === 1);
    reach.cut = true;
    await delay(300);
    await isForwarded();
    reach.cut = false;
    await eventually('the search is answered again', async () => (await found().catch(() => [])).length === 1);
  });

  it('finds each answered write while owners change', async () => {
    await start('s1', 's2', 's3');
    await rig.create(ID, 's1', ['s2', 's3']);
    await insert(0);
    await rig.untilFollowed(ID);
    let written = 1;
    let isMoving = true;
    let answered = 0;
    const reader = async (shard: string): Promise<void> => {
      while (isMoving) {
        const before = written;
        const ids = await found(shard).catch((error: unknown) => {
          expect(error).to.be.instanceOf(NotServed);
          return undefined;
        });
        await delay(1);
        if (ids === undefined) continue;
        answered++;
        expect(ids.length, shard).to.be.at.least(before);
      }
    };
    const writer = async (): Promise<void> => {
      while (isMoving) {
        await insert(written);
        written++;
      }
    };
    const mover = async (): Promise<void> => {
      // A slow machine answers few searches between two moves.
      do
        for (const to of ['s2', 's3', 's1', 's3', 's2', 's1']) {
          await rig.move(ID, to);
          await delay(50);
        }
      while (answered <= 20);
      isMoving = false;
    };
    await Promise.all([mover(), writer(), ...['s1', 's2', 's3'].map(reader)]);
    expect(answered).to.be.above(20);
  });

  it('is forwarded if the owner is gone', async () => {
    const owner = await rig.shard('s1');
    await start('s2', 's3');
    await rig.create(ID, 's1', ['s2', 's3']);
    await insert(1);
    await rig.untilFollowed(ID);
    await owner.stop();
    await isForwarded();
    await rig.change(ID, { shard: 's3', epoch: 2, followers: ['s2'] });
    await insert(2);
    await eventually('the follower follows the new owner', async () => (await found().catch(() => [])).length === 2);
  });

  it("is answered with the owner's index type, and otherwise forwarded", async () => {
    const config = configOf(ID);
    const entry = storedEntry({ config, spec: BRUTE });
    await rig.cluster.bucket(BUCKETS.catalog).create(catalogKey(config.project, config.name), entry);
    const { reach } = await rig.shard('s2');
    await startFollowed();
    await rig.call(ID, batchOf(Array.from({ length: 200 }, (_, i) => fixed(i, 1))));
    const answers = (): Promise<void> =>
      eventually('the search is answered', async () => (await found().catch(() => [])).length === 201);
    await answers();
    const wanted: readonly IndexSpec[] = [
      { kind: 'ivf', parameters: { nList: 4, nProbe: 4 } },
      { kind: 'ivf', parameters: { nList: 5, nProbe: 5 } },
      BRUTE,
    ];
    for (const spec of wanted) {
      // The follower does not receive the change yet.
      reach.hold(BUCKETS.catalog);
      await rig.call(ID, { op: 'configureIndex', spec });
      await eventually(
        'the owner serves it',
        async () => (await rig.call(ID, { op: 'indexState' })).status !== 'building',
      );
      await isForwarded();
      reach.release(BUCKETS.catalog);
      await answers();
    }
  });
});
