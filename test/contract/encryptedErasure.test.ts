// Covers: shard/vault/vaultCalls.ts
/**
 * Searches every byte of the data folder, of the server's store and of memory, and every log line, before and after a
 * shred.
 */
import { join } from 'node:path';
import { expect } from 'chai';
import { readMasterKeyFile } from '../../shard/vault/masterKeyFile.js';
import { systemEntropy } from '../../shared/clock.js';
import { inBothModesAtLengthIn } from '../support/launch/modes.js';
import { secretsInMemory } from '../support/launch/processMemory.js';
import type { Client, Service } from '../support/launch/service.js';
import { findStored, secretsOf, vaultEntry } from '../support/rigs/vaultSecrets.js';

const KEY = '5'.repeat(32);

const restartAll = async (service: Service): Promise<void> => {
  const names = [...(service.mode === 'cluster' ? ['nats'] : []), ...service.processNames];
  for (const name of names) await service.kill(name);
  for (const name of names) await service.restart(name);
};

inBothModesAtLengthIn('standalone', 'what is left of an encrypted record', (_shared, { restartable }) => {
  it('is ciphertext and a wrapped key before a shred, and only ciphertext after it', async () => {
    const service = await restartable();
    const { rw, name: project } = await service.newProject();
    for (const collection of ['c', 'd', 'other'])
      await rw.post('/v1/namespaces', { name: collection, dimension: 2, metric: 'squared_l2' });
    const plaintext = systemEntropy(64);
    const payload = Buffer.from(plaintext).toString('base64');
    for (const collection of ['c', 'd'])
      for (let record = 1; record <= 2; record++)
        expect((await insert(rw, collection, payload, KEY)).status).to.equal(200);
    const kept = await insert(rw, 'other', Buffer.from('kept').toString('base64'));
    await rw.get('/v1/records/encrypted/1?collection=c');
    // Fills every cache that may keep a copy.
    await rw.post('/v1/search', { collection: 'c', query: [0, 0], k: 1, as_of_log_index: 1 });
    const { wrapped, dataKey, halves } = await secretsOf(service, project, KEY);
    const secrets = { wrapped, dataKey, plaintext, ...Object.fromEntries(halves.entries()) };
    const key = service.mode === 'cluster' ? ['0', '1'] : ['wrapped'];
    const stored = async (): Promise<string[]> =>
      [...new Set((await findStored(service, secrets)).map(({ name }) => name))].sort();
    // JetStream answers slightly before the bytes are in its file.
    await service.until(async () => (await stored()).length === key.length);
    expect(await stored()).to.deep.equal(key);

    expect((await rw.delete(`/v1/crypto/shred/${KEY}`)).status).to.equal(200);
    expect(await findStored(service, secrets)).to.deep.equal([]);
    expectUnlogged(service, secrets);
    if (service.mode === 'standalone') await expectForgotten(service, { wrapped, dataKey });
    await restartAll(service);
    await service.until(async () => (await rw.get('/v1/records/encrypted/1?collection=c')).status === 410);
    expect(await findStored(service, secrets)).to.deep.equal([]);
    expect((await vaultEntry(service, project, KEY))?.entry).to.deep.equal({
      status: 'shredded',
      wrapped: null,
      collectionIds: (await rw.get('/v1/namespaces')).body.collections.slice(0, 2).map((one: { id: number }) => one.id),
      pendingIds: [],
    });
    const { body } = await rw.get(`/v1/records/encrypted/${kept.body.id}?collection=other`);
    expect(body.payload).to.equal(Buffer.from('kept').toString('base64'));
    expectUnlogged(service, secrets);
  });
});

function expectUnlogged(service: Service, secrets: Readonly<Record<string, Uint8Array>>): void {
  for (const name of service.processNames)
    for (const [secret, bytes] of Object.entries(secrets))
      for (const form of ['hex', 'base64', 'latin1'] as const)
        expect(
          service.process(name).output.includes(Buffer.from(bytes).toString(form)),
          `${secret} of ${name}`,
        ).to.equal(false);
}

/** Only for a standalone node: NATS and its client handle message bytes in their own way. */
async function expectForgotten(service: Service, secrets: Readonly<Record<string, Uint8Array>>): Promise<void> {
  const [master] = (await readMasterKeyFile(join(service.dataDir, 'master.key')))!;
  const found = await secretsInMemory(service.process('standalone').pid, { ...secrets, master: master!.bytes });
  // The master key stays in memory while the process runs, which proves that the search finds keys.
  if (found !== undefined) expect(found).to.deep.equal(['master']);
}

const insert = (rw: Client, collection: string, payload: string, key_id?: string) =>
  rw.post('/v1/records/encrypted', { collection, payload, key_id });
