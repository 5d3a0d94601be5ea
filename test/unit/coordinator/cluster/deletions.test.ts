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

const ID = 7;

describe('the erasure of a deleted collection', () => {
  it('waits for a shard that became its owner while it began', async () => {
    const [shards, owners, counters, quota, watermarks] = Array.from(
      { length: 5 },
      () => new MemoryBucket({ logger: silentLogger }),
    ) as [MemoryBucket, MemoryBucket, MemoryBucket, MemoryBucket, MemoryBucket];
    const transport = new InProcessTransport({ logger: silentLogger });
    const asked: string[] = [];
    const serving = await transport.serve(shardSubject('s1'), async ({ body }) => {
      const calls = unpackCalls(body, areShardCalls);
      asked.push(...calls.map(({ call }) => call.op));
      return packOutcomes(calls.map(() => ({ ok: null })));
    });
    await shards.put('s1', { session: 'x', collections: 0, records: 0, damages: [], full: [], leaving: false });
    const collection = configOf(ID);
    const read = owners.get.bind(owners);
    owners.get = async (key) => {
      owners.get = read;
      const before = await read(key);
      await owners.create(key, storedOwnership({ shard: 's1', epoch: 1, collection, followers: [] }));
      return before;
    };
    const members = new Members(shards, owners, transport, systemClock, 60_000);
    await members.start();
    const context = { members, clock: systemClock, logger: silentLogger } as unknown as PlacementContext;
    const reservations = new Reservations(quota, { maxRecords: 1, maxBytes: 1 });
    await new Deletions(context, counters, reservations, watermarks).erase(collection, soon());
    expect(asked).to.deep.equal(['drop', 'eraseLog']);
    expect(await owners.get(String(ID))).to.equal(undefined);
    members.stop();
    await serving.stop();
  });
});
