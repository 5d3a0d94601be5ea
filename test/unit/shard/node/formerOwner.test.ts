/** A shard that was replaced as lost, and returns before it learns of its successor. */
import { expect } from 'chai';
import type { Bucket } from '../../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import { storedOwnership } from '../../../../shared/registry/owners.js';
import { shardSubject } from '../../../../shared/transport/subjects.js';
import type { Transport } from '../../../../shared/transport/transport.js';
import { NotServed } from '../../../../shared/transport/transportErrors.js';
import { eventually, rejection } from '../../../support/expectations.js';
import { configOf, fixed, insertOf } from '../../../support/rigs/engine.js';
import { type MemoryCluster, Reach } from '../../../support/rigs/memoryCluster.js';
import { type RiggedShard, ShardRig } from '../../../support/rigs/shardRig.js';

const ID = 7;

/** Transport of a shard whose requests to s1 fail until the test lets them pass. */
class Barred extends Reach {
  isBarred = true;
  asked = 0;
  readonly #whole: Transport;

  constructor(cluster: MemoryCluster) {
    super(cluster);
    const { transport } = new Reach(cluster);
    this.#whole = transport;
  }

  override get transport(): Transport {
    const request: Transport['request'] = async (subject, ...rest) => {
      if (subject === shardSubject('s1')) {
        this.asked++;
        if (this.isBarred) throw new NotServed();
      }
      return this.#whole.request(subject, ...rest);
    };
    return { ...this.#whole, request };
  }
}

/**
 * Buckets of a shard that reads from a stale replica until its watch has caught up. `meanwhile` runs after the watch has
 * started.
 */
class Behind extends Reach {
  constructor(
    cluster: MemoryCluster,
    private readonly meanwhile: () => Promise<void>,
  ) {
    super(cluster);
  }

  override async bucket(...named: Parameters<Reach['bucket']>): Promise<Bucket> {
    const bucket = await super.bucket(...named);
    const [name] = named;
    if (name !== BUCKETS.owners) return bucket;
    const before = await bucket.get(String(ID));
    const watch: Bucket['watch'] = async (listener) => {
      const begun = await bucket.watch(listener);
      this.hold(name);
      await this.meanwhile();
      const caughtUp = (): Promise<void> => {
        this.release(name);
        return begun.caughtUp();
      };
      return { ...begun, caughtUp, read: (key) => caughtUp().then(() => begun.read(key)) };
    };
    return { ...bucket, get: async () => before, watch };
  }
}

describe('a former owner', () => {
  let rig: ShardRig;
  let former: RiggedShard;
  let reach: Barred;
  beforeEach(async () => {
    rig = new ShardRig();
    former = await rig.shard('s1');
    reach = new Barred(rig.cluster);
    await rig.shard('s2', reach);
    await rig.create(ID, 's1');
    await rig.call(ID, insertOf(fixed(1, 0)));
    // The former owner receives no change of owners, and renews its lease.
    former.reach.hold(BUCKETS.owners);
  });
  afterEach(() => rig.stop());

  const records = async (epoch: number): Promise<number> => (await rig.askEpoch(ID, epoch, { op: 'describe' })).records;
  const untilServes = (epoch: number, count: number): Promise<void> =>
    eventually(`the owner of epoch ${epoch} serves`, async () => (await records(epoch).catch(() => -1)) === count);
  const replace = (takenFrom: readonly string[]): Promise<void> => rig.change(ID, { shard: 's2', epoch: 2, takenFrom });

  it('serves until it has received the owner entry, and its successor begins only then', async () => {
    await replace(['s1']);
    await eventually('the next owner asks the former one', async () => reach.asked > 1);
    expect(await records(1)).to.equal(1);
    await rig.askEpoch(ID, 1, insertOf(fixed(2, 0)));
    expect(await rejection(records(2))).to.be.an.instanceOf(NotServed);
    reach.isBarred = false;
    await untilServes(2, 2);
    expect(await rejection(records(1))).to.be.an.instanceOf(NotServed);
  });

  it('has released a deleted collection when any of two calls for that is answered', async () => {
    let store: (stored?: unknown) => void = () => undefined;
    rig.cluster.logs.fates.push(
      new Promise((resolve) => {
        store = resolve;
      }),
    );
    const write = rig.call(ID, insertOf(fixed(2, 0))).catch(() => undefined);
    await eventually('the event is being appended', () => rig.cluster.logs.fates.length === 0);
    let given = 0;
    const drops = [1, 2].map(async () => {
      await rig.ask('s1', { op: 'drop', collectionId: ID });
      given++;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(given).to.equal(0);
    store();
    await Promise.all([write, ...drops]);
    expect(given).to.equal(2);
  });

  it('does not delay its successor if it has no heartbeat', async () => {
    await replace(['s1', 's9']);
    await eventually('the next owner asks the former one', async () => reach.asked > 1);
    await former.stop();
    await rig.cluster.bucket(BUCKETS.shards).delete('s1');
    await untilServes(2, 1);
  });

  it("does not trust a stale replica after a restart, and reads the successor's entry first", async () => {
    await former.stop();
    await rig.cluster.bucket(BUCKETS.shards).delete('s1');
    reach.isBarred = false;
    await rig.shard('s1', new Behind(rig.cluster, () => replace(['s1'])));
    expect(await rejection(records(1))).to.be.an.instanceOf(NotServed);
    await untilServes(2, 1);
  });

  it('delays its second successor too if the first one has not started', async () => {
    await rig.shard('s3');
    await replace(['s1']);
    await rig.change(ID, { shard: 's3', epoch: 3, takenFrom: ['s1', 's2'] });
    await untilServes(3, 1);
    for (const epoch of [1, 2]) expect(await rejection(records(epoch))).to.be.an.instanceOf(NotServed);
  });

  it('does not wait for itself if its successor gives the collection back unserved', async () => {
    await rig.change(ID, { shard: 's4', epoch: 2, followers: ['s1'], takenFrom: ['s1'] });
    former.reach.release(BUCKETS.owners);
    await rig.ask('s1', { op: 'adopt', collectionIds: [ID] });
    await rig.shard('s4');
    await untilServes(3, 1);
    expect(await rig.ownership(ID)).to.include({ shard: 's1', epoch: 3 });
  });
});

describe('two starting shards', () => {
  it('answer each other before they serve collections that each took from the other', async () => {
    const rig = new ShardRig();
    const owners = rig.cluster.bucket(BUCKETS.owners);
    const names = ['s1', 's2'];
    for (const [i, shard] of names.entries()) {
      const collection = configOf(ID + i);
      const entry = { shard, epoch: 2, collection, followers: [], takenFrom: names.filter((name) => name !== shard) };
      await owners.create(String(ID + i), storedOwnership(entry));
    }
    await Promise.all(names.map((name) => rig.shard(name)));
    for (const i of names.keys()) expect((await rig.askEpoch(ID + i, 2, { op: 'describe' })).records).to.equal(0);
    await rig.stop();
  });
});
