/**
 * A process short of memory and a nearly full store, over HTTP: writes are refused in time, and everything else
 * continues.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Answer, Client } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Service } from '../support/launch/service.js';

const MIB = 2 ** 20;
/** Pause between rows of about 8 KiB in the store. */
const ROW_MS = 5;

const create = async (rw: Client, name: string, dimension: number): Promise<void> => {
  expect((await rw.post('/v1/namespaces', { name, dimension, metric: 'squared_l2' })).status).to.equal(200);
};

/** Body of a batch as text, because it is sent many times. */
const batchOf = (collection: string, rows: number, dimension: number): string =>
  `{"collection":"${collection}","batch":[${new Array(rows).fill(`[${new Array(dimension).fill(1).join()}]`).join()}]}`;

const send = (rw: Client, body: string): Promise<Answer> => rw.raw('POST', '/v1/vectors/batch-insert', body);

const health = async (service: Service): Promise<{ status: string; reason?: string }> =>
  (await service.client(undefined).get('/health')).body;

inBothModes('a shard whose memory is nearly full', (_, { start }) => {
  it('refuses writes with 503 before the system kills it, and continues searches and deletes', async () => {
    const service = await start({ VOUCH_MEMORY_BYTES: String(400 * MIB), VOUCH_MAX_BYTES: String(2 ** 40) });
    const { rw } = await service.newProject();
    await create(rw, 'c', 32_768);
    const body = batchOf('c', 100, 32_768);
    let answer = await send(rw, body);
    let taken = 0;
    for (; answer.status === 200 && taken < 100; answer = await send(rw, body)) taken++;
    expect(taken, 'batches of 12.5 MiB that were taken').to.be.within(1, 30);
    expect([answer.status, answer.body.code]).to.deep.equal([503, 'unavailable']);
    expect(answer.body.error).to.match(/^the memory of the shard is nearly full/);
    expect(answer.headers.get('retry-after')).to.equal('1');
    // JavaScript's garbage collection meanwhile makes room for a few more.
    const isReported = async (): Promise<boolean> => {
      const [{ status }, { status: state, reason }] = [await send(rw, body), await health(service)];
      return status === 503 && state === 'degraded' && /memory is nearly full/.test(reason ?? '');
    };
    await service.until(isReported);
    await service.until(async () => {
      await send(rw, body);
      return (await service.metric('vouch_full', 'what="memory"')) === 1;
    });
    const query = new Array<number>(32_768).fill(1);
    const found = await rw.post('/v1/search', { collection: 'c', query, k: 1 });
    expect(found.body.results).to.deep.equal([{ id: 1, score: 0 }]);
    expect((await rw.post('/v1/delete', { collection: 'c', id: 1 })).status).to.equal(200);
    expect((await rw.delete('/v1/namespaces/c')).status).to.equal(204);
  });
});

inBothModes('a store that is nearly full', (_, { start }) => {
  const STORE_BYTES = 32 * MIB;

  it('refuses the largest project first, then all, and still accepts deletes, shreds and revocations', async () => {
    const service = await start({ VOUCH_STORE_BYTES: String(STORE_BYTES) });
    const [large, small] = [await service.newProject(), await service.newProject()];
    for (const { rw } of [large, small]) await create(rw, 'c', 1_000);
    const keyId = '5'.repeat(32);
    const encrypted = { collection: 'c', payload: 'AAAA', key_id: keyId };
    expect((await small.rw.post('/v1/records/encrypted', encrypted)).status).to.equal(200);
    const body = batchOf('c', 100, 1_000);
    const row = batchOf('c', 1, 1_000);

    await fill(service, large.rw, body, row);
    const refused = await send(large.rw, row);
    expect([refused.status, refused.body.code]).to.deep.equal([507, 'capacity_exceeded']);
    expect(refused.body.error).to.match(
      /^the store of the service is (8[5-9]|9[0-4]) % full, and the project has more/,
    );
    expect((await send(small.rw, row)).status).to.equal(200);
    await service.until(async () => (await health(service)).reason?.startsWith('the store is nearly full') ?? false);

    while ((await send(small.rw, row)).status === 200);
    const closed = await send(small.rw, row);
    expect(closed.body.error).to.match(
      /^the store of the service is \d+ % full; only deletes and shreds are accepted$/,
    );
    const query = new Array<number>(1_000).fill(1);
    for (const { rw } of [large, small]) {
      expect((await rw.post('/v1/search', { collection: 'c', query, k: 1 })).status).to.equal(200);
      expect((await rw.post('/v1/soft-delete', { collection: 'c', id: 2 })).status).to.equal(200);
      expect((await rw.post('/v1/delete', { collection: 'c', id: 2 })).status).to.equal(200);
    }
    expect((await small.rw.delete(`/v1/crypto/shred/${keyId}`)).status).to.equal(200);
    const { body: made } = await small.admin.post('/v1/keys', { scope: 'read_only' });
    expect((await small.admin.delete(`/v1/keys/${made.id}`)).status).to.equal(204);
    expect((await large.rw.delete('/v1/namespaces/c')).status).to.equal(204);
    await service.until(async () => (await send(small.rw, row)).status === 200);
  });

  /** Writes until a write is refused, soon by single rows: the store's size is read once a second. */
  async function fill(service: Service, rw: Client, batch: string, row: string): Promise<void> {
    // Size of JetStream's files, or of the project's reservation, which is an eighth more than its use.
    const used = async (): Promise<number> => {
      const { log, total } = (await rw.get('/v1/usage')).body.bytes;
      return service.mode === 'cluster' ? log : total * 1.125 + MIB;
    };
    while ((await used()) < 0.7 * STORE_BYTES && (await send(rw, batch)).status === 200);
    while ((await send(rw, row)).status === 200) await delay(ROW_MS);
  }
});
