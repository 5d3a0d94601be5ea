// Covers: coordinator/cluster/deletion/keyEntries.ts, coordinator/cluster/deletion/unknownKeys.ts
/** Shreds of keys that never were in the vault: the entries they leave, and their limit per project. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { connect } from 'nats';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { VAULT_STREAM } from '../../shared/transport/subjects.js';
import type { Answer } from '../support/launch/client.js';
import { inBothModes } from '../support/launch/modes.js';
import type { Client, Service } from '../support/launch/service.js';

const BOUND = 3;
const id32 = (n: number): string => n.toString(16).padStart(32, '0');

/** Stored entries from shreds of this project, deleted ones with their remains. */
async function stored(service: Service): Promise<{ vault: number; marks: number }> {
  if (service.mode === 'cluster') {
    const direct = await connect({ servers: service.nats.url });
    try {
      const jsm = await direct.jetstreamManager();
      const messagesOf = async (stream: string) => (await jsm.streams.info(stream)).state.messages;
      return { vault: await messagesOf(VAULT_STREAM), marks: await messagesOf(`KV_${BUCKETS.shreds}`) };
    } finally {
      await direct.close();
    }
  }
  const filesIn = async (...path: string[]): Promise<number> => {
    const found = await readdir(join(service.dataDir, ...path), { recursive: true, withFileTypes: true });
    return found.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).length;
  };
  return { vault: await filesIn('vault'), marks: await filesIn('registry', BUCKETS.shreds) };
}

inBothModes('keys that the vault never knew', (_, { start }) => {
  let service: Service;
  let rw: Client;
  before(async () => {
    service = await start({ VOUCH_MAX_UNKNOWN_SHREDS: String(BOUND) });
  });
  beforeEach(async () => {
    rw = (await service.newProject()).rw;
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
  });

  const insert = (key_id: string): Promise<Answer> =>
    rw.post('/v1/records/encrypted', { collection: 'c', payload: Buffer.from('x').toString('base64'), key_id });
  const shred = (keyId: string, client = rw): Promise<Answer> => client.delete(`/v1/crypto/shred/${keyId}`);
  const statusOf = async (keyId: string): Promise<string> => (await rw.get(`/v1/crypto/status/${keyId}`)).body.status;
  const expectError = ({ status, body, text }: Answer, wanted: number, code: string): void =>
    void expect([status, body?.code], text).to.deep.equal([wanted, code]);

  it('leave one entry each when they are shredded, and no more when that is repeated', async () => {
    await insert(id32(99));
    const before = await stored(service);
    for (let n = 1; n <= BOUND; n++) {
      for (let times = 0; times < 2; times++)
        expect((await shred(id32(n))).body).to.deep.equal({ key_id: id32(n), shredded: true });
      expectError(await insert(id32(n)), 400, 'validation_error');
    }
    expect(await stored(service)).to.deep.equal({ vault: before.vault + BOUND, marks: before.marks });
  });

  it("are refused beyond the project's limit without any effect, while existing keys are shredded", async () => {
    for (let n = 1; n <= BOUND; n++) expect((await shred(id32(n))).status).to.equal(200);
    const before = await stored(service);
    const refused = await shred(id32(4));
    expectError(refused, 507, 'capacity_exceeded');
    expect(refused.body.error).to.match(/has shredded 3 keys that the vault never knew, as many as it may/);
    expect(await stored(service)).to.deep.equal(before);
    expect(await statusOf(id32(4))).to.equal('unknown');

    expect((await insert(id32(4))).status).to.equal(200);
    expect((await shred(id32(4))).status).to.equal(200);
    expect(await statusOf(id32(4))).to.equal('shredded');
    expect((await shred(id32(1))).status).to.equal(200);
    expect(await statusOf(id32(1))).to.equal('shredded');
    expect((await shred(id32(5), (await service.newProject()).rw)).status).to.equal(200);
  });

  it('lose or refuse a concurrent insert, whichever comes first', async () => {
    for (let n = 1; n <= BOUND; n++) {
      const [inserted, shredded] = await Promise.all([insert(id32(n)), shred(id32(n))]);
      expect(shredded.status, shredded.text).to.equal(200);
      expect(inserted.status, inserted.text).to.be.oneOf([200, 400]);
      if (inserted.status === 200)
        expectError(await rw.get(`/v1/records/encrypted/${inserted.body.id}?collection=c`), 410, 'record_shredded');
      expect(await statusOf(id32(n))).to.equal('shredded');
      expectError(await insert(id32(n)), 400, 'validation_error');
    }
  });
});
