// Covers: shard/follow/followersErased.ts, shard/node/pendingShreds.ts, shared/log/erasedContents.ts
/** Searches every stored byte for the content of a record under a key, and for its key, before and after a shred. */
import { createHmac } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { decodeGroups } from '../../shard/snapshot/contentChunk.js';
import { chunksOf, openSnapshot, verifiedChunk } from '../../shard/snapshot/snapshotFile.js';
import { readMasterKeyFile } from '../../shard/vault/masterKeyFile.js';
import { systemEntropy } from '../../shared/clock.js';
import { inBothModes } from '../support/launch/modes.js';
import { secretsInMemory } from '../support/launch/processMemory.js';
import type { Service } from '../support/launch/service.js';
import { findStored, secretsOf } from '../support/rigs/vaultSecrets.js';

const KEY = '6'.repeat(32);
const DIMENSION = 16;
const ROWS = 1_200;
/** Snapshots and indexes are made as often as possible. */
const SETTINGS = { VOUCH_SNAPSHOT_EVERY_BYTES: '4096' };

const restartAll = async (service: Service): Promise<void> => {
  const names = [...(service.mode === 'cluster' ? ['nats'] : []), ...service.processNames];
  for (const name of names) await service.kill(name);
  for (const name of names) await service.restart(name);
};

const randomText = (bytes: number): string => Buffer.from(systemEntropy(bytes)).toString('hex');
const randomVector = (): number[] => Array.from(systemEntropy(DIMENSION), (byte) => byte + byte / 256);
/** The stored bytes of a vector. */
const fixed = (vector: number[]): Buffer => Buffer.from(Int32Array.from(vector, (value) => value * 65_536).buffer);

inBothModes('what is left of a record under a key', (_shared, { start }) => {
  it('is ciphertext before a shred, with snapshots and an index, and no key after it', async () => {
    const service = await start(SETTINGS);
    const { rw, name: project } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: DIMENSION, metric: 'squared_l2', index: 'hnsw' });
    const [vector, text, name, city] = [randomVector(), randomText(24), randomText(24), randomText(24)];
    const batch = [vector, ...Array.from({ length: ROWS }, randomVector)];
    const insert = () =>
      rw.post('/v1/vectors/batch-upsert', {
        ...{ collection: 'c', batch, external_ids: batch.map((_, i) => (i === 0 ? name : `row ${i}`)) },
        ...{ texts: batch.map((_, i) => (i === 0 ? text : null)) },
        ...{ metadata: batch.map((_, i) => (i === 0 ? { city } : { i })) },
        key_ids: batch.map((_, i) => (i === 0 ? KEY : 'new')),
      });
    let inserted = await insert();
    // Making so many keys may take longer than a call may last.
    await service.until(async () => {
      if (inserted.status === 503) inserted = await insert();
      return inserted.status !== 503;
    });
    expect(inserted.status, JSON.stringify(inserted.body)).to.equal(200);
    expect(new Set(inserted.body.key_ids).size).to.equal(batch.length);
    const find = async () =>
      (await rw.post('/v1/search', { collection: 'c', query: vector, k: 1, with: ['text'] })).body.results[0];
    await service.until(async () => (await rw.get('/v1/namespaces/c/index')).body.active_type === 'hnsw');
    expect(await find()).to.include({ id: 1, score: 0, text });
    await service.until(async () => (await rw.get('/v1/usage')).body.storage.snapshot_bytes > 0);
    await rw.post('/v1/search', { collection: 'c', query: vector, k: 1, as_of_log_index: 1 });
    const { wrapped, dataKey, halves } = await secretsOf(service, project, KEY);
    const contents = { vector: fixed(vector), ...textsOf({ text, name, city }) };
    const derived = await derivedKeys(service, dataKey);
    const keys = { wrapped, ...Object.fromEntries(halves.entries()), ...derived };
    expect(await findStored(service, { ...contents, dataKey })).to.deep.equal([]);

    expect((await rw.delete(`/v1/crypto/shred/${KEY}`)).status).to.equal(200);
    expect(await findStored(service, { ...contents, dataKey, ...keys })).to.deep.equal([]);
    if (service.mode === 'standalone') await expectForgotten(service, { wrapped, dataKey, ...derived });
    await restartAll(service);
    await service.until(async () => (await rw.get('/v1/records/1?collection=c')).status === 410);
    expect((await find()).id).to.not.equal(1);
    const past = (await rw.post('/v1/search', { collection: 'c', query: vector, k: 1, as_of_log_index: ROWS + 1 }))
      .body;
    expect([past.results[0].id === 1, past.erased]).to.deep.equal([false, 1]);
    expect(await findStored(service, { ...contents, dataKey, ...keys })).to.deep.equal([]);
    for (const process of service.processNames)
      for (const secret of [text, name, city])
        expect(service.process(process).output.includes(secret), process).to.equal(false);
  });
});

/** Each text as it is, and in base64. */
const textsOf = (texts: Readonly<Record<string, string>>): Record<string, Uint8Array> =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([what, text]) => [
      [what, Buffer.from(text)],
      [`${what} in base64`, Buffer.from(Buffer.from(text).toString('base64').slice(0, -4))],
    ]),
  );

/** The keys of the snapshots that the service has, each derived from the data key. */
async function derivedKeys({ dataDir }: Service, dataKey: Uint8Array): Promise<Record<string, Uint8Array>> {
  const names = (await readdir(dataDir, { recursive: true })).filter((name) => name.endsWith('.snapshot'));
  const keys = await Promise.all(
    names.map(async (name) => {
      const snapshot = await openSnapshot(join(dataDir, name));
      const { salt } = decodeGroups(verifiedChunk(snapshot.path, chunksOf(snapshot, 'contents')[0]!));
      return [`key of ${name}`, createHmac('sha256', dataKey).update(salt).digest()] as const;
    }),
  );
  expect(keys).to.not.deep.equal([]);
  return Object.fromEntries(keys);
}

/** Only for a standalone node: NATS and its client handle message bytes in their own way. */
async function expectForgotten(service: Service, secrets: Readonly<Record<string, Uint8Array>>): Promise<void> {
  const [master] = (await readMasterKeyFile(join(service.dataDir, 'master.key')))!;
  const found = await secretsInMemory(service.process('standalone').pid, { ...secrets, master: master!.bytes });
  if (found !== undefined) expect(found).to.deep.equal(['master']);
}
