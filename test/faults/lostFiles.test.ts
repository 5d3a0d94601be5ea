/** Files of a running standalone node that are deleted or cut off: a loss is reported without a write to that log. */
import { access, readdir, rm, rmdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Client } from '../support/launch/client.js';
import { Service } from '../support/launch/service.js';

/** Removes each empty folder, and those that are empty then. */
async function removeEmptyFolders(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await removeEmptyFolders(join(path, entry.name));
  if ((await readdir(path)).length === 0) await rmdir(path);
}

describe('files removed or cut off while a standalone node runs', () => {
  let service: Service;
  let rw: Client;
  const ids = new Map<string, number>();

  before(async () => {
    service = await Service.start('standalone');
    ({ rw } = await service.newProject());
    for (const name of ['fileDeleted', 'fileCut', 'folderDeleted', 'whole', 'unwritten']) {
      const made = await rw.post('/v1/namespaces', { name, dimension: 2, metric: 'squared_l2' });
      ids.set(name, made.body.id);
      if (name !== 'unwritten')
        for (let n = 1; n <= 3; n++)
          expect((await rw.post('/v1/records', { collection: name, values: [n, 2] })).status).to.equal(200);
    }
  });
  after(() => service?.stop());

  const logOf = (name: string): string => join(service.dataDir, 'collections', String(ids.get(name)), 'log');
  const segmentOf = async (name: string): Promise<string> => {
    const [segment] = await readdir(logOf(name));
    return join(logOf(name), segment!);
  };

  it('are reported by /health and by their collections, while other collections are served', async () => {
    expect((await rw.get('/health')).body.status).to.equal('ok');
    await rm(await segmentOf('fileDeleted'));
    await truncate(await segmentOf('fileCut'), 200);
    await rm(logOf('folderDeleted'), { recursive: true });
    const lost = ['fileDeleted', 'fileCut', 'folderDeleted'];
    await service.until(async () => (await rw.get('/health')).body.damaged?.length === lost.length);
    const { status, body } = await rw.get('/health');
    expect([status, body.status]).to.deep.equal([200, 'degraded']);
    expect(body.reason).to.be.a('string');
    expect(body.damaged.map(({ collection_id }: { collection_id: number }) => collection_id)).to.deep.equal(
      lost.map((name) => ids.get(name)),
    );
    for (const name of lost) {
      const answer = await rw.get(`/v1/records/1?collection=${name}`);
      expect([answer.status, answer.body.code], answer.text).to.deep.equal([500, 'internal_error']);
      expect(answer.body.error).to.match(/quarantined.*its segment \d+\.seg (is gone|has 200 bytes)/);
    }
    expect((await rw.get('/v1/records/1?collection=whole')).status).to.equal(200);
    expect((await rw.post('/v1/records', { collection: 'unwritten', values: [1, 2] })).status).to.equal(200);
    expect(await service.metric('vouch_damaged', 'part="log"')).to.equal(lost.length);
  });

  it('are the reason of a degraded /health if they are those of a bucket', async () => {
    await rm(join(service.dataDir, 'registry', 'vouch-keys'), { recursive: true });
    await service.until(async () => (await rw.get('/health')).body.reason?.includes('registry/vouch-keys') ?? false);
    expect((await rw.get('/health')).body.status).to.equal('degraded');
  });
});

describe('empty folders removed while a standalone node runs', () => {
  it('are made again by the calls that need them, and a deletion still removes the log', async () => {
    const service = await Service.start('standalone');
    try {
      const { rw, admin } = await service.newProject();
      await removeEmptyFolders(service.dataDir);
      const { body } = await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
      expect((await rw.post('/v1/records', { collection: 'c', values: [1, 2] })).status).to.equal(200);
      expect((await rw.delete(`/v1/crypto/shred/${'6'.repeat(32)}`)).status).to.equal(200);
      expect((await admin.put('/v1/aliases/alias', { collection: 'c' })).status).to.equal(200);
      expect((await admin.delete('/v1/aliases/alias')).status).to.equal(204);
      const folder = join(service.dataDir, 'collections', String(body.id));
      await access(folder);
      await removeEmptyFolders(service.dataDir);
      expect((await rw.delete('/v1/namespaces/c')).status).to.equal(204);
      expect(await access(folder).catch(({ code }) => code)).to.equal('ENOENT');
      await service.until(async () => (await rw.get('/health')).body.status === 'ok');
    } finally {
      await service.stop();
    }
  });
});
