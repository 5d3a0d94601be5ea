// Covers: coordinator/cluster/catalog/deletionMarks.ts, coordinator/cluster/members/members.ts
/** The erasure of a deleted collection, once no shard serves it. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { markDeleted } from '../../../../../coordinator/cluster/catalog/deletionMarks.js';
import { Deletions } from '../../../../../coordinator/cluster/deletion/deletions.js';
import { Members } from '../../../../../coordinator/cluster/members/members.js';
import type { PlacementContext } from '../../../../../coordinator/cluster/placement/context.js';
import { MemoryBucket } from '../../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../../shared/clock.js';
import { silentLogger } from '../../../../../shared/logger.js';
import { areShardCalls } from '../../../../../shared/protocol/callShapes.js';
import { packOutcomes, unpackCalls } from '../../../../../shared/protocol/wire.js';
import { storedOwnership } from '../../../../../shared/registry/owners.js';
import { Reservations } from '../../../../../shared/registry/reservations.js';
import { InProcessTransport } from '../../../../../shared/transport/inProcess.js';
import { shardSubject } from '../../../../../shared/transport/subjects.js';
import type { Envelope } from '../../../../../shared/transport/transport.js';
import { rejection } from '../../../../support/expectations.js';
import { configOf, soon } from '../../../../support/rigs/engine.js';
import { TestClock } from '../../../../support/rigs/testEdge.js';

const ID = 7;
const LATE_MS = 120_000;
const LOST_MS = 100;

interface Rig {
  readonly deletions: Deletions;
  readonly clock: TestClock;
  readonly owners: MemoryBucket;
  /** Calls of the live shard, in order. */
  readonly asked: string[];
  /** Ids that the catalog lists. */
  readonly listed: Set<number>;
  /** Error that the live shard throws. */
  refusal?: Error | undefined;
  readonly shards: MemoryBucket;
  readonly counters: MemoryBucket;
}

describe('the erasure of a deleted collection', () => {
  const stops: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  async function start(): Promise<Rig> {
    const [shards, owners, counters, quota, watermarks, openings] = Array.from(
      { length: 6 },
      () => new MemoryBucket({ logger: silentLogger }),
    ) as [MemoryBucket, MemoryBucket, MemoryBucket, MemoryBucket, MemoryBucket, MemoryBucket];
    const transport = new InProcessTransport({ logger: silentLogger });
    const clock = new TestClock();
    const asked: string[] = [];
    const serving = await transport.serve(shardSubject('s1'), async ({ body }) => {
      const calls = unpackCalls(body, areShardCalls);
      if (rig.refusal) throw rig.refusal;
      asked.push(...calls.map(({ call }) => call.op));
      return packOutcomes(calls.map(() => ({ ok: null })));
    });
    await shards.put('s1', { session: 'x', collections: 0, records: 0, damages: [], full: [], leaving: false });
    const members = new Members({ shards, owners }, transport, systemClock, 60_000);
    await members.start();
    const listed = new Set<number>();
    const isGone = async ({ id }: { id: number }): Promise<boolean> => !listed.has(id);
    const catalog = { byId: () => undefined, isGone, listedId: async () => [...listed][0] };
    const leadership = { leads: true };
    const context = { members, catalog, leadership, clock, logger: silentLogger } as unknown as PlacementContext;
    const reservations = new Reservations(quota, { maxRecords: 1, maxBytes: 1 });
    const deletions = new Deletions(context, { counters, watermarks, openings }, reservations, {
      lateMs: LATE_MS,
      lostMs: LOST_MS,
    });
    await deletions.start();
    stops.push(
      () => serving.stop(),
      () => members.stop(),
      () => deletions.stop(),
    );
    const rig: Rig = { deletions, clock, owners, asked, listed, shards, counters };
    return rig;
  }

  it('waits for a shard that became its owner during the erasure', async () => {
    const { deletions, owners, asked } = await start();
    const collection = configOf(ID);
    const clear = owners.clear.bind(owners);
    owners.clear = async (key) => {
      await owners.create(key, storedOwnership({ shard: 's1', epoch: 1, collection, followers: [] }));
      return clear(key);
    };
    await deletions.erase(collection, soon());
    expect(asked).to.deep.equal(['silence', 'drop', 'eraseLog']);
    expect(await owners.get(String(ID))).to.equal(undefined);
  });

  const ownedBy = (shard: string, takenFrom: readonly string[] = []): ReturnType<typeof storedOwnership> =>
    storedOwnership({ shard, epoch: 1, collection: configOf(ID), followers: [], takenFrom });
  const within = ({ clock }: Rig, ms: number): Envelope => ({ requestId: 'test', deadlineMs: clock.nowMs() + ms });

  it('asks a possible server until it has released the collection, even if another shard is the owner', async () => {
    const rig = await start();
    await rig.owners.create(String(ID), ownedBy('s2', ['s1']));
    rig.refusal = new Error('the answer is lost');
    const silence = rig.deletions.silence(configOf(ID), within(rig, 60_000));
    await delay(50);
    expect(await rig.owners.get(String(ID))).to.equal(undefined);
    rig.refusal = undefined;
    await silence;
    expect(rig.asked).to.deep.equal(['silence']);
  });

  it('fails until each live shard has released the collection, and does not wait for a dead one', async () => {
    const rig = await start();
    await rig.owners.create(String(ID), ownedBy('s1'));
    rig.refusal = new Error('it hangs');
    const failure = await rejection(rig.deletions.erase(configOf(ID), within(rig, 0)));
    expect(failure.message).to.include('could not answer');
    await rig.shards.delete('s1');
    await rig.owners.create(String(ID), ownedBy('s1', ['s2']));
    await rig.deletions.silence(configOf(ID), within(rig, 10_000));
    expect(rig.asked).to.deep.equal([]);
  });

  it('asks every shard if another coordinator has taken the collection from its owner', async () => {
    const rig = await start();
    await rig.deletions.silence(configOf(ID), within(rig, 10_000));
    expect(rig.asked).to.deep.equal(['silence']);
  });

  it('waits for a deletion that another coordinator has begun under the same name', async () => {
    const rig = await start();
    const collection = configOf(ID);
    const { project, name } = collection;
    await rig.owners.create(String(ID), ownedBy('s1'));
    await markDeleted(rig.counters, collection);
    await rig.deletions.silenceEarlier(project, 'another', soon());
    await rig.deletions.silenceEarlier('another', name, soon());
    await rig.deletions.silenceEarlier(project, name, soon(), ID);
    rig.listed.add(ID);
    await rig.deletions.silenceEarlier(project, name, soon());
    expect(rig.asked, 'what is listed is left alone').to.deep.equal([]);
    expect(await rig.owners.get(String(ID))).not.to.equal(undefined);
    rig.listed.clear();
    await rig.deletions.silenceEarlier(project, name, soon());
    await rig.deletions.silenceEarlier(project, name, soon(), ID + 1);
    expect(rig.asked).to.deep.equal(['silence', 'silence']);
  });

  it('is repeated once messages of a dead shard can no longer arrive', async () => {
    const rig = await start();
    const { deletions, clock, asked } = rig;
    await deletions.erase(configOf(ID), soon());
    asked.length = 0;
    clock.advance(LATE_MS - 1);
    await deletions.now();
    await deletions.forgetErased(ID);
    expect([deletions.erased(), asked]).to.deep.equal([[ID], []]);
    clock.advance(1);
    rig.refusal = new Error('it is away');
    await deletions.now();
    delete rig.refusal;
    await deletions.now();
    await deletions.forgetErased(ID);
    expect([deletions.erased(), asked]).to.deep.equal([[ID], []]);
    clock.advance(LATE_MS);
    await deletions.now();
    await deletions.forgetErased(ID);
    expect([deletions.erased(), asked]).to.deep.equal([[], ['eraseLog']]);
  });

  it('is not repeated for a collection that the catalog lists', async () => {
    const { deletions, clock, asked, listed } = await start();
    await deletions.erase(configOf(ID), soon());
    asked.length = 0;
    listed.add(ID);
    clock.advance(LATE_MS);
    await deletions.now();
    await deletions.forgetErased(ID);
    expect([deletions.erased(), asked]).to.deep.equal([[], []]);
  });
});
