// Covers: shard/follow/appliedWaits.ts, shard/follow/comparison.ts, shard/follow/feedMessage.ts, shard/follow/freshness.ts
/** Followers of a collection: their state, their answers, and their end. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Entry } from '../../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import { systemClock } from '../../../../shared/clock.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import type { Results, SearchCall } from '../../../../shared/protocol/calls.js';
import { pack } from '../../../../shared/protocol/wire.js';
import { heartbeatOf } from '../../../../shared/registry/owners.js';
import { feedSubject } from '../../../../shared/transport/subjects.js';
import { NotServed } from '../../../../shared/transport/transportErrors.js';
import { eventually, rejection } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { batchOf, fixed, insertOf, receiptIn } from '../../../support/rigs/engine.js';
import { numbersIn, ShardRig, watchOpenings } from '../../../support/rigs/shardRig.js';

const ID = 7;
const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

describe('a follower', () => {
  let rig: ShardRig;
  beforeEach(() => {
    rig = new ShardRig();
  });
  afterEach(() => rig.stop());

  const insert = (x: number, extra = {}): Promise<Results['insert']> => rig.call(ID, insertOf(fixed(x, 0), extra));
  const followed = (id = ID): Promise<void> => rig.untilFollowed(id);
  const isStale = async (): Promise<void> => {
    expect(await rejection(rig.eventual(ID))).to.be.instanceOf(NotServed);
  };
  const start = async (...names: string[]): Promise<void> => {
    await Promise.all(names.map((name) => rig.shard(name)));
  };

  it('applies the frames of its owner, and answers searches with the sequence of its state', async () => {
    await start('s1', 's2', 's3');
    await rig.create(ID, 's1', ['s2', 's3']);
    await insert(1);
    await followed();
    for (let x = 2; x <= 20; x++) await insert(x);
    await followed();
    const { ids, sequence } = await rig.eventual(ID);
    expect(sequence).to.equal(20);
    expect(ids).to.deep.equal(await rig.found(ID));
    expect(await rig.metric('s1', 'vouch_feed_frames_total', { way: 'sent' })).to.be.at.least(19);
    expect(await rig.metric('s2', 'vouch_feed_frames_total', { way: 'applied' })).to.be.at.least(1);
  });

  it('costs no memory and no subject while its owner has not opened the collection', async () => {
    await start('s1', 's2');
    for (let id = 1; id <= 2_000; id++) await rig.create(id, 's1', ['s2']);
    expect(await rig.metric('s2', 'vouch_collections_followed', { state: 'idle' })).to.equal(2_000);
    expect(await rejection(rig.eventual(5))).to.be.instanceOf(NotServed);
    await rig.call(5, insertOf(fixed(1, 1)));
    await followed(5);
    expect(await rig.metric('s2', 'vouch_collections_followed', { state: 'following' })).to.equal(1);
  });

  it('answers searches with every option, also of the past', async () => {
    await start('s1', 's2');
    await rig.create(ID, 's1', ['s2']);
    await insert(1, { metadata: json({ colour: 'red' }), text: 'a quick fox' });
    await insert(2, { metadata: json({ colour: 'blue' }), text: 'a slow snail' });
    await insert(3, { metadata: json({ colour: 'red' }), text: 'a fox again' });
    const node = await rig.call(ID, { op: 'addNode', kind: 0, recordId: 2 });
    expect(node.id).to.equal(1);
    await rig.call(ID, { op: 'softDelete', id: 1 });
    await followed();
    const searches: Partial<SearchCall>[] = [
      { text: { query: 'fox', hybrid: true } },
      { decay: { halfLifeSecs: 10, nowMs: Date.UTC(2030, 1) } },
      { graph: { weight: 0.5, seedCount: 1, maxDepth: 2, direction: 'both' } },
      { asOf: { logIndex: 3 } },
      { asOf: { logIndex: 4 } },
    ];
    for (const search of searches) {
      const strong = await rig.call(ID, { op: 'search', query: fixed(0, 0), k: 10, ...search });
      const { ids } = await rig.eventual(ID, { k: 10, ...search });
      expect(ids, JSON.stringify(search)).to.deep.equal(numbersIn(strong.ids));
    }
  });

  it('accepts no write, and no read except searches', async () => {
    await start('s1', 's2');
    await rig.create(ID, 's1', ['s2']);
    await insert(1);
    await followed();
    const get = rig.eventual(ID, { op: 'get', id: 1 } as never);
    expect(await rejection(get)).to.be.instanceOf(NotServed);
    const beyond = rig.eventual(ID, { asOf: { logIndex: 2 } });
    expect(await rejection(beyond), 'the owner may have it').to.be.instanceOf(NotServed);
  });

  it('reads the log after missing, incomplete or malformed feed messages', async () => {
    const { reach } = await rig.shard('s1');
    await start('s2');
    await rig.create(ID, 's1', ['s2']);
    await insert(1);
    await followed();
    rig.cluster.transport.publish(feedSubject(ID), pack([1, 9, new Uint8Array(200)]));
    rig.cluster.transport.publish(feedSubject(ID), pack('nonsense'));
    await insert(2);
    await followed();
    const missed = await rig.metric('s2', 'vouch_feed_frames_total', { way: 'missed' });
    expect(missed).to.be.at.least(1);
    // The feed is cut for a while, so the next frame does not continue the follower's state.
    const cut = reach.mute();
    await insert(3);
    cut();
    await insert(4);
    await followed();
    expect((await rig.eventual(ID)).ids).to.deep.equal([1, 2, 3, 4]);
  });

  it('shows no event of the log that its owner does not know yet', async () => {
    await start('s1', 's2');
    await rig.create(ID, 's1', ['s2']);
    await insert(1);
    await followed();
    rig.cluster.logs.fates.push('landed');
    expect(await rejection(insert(2))).to.be.instanceOf(VouchError);
    await rig.ask('s2', { op: 'warm', collectionId: ID });
    expect(await rig.found(ID)).to.deep.equal([1]);
    await isStale();
    await insert(3);
    await followed();
    expect((await rig.eventual(ID)).ids).to.deep.equal([1, 2, 3]);
  });

  it('shows no commit of a former owner after its term', async () => {
    await start('s1', 's2', 's3');
    await rig.create(ID, 's1', ['s2']);
    await insert(1);
    await followed();
    const sent = (): Promise<number> => rig.metric('s1', 'vouch_feed_frames_total', { way: 'sent' });
    const before = await sent();
    let store = (): void => undefined;
    rig.cluster.logs.fates.push(new Promise<void>((resolve) => (store = resolve)));
    const late = insert(2).catch(() => undefined);
    await eventually('the append is on its way', async () => rig.cluster.logs.fates.length === 0);
    await rig.change(ID, { shard: 's3', epoch: 2 });
    await rig.ask('s3', { op: 'adopt', collectionIds: [ID] });
    expect(await rig.found(ID)).to.deep.equal([1]);
    store();
    await late;
    expect(await sent()).to.equal(before);
    expect(await rig.found(ID)).to.deep.equal([1]);
    expect((await rig.eventual(ID).catch(() => ({ ids: [1] }))).ids).to.deep.equal([1]);
  });

  it('does not answer while it cannot know its age, and answers again when it can', async () => {
    const owner = await rig.shard('s1');
    await start('s2');
    await rig.create(ID, 's1', ['s2']);
    await insert(1);
    await followed();
    await owner.stop();
    await eventually('the follower is too old', () =>
      rig.eventual(ID).then(
        () => false,
        () => true,
      ),
    ); // prettier-ignore
    await isStale();
    await rig.change(ID, { shard: 's3', epoch: 2 });
    await start('s3');
    await insert(2);
    await followed();
    expect((await rig.eventual(ID)).ids).to.deep.equal([1, 2]);
  });

  it('is never older than the bound, whatever messages are lost', async () => {
    const random = seededRandom(testSeed());
    const staleMs = rig.cluster.config.followers.staleMs;
    const { reach } = await rig.shard('s1');
    await start('s2');
    await rig.create(ID, 's1', ['s2']);
    await insert(0);
    await followed();
    /** Time at which each sequence was answered. */
    const answeredMs: number[] = [];
    let answers = 0;
    const writer = async (): Promise<void> => {
      for (let x = 1; answers < 60; x++) {
        const { sequence } = receiptIn(await insert(x));
        answeredMs[sequence] = systemClock.monotonicMs();
        if (random.int(8) === 0) setTimeout(reach.mute(), random.int(300));
        await delay(random.int(10));
      }
    };
    const reader = async (): Promise<void> => {
      while (answers < 60) {
        const askedMs = systemClock.monotonicMs();
        const answer = await rig.eventual(ID).catch(() => undefined);
        await delay(random.int(20));
        if (answer === undefined) continue;
        answers++;
        // The write after the shown state must have been answered within the bound.
        const nextMs = answeredMs[answer.sequence + 1] ?? askedMs;
        expect(askedMs - nextMs).to.be.below(staleMs);
        expect(answer.ids.length).to.be.at.least(answer.sequence);
      }
    };
    await Promise.all([writer(), reader()]);
    await followed();
  });

  it('with a state that differs is detected and reported, answers no search, and its owner continues', async () => {
    const { opened, end } = watchOpenings();
    try {
      await start('s1', 's2');
      await rig.create(ID, 's1', ['s2']);
      await rig.call(ID, batchOf(Array.from({ length: 50 }, (_, i) => fixed(i, 1))));
      await insert(99, { metadata: json({ colour: 'red' }) });
      await followed();
      await eventually(
        'the follower was compared',
        async () => (await rig.metric('s2', 'vouch_follower_compared_total')) > 0,
      );
      const [owner, follower] = opened;
      expect(owner!.memory).not.to.equal(follower!.memory);
      const { state } = follower!;
      const slot = state.liveSlotOf(51)!;
      state.insertions.set(slot, 1);
      await eventually(
        'the difference is found',
        async () => (await rig.metric('s2', 'vouch_follower_diverged_total')) === 1,
      );
      await isStale();
      expect(await rig.metric('s2', 'vouch_collections_followed', { state: 'diverged' })).to.equal(1);
      await eventually('the heartbeat reports it', async () => {
        const heartbeat = await rig.cluster.bucket(BUCKETS.shards).get('s2');
        return heartbeatOf(heartbeat as Entry).damages.some(
          ({ part, collectionId }) => part === 'follower' && collectionId === ID,
        );
      });
      await insert(100);
      // It rebuilds its state from the log if it becomes the owner.
      await rig.change(ID, { shard: 's2', epoch: 2, followers: ['s1'] });
      expect((await rig.call(ID, { op: 'get', id: 51 })).vector).to.deep.equal(Buffer.from(fixed(99, 0)));
      await insert(101);
      await followed();
    } finally {
      end();
    }
  });

  it('with a changed tree is detected by its state hash', async () => {
    const { opened, end } = watchOpenings();
    try {
      await start('s1', 's2');
      await rig.create(ID, 's1', ['s2']);
      await insert(1);
      await followed();
      opened[1]!.state.tree.change(0, new Uint8Array(32).fill(1), 1);
      await insert(2);
      await eventually(
        'the difference is found',
        async () => (await rig.metric('s2', 'vouch_follower_diverged_total')) === 1,
      );
    } finally {
      end();
    }
  });

  it('ends with its collection, and releases its memory when it stops following', async () => {
    await start('s1', 's2');
    await rig.create(ID, 's1', ['s2']);
    await insert(1);
    await followed();
    expect(await rig.metric('s2', 'vouch_vector_bytes')).to.be.above(0);
    await rig.change(ID, { followers: [] });
    await eventually('s2 releases the follower', async () => (await rig.metric('s2', 'vouch_vector_bytes')) === 0);
    await insert(2);
    await rig.change(ID, { followers: ['s2'] });
    await followed();
    await rig.ask('s1', { op: 'drop', collectionId: ID });
    await rig.cluster.logs.remove(ID);
    await rig.cluster.bucket(BUCKETS.owners).delete(String(ID));
    await eventually(
      'the follower is removed',
      async () => (await rig.metric('s2', 'vouch_collections_followed')) === 0,
    );
    expect(await rig.metric('s2', 'vouch_vector_bytes')).to.equal(0);
    await rig.create(ID + 1, 's1', ['s2']);
    await rig.call(ID + 1, insertOf(fixed(5, 5)));
    await followed(ID + 1);
    expect((await rig.eventual(ID + 1)).ids).to.deep.equal([1]);
  });
});
