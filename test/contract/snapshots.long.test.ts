// Covers: shard/snapshot/readWorker.ts
/** Restarts over HTTP, by kill -9, of a service that makes snapshots constantly. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Client } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Service } from '../support/launch/service.js';
import { seededRandom, testSeed } from '../support/model/random.js';

const EVERY_BYTES = 4_096;
const ROUNDS = 4;

inBothModes('restarts from snapshots', (_, { start }) => {
  let service: Service;
  let rw: Client;
  let ids: number[];

  before(async () => {
    service = await start({ VOUCH_SNAPSHOT_EVERY_BYTES: String(EVERY_BYTES) });
    ({ rw } = await service.newProject());
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    ids = [];
  });

  const write = async (n: number): Promise<void> => {
    const batch = Array.from({ length: 20 }, (_, i) => [n, i]);
    const metadata = batch.map((_, i) => ({ n, i }));
    const { status, body } = await rw.post('/v1/vectors/batch-insert', { collection: 'c', batch, metadata });
    expect(status).to.equal(200);
    ids.push(...body.ids);
    const external_ids = [`d${n}`, `d${n % 3}`].slice(0, n < 3 ? 1 : 2);
    const documents = await rw.post('/v1/vectors/batch-upsert', {
      ...{ collection: 'c', external_ids, batch: batch.slice(0, external_ids.length) },
    });
    expect(documents.status, documents.text).to.equal(200);
    if (documents.body.created > 0) ids.push(...documents.body.ids.slice(0, documents.body.created));
  };
  const files = async (): Promise<string[]> => {
    const folder = join(service.dataDir, 'snapshots');
    return (await readdir(folder, { recursive: true })).map((name) => join(folder, name));
  };
  const snapshots = async (): Promise<string[]> => (await files()).filter((name) => name.endsWith('.snapshot')).sort();
  const asked = async (): Promise<unknown[]> => {
    const answers = await Promise.all([
      rw.post('/v1/search', { collection: 'c', query: [1, 1], k: 50, metadata_filter: { i: { gte: 3 } } }),
      rw.post('/v1/search', { collection: 'c', query: [1, 1], k: 50, as_of_log_index: 30 }),
      rw.get('/v1/proof/state?collection=c'),
      rw.get('/v1/proof/receipt?collection=c&sequence=7'),
      rw.post('/v1/records/get', { collection: 'c', external_ids: ['d0', 'd1', 'd2', 'd3', 'd4'], with: ['vector'] }),
    ]);
    return answers.map(({ status, body }) => [status, body]);
  };
  const restart = async (): Promise<void> => {
    const names = service.processNames.filter((name) => name !== 'coordinator');
    for (const name of names) await service.kill(name);
    for (const name of names) await service.restart(name);
    await service.until(async () => (await rw.get('/v1/proof/state?collection=c')).status === 200);
  };

  it('lose nothing after a kill at any moment, and return everything unchanged', async () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < ROUNDS; round++) {
      const writes = 3 + random.int(8);
      for (let n = 0; n < writes; n++) await write(n);
      const before = await asked();
      await restart();
      expect(await asked()).to.deep.equal(before);
    }
    expect((await rw.get('/v1/usage')).body.records).to.equal(ids.length);
  });

  it('count the snapshots, and keep at most the configured number', async () => {
    await write(99);
    await service.until(async () => (await rw.get('/v1/usage')).body.storage.snapshot_bytes > 0);
    const { storage } = (await rw.get('/v1/usage')).body;
    expect(storage.total_bytes).to.equal(storage.event_log_bytes + storage.snapshot_bytes);
    // A leftover of a kill is removed when the next one is made, which takes writes.
    await service.until(async () => {
      await write(99);
      return (await snapshots()).length <= 3;
    });
  });

  it('set a damaged snapshot aside, report it, and serve the collection', async () => {
    await service.until(
      async () => (await snapshots()).length > 0 && !(await files()).some((name) => name.endsWith('.tmp')),
    );
    const before = await asked();
    const newest = (await snapshots()).at(-1)!;
    const bytes = await readFile(newest);
    bytes[bytes.length >> 1]! ^= 1;
    await writeFile(newest, bytes);
    await restart();
    expect(await asked()).to.deep.equal(before);
    await service.until(async () => ((await rw.get('/health')).body.damaged ?? []).length > 0);
    const { status, body } = await rw.get('/health');
    expect([status, body.status]).to.deep.equal([200, 'degraded']);
    expect(body.damaged.map(({ part }: { part: string }) => part)).to.deep.equal(['snapshot']);
    expect(await service.metrics()).to.match(/vouch_snapshots_refused_total\{[^}]*reason="damaged"[^}]*\} 1/);
    expect((await files()).filter((name) => name.includes('.damaged'))).to.have.length(1);
  });

  it('delete the snapshots of a deleted collection', async () => {
    expect((await rw.delete('/v1/namespaces/c')).status).to.equal(204);
    await service.until(async () => (await snapshots()).length === 0);
  });
});
