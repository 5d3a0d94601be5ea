/** `/health` reports damage to the vault although no request uses the key. */

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { connect } from 'nats';
import { VAULT_STREAM, vaultSubject } from '../../shared/transport/subjects.js';
import { inBothModesAtLengthIn } from '../support/launch/modes.js';
import type { Service } from '../support/launch/service.js';

const KEY = '0123456789abcdef0123456789abcdef';

inBothModesAtLengthIn('cluster', 'a vault entry that does not verify', (_shared, { start }) => {
  it('is found before its key is used, closes its collection, and is repaired by a shred', async () => {
    const service = await start({});
    const { rw, name: project } = await service.newProject();
    for (const name of ['c', 'whole']) await rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
    const insert = { collection: 'c', key_id: KEY, payload: Buffer.from('secret').toString('base64') };
    expect((await rw.post('/v1/records/encrypted', insert)).status).to.equal(200);
    const health = async () => (await service.client(undefined).get('/health')).body;
    expect((await health()).damaged).to.equal(undefined);
    await bend(service, project);
    for (const name of service.processNames) await service.kill(name);
    for (const name of service.processNames) await service.restart(name);
    // In a cluster, opening the collection finds it; in a folder it is found earlier.
    await service.until(async () => {
      await rw.get('/v1/namespaces/c');
      await rw.post('/v1/search', { collection: 'c', query: [1], k: 1 });
      return (await health()).damaged !== undefined;
    });
    const { damaged, status } = await health();
    expect(status).to.equal('degraded');
    expect(damaged).to.have.length(1);
    expect(damaged[0]).to.include({ part: 'vault' });
    expect(damaged[0].reason).to.contain(KEY);
    const refused = await rw.post('/v1/records', { collection: 'c', values: [1] });
    expect(refused.status, refused.text).to.equal(500);
    expect(refused.body.error).to.match(/"c" is quarantined/);
    expect((await rw.post('/v1/records', { collection: 'whole', values: [1] })).status).to.equal(200);
    expect((await rw.delete(`/v1/crypto/shred/${KEY}`)).status).to.equal(200);
    expect((await rw.post('/v1/records', { collection: 'c', values: [1] })).status).to.equal(200);
    await service.until(async () => (await health()).damaged === undefined);
  });
});

/** Flips one bit of the stored entry. */
async function bend(service: Service, project: string): Promise<void> {
  const hex = Buffer.from(project).toString('hex');
  const bent = (whole: Uint8Array): Buffer => Buffer.from(whole.map((byte, at) => (at === 60 ? byte ^ 4 : byte)));
  if (service.mode === 'standalone') {
    const path = join(service.dataDir, 'vault', hex, KEY);
    await writeFile(path, bent(await readFile(path)));
    return;
  }
  const nc = await connect({ servers: service.nats.url });
  const subject = vaultSubject(hex, KEY);
  const { data } = await (await nc.jetstreamManager()).streams.getMessage(VAULT_STREAM, { last_by_subj: subject });
  await nc.jetstream().publish(subject, bent(data));
  await nc.close();
}
