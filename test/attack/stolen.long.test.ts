/**
 * A thief of all disks of a service, without the master key, which lies elsewhere; and a thief of a backup. Both have
 * vectors, metadata and texts in the clear, but no encrypted payloads and no API keys.
 */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readMasterKeyFile } from '../../shard/vault/masterKeyFile.js';
import { systemEntropy } from '../../shared/clock.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Project, Service } from '../support/launch/service.js';
import { findStored } from '../support/rigs/vaultSecrets.js';

const READ = '/v1/records/encrypted/1?collection=c';

inBothModes('a thief', (shared, { start }) => {
  const plaintext = systemEntropy(48);
  const text = 'a text that lies in the open';
  let elsewhere: string;
  let service: Service;
  let project: Project;

  before(async () => {
    elsewhere = await mkdtemp(join(tmpdir(), 'vouch-test-'));
    service = await start({ VOUCH_MASTER_KEY_FILE: join(elsewhere, 'master.key') });
    project = await service.newProject();
    const { rw } = project;
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    const payload = Buffer.from(plaintext).toString('base64');
    expect((await rw.post('/v1/records/encrypted', { collection: 'c', payload })).body.id).to.equal(1);
    expect((await rw.post('/v1/records', { collection: 'c', values: [1, 2], text })).status).to.equal(200);
  });

  after(() => rm(elsewhere, { recursive: true, force: true }));

  it('finds no encrypted payload, no API key and no master key on the disks', async () => {
    const keys = [project.rw, project.admin].map(({ key }) => Buffer.from(key!.replace('vk_', ''), 'hex'));
    const [master] = (await readMasterKeyFile(join(elsewhere, 'master.key')))!;
    const secrets = { plaintext, rw: keys[0]!, admin: keys[1]!, master: master!.bytes };
    const open = { text: Buffer.from(text) };
    // JetStream answers slightly before the bytes are in its file.
    await service.until(async () => (await findStored(service, open)).length > 0);
    expect(await findStored(service, secrets)).to.deep.equal([]);
  });

  it('finds no encrypted payload in a backup', async () => {
    const { bytes } = await project.ro.get('/v1/export/log?collection=c');
    expect(bytes.includes(text)).to.equal(true);
    for (const form of ['latin1', 'hex', 'base64'] as const)
      expect(bytes.includes(Buffer.from(plaintext).toString(form), 0, 'latin1'), form).to.equal(false);
  });

  // In a cluster the disks include those of its NATS servers; the engine that reads them is the same.
  if (shared.mode === 'cluster') return;

  it('reads no encrypted payload through a service started on the disks', async () => {
    expect((await project.ro.get(READ)).body.payload).to.equal(Buffer.from(plaintext).toString('base64'));
    await service.kill('standalone');
    const copy = join(elsewhere, 'copy');
    await cp(service.dataDir, copy, { recursive: true });
    const stolen = await start({ VOUCH_DATA_DIR: copy, VOUCH_MASTER_KEY_FILE: join(elsewhere, 'other.key') });
    const thief = stolen.client(project.ro.key);
    const { status, body } = await thief.get(READ);
    expect([status, body.code]).to.deep.equal([500, 'internal_error']);
    expect(body.payload).to.equal(undefined);
  });
});
