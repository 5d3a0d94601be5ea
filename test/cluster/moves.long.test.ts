/** A shard without a follower that dies, and the pauses of clients while collections move. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { systemClock } from '../../shared/clock.js';
import { ownershipOf, storedOwnership } from '../../shared/registry/owners.js';
import { createAll, PAUSE_MS } from '../support/launch/clusterLoad.js';
import { type Client, Service } from '../support/launch/service.js';
import { seededRandom } from '../support/model/random.js';
import { describeDeadShard } from '../support/suites/deadShard.js';

/** Longest waits in milliseconds, of clients that send one request after another. */
interface Pauses {
  readonly search: number;
  readonly write: number;
  readonly failed: number;
}

describeDeadShard(0);

describe('the pause that clients see at a move', () => {
  const records = Number(process.env.VOUCH_PAUSE_RECORDS ?? 2_000);
  const dimension = 128;
  let service: Service;
  after(() => service?.stop());

  /** Longest time without a good answer, for clients that write or search continually. */
  async function pauseDuring(client: Client, change: () => Promise<void>): Promise<Pauses> {
    let failed = 0;
    const pausesMs = { search: 0, write: 0 };
    const values = new Array(dimension).fill(0.5);
    const asks = {
      search: () => client.post('/v1/search', { collection: 'large', query: values, k: 10 }),
      write: () => client.post('/v1/records', { collection: 'large', values }),
    };
    let isOver = false;
    const clients = (['search', 'write'] as const).map(async (kind) => {
      let goodMs = systemClock.monotonicMs();
      for (; !isOver; await delay(PAUSE_MS)) {
        const { status } = await asks[kind]();
        if (status !== 200) failed++;
        const nowMs = systemClock.monotonicMs();
        pausesMs[kind] = Math.max(pausesMs[kind], nowMs - goodMs);
        if (status === 200) goodMs = nowMs;
      }
    });
    await change().finally(() => {
      isOver = true;
    });
    await Promise.all(clients);
    return { ...pausesMs, failed };
  }

  const shown = ({ search, write, failed }: Pauses): string =>
    `${search.toFixed(0)} ms for a search, ${write.toFixed(0)} ms for a write; ${failed} requests failed`;

  it('is short if the new owner is warm', async () => {
    service = await Service.start('cluster', {}, { shards: 2 });
    const { rw } = await service.newProject();
    const { body } = await rw.post('/v1/namespaces', { name: 'large', dimension, metric: 'squared_l2' });
    const random = seededRandom(1);
    for (let from = 0; from < records; from += 2_000) {
      const batch = Array.from({ length: 2_000 }, () => Array.from({ length: dimension }, () => random.int(200) / 100));
      expect((await rw.post('/v1/vectors/batch-insert', { collection: 'large', batch })).status).to.equal(200);
    }
    const still = await pauseDuring(rw, () => delay(500));
    console.log(`      ${records} x ${dimension}; no move: the longest wait is ${shown(still)}`);
    const first = await service.ownerOf(body.id);
    const second = first === 's1' ? 's2' : 's1';
    const warm = await pauseDuring(rw, async () => {
      expect((await service.end(first)).code).to.equal(0);
    });
    expect([await service.ownerOf(body.id), warm.failed]).to.deep.equal([second, 0]);
    console.log(`      a warm move: ${shown(warm)}`);
    await service.run(first);
    const cold = await pauseDuring(rw, async () => {
      const owners = await (await service.platform()).bucket(BUCKETS.owners);
      const entry = (await owners.get(String(body.id)))!;
      const ownership = ownershipOf(entry);
      // This equals the loss of the owner: no hand-over, and no warm shard.
      await owners.put(entry.key, storedOwnership({ ...ownership, shard: first, epoch: ownership.epoch + 1 }));
      await service.until(async () => (await service.metric('vouch_collections_open', `shard="${first}"`)) === 1);
    });
    console.log(`      a cold one: ${shown(cold)}`);
  });

  it('is absent at the end of the only shard, which has no other to hand over to', async () => {
    const project = await service.newProject();
    await createAll(project);
    expect(await service.end('s2')).to.deep.equal({ code: 0, signal: null });
    const begunMs = systemClock.monotonicMs();
    expect(await service.end('s1')).to.deep.equal({ code: 0, signal: null });
    console.log(`      it has ended after ${(systemClock.monotonicMs() - begunMs).toFixed(0)} ms`);
    await service.run('s1');
    await service.until(async () => {
      const answer = await project.rw.post('/v1/search', { collection: 'c0', query: [0, 0, 0], k: 1 });
      return answer.status === 200;
    });
  });
});
