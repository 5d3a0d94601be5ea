/** What is left of a deleted collection is erased once no shard serves it. */
import { expect } from 'chai';
import type { PlacementContext } from '../../../../coordinator/cluster/context.js';
import { Deletions } from '../../../../coordinator/cluster/deletions.js';
import { Members } from '../../../../coordinator/cluster/members.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { areShardCalls } from '../../../../shared/protocol/callShapes.js';
import { packOutcomes, unpackCalls } from '../../../../shared/protocol/wire.js';
import { storedOwnership } from '../../../../shared/registry/owners.js';
import { Reservations } from '../../../../shared/registry/reservations.js';
import { InProcessTransport } from '../../../../shared/transport/inProcess.js';
import { shardSubject } from '../../../../shared/transport/subjects.js';
import { configOf, soon } from '../../../support/rigs/engine.js';
import { TestClock } from '../../../support/rigs/testEdge.js';

const ID = 7;
const LATE_MS = 120_000;

interface Rig {
  readonly deletions: Deletions;
  readonly clock: TestClock;
  readonly owners: MemoryBucket;
  /** The calls of a shard that lives, in order. */
  readonly asked: string[];
  /** What the catalog lists, by id. */
  readonly listed: Set<number>;
  /** What that shard throws. */
  refusal?: Error;
}

describe('the erasure of a deleted collection', () => {
  const stops: (() => Promise<void> | void)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });

  async function start(): Promise<Rig> {
    const [shards, owners, counters, quota, watermarks] = Array.from(
      { length: 5 },
      () => new MemoryBucket({ logger: silentLogger }),
    ) as [MemoryBucket, MemoryBucket, MemoryBucket, MemoryBucket, MemoryBucket];
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
    const members = new Members(shards, owners, transport, systemClock, 60_000);
    await members.start();
    const listed = new Set<number>();
    const isGone = async ({ id }: { id: number }): Promise<boolean> => !listed.has(id);
    const catalog = { byId: () => undefined, isGone };
    const leadership = { held: true };
    const context = { members, catalog, leadership, clock, logger: silentLogger } as unknown as PlacementContext;
    const reservations = new Reservations(quota, { maxRecords: 1, maxBytes: 1 });
    const deletions = new Deletions(context, counters, reservations, watermarks, LATE_MS);
    await deletions.start();
    stops.push(
      () => serving.stop(),
      () => members.stop(),
      () => deletions.stop(),
    );
    const rig: Rig = { deletions, clock, owners, asked, listed };
    return rig;
  }

  it('waits for a shard that became its owner while it began', async () => {
    const { deletions, owners, asked } = await start();
    const collection = configOf(ID);
    const read = owners.get.bind(owners);
    owners.get = async (key) => {
      owners.get = read;
      const before = await read(key);
      await owners.create(key, storedOwnership({ shard: 's1', epoch: 1, collection, followers: [] }));
      return before;
    };
    await deletions.erase(collection, soon());
    expect(asked).to.deep.equal(['drop', 'eraseLog']);
    expect(await owners.get(String(ID))).to.equal(undefined);
  });

  it('is done once more when nothing that a dead shard has sent can be on its way any more', async () => {
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

  it('is done once more to nothing that the catalog lists', async () => {
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
